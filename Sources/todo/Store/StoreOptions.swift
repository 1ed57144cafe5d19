import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

/// The location of the list.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The file of the list. It is created if it does not exist.",
      discussion: "The default is \(Self.defaultURL.path).", valueName: "path"))
  var store: String?

  /// Opens the store, runs the work in a context, saves the changes, and then prints the text that the work returned.
  /// If the work fails, nothing is saved. If the save fails, nothing is printed.
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
    } catch let failure as Failure {
      throw failure
    } catch let error as StoreError {
      // The error itself names the file.
      throw Failure("\(error)")
    } catch {
      throw Failure("\(url.path): \(error)")
    }
    try Console.write(line: text)
  }

  /// The folder in which the system's programs keep their data.
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
