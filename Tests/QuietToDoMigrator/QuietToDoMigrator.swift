import Foundation
import QuietToDo

/// Migrates a list by the app's own code: what `.ci/crash-migration` kills.
@main
enum QuietToDoMigrator {
  static func main() throws {
    guard let path = CommandLine.arguments.dropFirst().first else { return }
    try QuietToDoList.migrate(URL(filePath: path))
  }
}
