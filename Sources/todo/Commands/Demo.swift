import ArgumentParser
import CDRuntime
import Foundation

/// `todo demo`
struct Demo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show every kind of fetch on a sample list.",
    discussion: """
      The list is in a temporary store, which is removed at the end. Above each table, the program prints the code \
      that fetched the rows.

        todo demo
      """)

  @MainActor
  func run() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "todo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try PersistentContainer(for: ToDoModel.self, at: folder.appending(path: "Demo.sqlite"))
    let now = Date.now
    try DemoList(now: now).fill(container.viewContext)
    // A new context has no objects in memory, so everything that follows is read from the store.
    try DemoFetches(now: now, context: container.newContext()).run()
  }
}
