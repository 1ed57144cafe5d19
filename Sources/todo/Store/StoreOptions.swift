import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

/// Where the list is kept.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The list's file. It is made if it is not there.",
      discussion: "Without it, the list is \(Self.defaultURL.path).", valueName: "path"))
  var store: String?

  /// Opens the store, does something with a context of it, saves what changed, and only then prints the text
  /// that the work gives. Nothing is saved if the work fails, and nothing is printed if the save does.
  @MainActor
  func withContext(_ work: (ManagedObjectContext) throws -> String) throws {
    let text: String
    let url = store.map { URL(filePath: $0) } ?? Self.defaultURL
    do {
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      let container = try PersistentContainer(for: ToDoModel.self, at: url)
      let context = container.viewContext
      text = try work(context)
      if context.hasChanges { try context.save() }
    } catch let problem as Problem {
      throw problem
    } catch let error as StoreError {
      // Says itself which file it is.
      throw Problem("\(error)")
    } catch {
      throw Problem("\(url.path): \(error)")
    }
    try Console.write(line: text)
  }

  /// Where programs of the system keep what they know.
  static var defaultURL: URL {
    #if os(macOS)
      let folder = URL.applicationSupportDirectory
    #else
      let environment = ProcessInfo.processInfo.environment
      let folder =
        environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
        ?? URL.homeDirectory.appending(path: ".local/share")
    #endif
    return folder.appending(path: "todo/ToDo.sqlite")
  }
}
