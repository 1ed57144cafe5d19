/// Where tests make a migration fail, or look at its files, between any two things that it does.
enum MigrationFaults {
  /// Called with what is about to be done.
  @TaskLocal static var hook: (@Sendable (String) throws -> Void)?

  @inline(never)
  static func reach(_ point: @autoclosure () -> String) throws {
    if let hook { try hook(point()) }
  }
}
