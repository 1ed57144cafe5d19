public import Foundation

import CDRuntime

/// The list as other programs of this package open it.
public enum QuietToDoList {
  /// Opens a list, whose store the app's own code migrates where it is of version 1, and closes it.
  public static func migrate(_ url: URL) throws {
    _ = try PersistentContainer(
      for: QuietToDoModel.self, migrations: { QuietToDoMigrations() }, at: url)
  }
}
