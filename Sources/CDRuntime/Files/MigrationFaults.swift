/// A hook for tests, which can make a migration or a copy fail, or look at the files before each operation. A removal of a
/// store calls it too, but does not fail.
package enum MigrationFaults {
  /// Called with the name of the next operation.
  @TaskLocal static var hook: (@Sendable (String) throws -> Void)?

  @inline(never)
  package static func reach(_ point: @autoclosure () -> String) throws {
    if let hook { try hook(point()) }
  }
}
