import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

/// `todo demo`
struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show every kind of fetch on a sample list.",
    discussion: """
      Above each table, the program prints the code that fetched the rows. The list is in a temporary file, which is \
      removed at the end. With --store, the list stays in that store.

        todo demo
      """)

  @Option(
    help: ArgumentHelp(
      "Where to make the sample list: as for 'todo list'. There must be no list yet.", valueName: "path"))
  var store: String?

  @MainActor
  func run() async throws {
    if let store { return try Self.show(in: ListStore(store)) }
    let folder = FileManager.default.temporaryDirectory.appending(path: "todo-\(UUID().uuidString)")
    try ListStore.makeFolder(folder)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Self.show(in: ListStore(folder.appending(path: "Demo.sqlite").path))
  }

  @MainActor
  private static func show(in store: ListStore) throws {
    try store.perform { container in
      guard try ToDo.count(in: container.viewContext) == 0, try Category.count(in: container.viewContext) == 0
      else {
        throw Failure("there is a list at \(store.title) already; it was not changed")
      }
      let now = Date.now
      try DemoList(now: now).fill(container.viewContext)
      // A new context has no objects in memory, so everything that follows is read from the store.
      try DemoFetches(now: now, context: container.newContext()).run()
    }
  }
}
