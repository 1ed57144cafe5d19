import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

/// `cdstore create`
struct Create: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make an empty store for a model.",
    discussion: """
      cdstore create Notes.sqlite --model Notes.cdmodel
      cdstore create Old.sqlite --model Notes.cdmodel --version 1
      cdstore create Notes.xml --model Notes.cdmodel --type xml
      """)

  @Argument(help: "The store's file, which must not be there.", completion: .file())
  var store: String

  @Option(help: "The model's folder, or a file of a compiled model.", completion: .directory)
  var model: String

  @Option(help: "The version of the model; the current one by default.")
  var version: Int?

  @Option(help: "The kind of store.")
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
