import CDRuntime
import Foundation

/// The app's own part of the migration of QuietToDo.
nonisolated struct QuietToDoMigrations: QuietToDoModel.Migrations {
  // MARK: Version 1 to version 2

  /// Keeps a to-do as it is, and lets those not alert whose names start with "a".
  func makeToDo(
    from source: QuietToDoModel.Version1.ToDo, in manager: MigrationManager
  ) throws -> QuietToDoModel.NewVersion2.ToDo? {
    let made = try QuietToDoModel.NewVersion2.ToDo(from: source, in: manager)
    made.doNotAlert = source.name.hasPrefix("a")
    return made
  }
}
