import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

/// The location of the list.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The file of the list. It is created if it does not exist.",
      discussion: """
        The default is \(Self.defaultURL.path). A program that was built with the trait PostgreSQL also takes the URL of a \
        schema on a server, such as postgresql://me@db.example.com/work?schema=todo.
        """, valueName: "path"))
  var store: String?

  /// Opens the store and runs the work in a new context. Nothing is saved unless the work saves it.
  @MainActor
  func withContext<R>(_ work: (ManagedObjectContext) throws -> R) throws -> R {
    try ListStore(store ?? Self.defaultURL.path).perform { try work($0.newContext()) }
  }

  /// Opens the store, runs the work in a new context, saves the changes, and then prints the text that the work returned.
  /// If the work fails, nothing is saved. If the save fails, nothing is printed.
  ///
  /// If another program has saved the same objects meanwhile, the work runs again and finds what that program saved.
  @MainActor
  func change(_ work: (ManagedObjectContext) throws -> String) throws {
    let text = try ListStore(store ?? Self.defaultURL.path).perform { container -> String in
      for _ in 1...Self.attempts {
        do {
          let context = container.newContext()
          let text = try work(context)
          try context.save()
          return text
        } catch SaveError.conflict, SaveError.notUnique {
          continue
        }
      }
      throw Failure("other programs keep changing the list; nothing was saved. Try again later")
    }
    try Console.write(line: text)
  }

  /// How often a change is tried.
  private static let attempts = 20

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
