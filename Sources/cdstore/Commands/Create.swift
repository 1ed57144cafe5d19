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
        cdstore create 'postgresql://db.example.com/notes?schema=notes' --model Notes.cdmodel
      """)

  @Argument(
    help: "The file of the store, or the URL of a server. The store must not exist yet.", completion: .file())
  var store: String

  @Option(help: "The folder of the model, or the file of a compiled model.", completion: .directory)
  var model: String

  @Option(help: "The version of the model. The default is the current version.")
  var version: Int?

  @Option(help: "The type of the file. The default is sqlite.")
  var type: StoreType?

  func run() throws {
    let model = try ModelSource.load(model, version: version)
    let name = StoreName(store)
    _ = try PersistentStoreCoordinator(model: model, at: name.newLocation(type))
    try Lines.write("\(name.title): \(model.name), version \(model.currentVersionNumber)")
  }
}
