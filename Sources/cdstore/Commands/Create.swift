import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

/// `cdstore create`
struct Create: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create an empty store for a model.",
    discussion: """
      The store contains its model, so that other commands need only the file of the store.

        cdstore create Notes.sqlite --model Notes.cdmodel
        cdstore create Old.sqlite --model Notes.cdmodel --version 1
        cdstore create Notes.xml --model Notes.cdmodel --type xml
      """)

  @Argument(help: "The file of the store, which must not exist yet.", completion: .file())
  var store: String

  @Option(help: "The folder of the model, or the file of a compiled model.", completion: .directory)
  var model: String

  @Option(help: "The version of the model. The default is the current version.")
  var version: Int?

  @Option(help: "The type of the store.")
  var type: StoreType = .sqlite

  func run() throws {
    let model = try ModelSource.load(model, version: version)
    guard !FileManager.default.fileExists(atPath: store) else {
      throw Failure("the file \(store) already exists; it was not changed")
    }
    _ = try PersistentStoreCoordinator(model: model, at: type.location(URL(filePath: store)))
    try Lines.write("\(store): \(model.name), version \(model.currentVersionNumber)")
  }
}
