import ArgumentParser
import CDRuntime
import Foundation

/// `cdstore convert`
struct Convert: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy a store into a new one of another kind.",
    discussion: """
      The copy is of the same version, and has the same identifiers.

        cdstore convert Notes.sqlite Notes.xml --type xml
      """)

  @Argument(help: "The store's file.", completion: .file())
  var store: String

  @Argument(help: "The new store's file, which must not be there.", completion: .file())
  var out: String

  @Option(help: "The kind of the new store.")
  var type: StoreType

  func run() throws {
    guard FileManager.default.fileExists(atPath: store) else {
      throw Problem("there is no store at \(store)")
    }
    guard !FileManager.default.fileExists(atPath: out) else {
      throw Problem("there is a file at \(out) already; it was left as it is")
    }
    try PersistentStoreCoordinator.copyPersistentStore(
      at: URL(filePath: store), to: type.location(URL(filePath: out)))
    print("\(out): \(type.rawValue)")
  }
}
