/// A hook for tests, which can make a migration fail or look at its files before each operation.
package enum MigrationFaults {
  /// Called with the name of the next operation.
  @TaskLocal static var hook: (@Sendable (String) throws -> Void)?

  @inline(never)
  package static func reach(_ point: @autoclosure () -> String) throws {
    if let hook { try hook(point()) }
  }
}
