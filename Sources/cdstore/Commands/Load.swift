import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore load`
struct Load: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add objects from a JSON file. Adds either all of them or none.",
    discussion: """
      The file contains an object: entity name → list of rows. A row has an "@id", by which other rows refer to it, \
      and attributes and relationships by name. The value of a relationship is the "@id" of a row, a list of them, or \
      null. One side of a relationship and its inverse is enough. Write values that JSON does not have as \
      {"$date": seconds since 1970}, {"$data": base64}, {"$uuid": "…"}, {"$decimal": "1.5"}, {"$double": 1}. \
      Text in ISO 8601, base64 and similar forms is accepted too.

        cdstore load Notes.sqlite notes.json
        cdstore load Notes.sqlite - --id key < notes.json
      """)

  @Argument(help: "The file of the store.", completion: .file())
  var store: String

  @Argument(help: "The JSON file; - for standard input.", completion: .file())
  var file: String

  @Option(
    help: "The folder or the file of the model. The default is the model in the store.",
    completion: .directory)
  var model: String?

  @Option(help: "A String attribute in which to store the \"@id\" of each row.")
  var id: String?

  func run() throws {
    let data = try file == "-" ? FileHandle.standardInput.readToEnd() ?? Data() : contents(of: file)
    let json: JSONValue
    do {
      json = try JSONValue(parsing: Array(data))
    } catch {
      throw Failure("\(file) is not JSON: \(error)")
    }
    let container = try ModelSource.open(store, model: model)
    let context = container.newContext()
    guard let version = container.persistentStoreCoordinator.managedObjectModel.currentVersion else { return }
    var load = LoadFile(context: context, graph: EntityGraph(version), idAttribute: id)
    let counts = try load.insert(json)
    try context.save()
    for count in counts { try Lines.write("\(count.entity): \(count.count)") }
  }

  private func contents(of path: String) throws -> Data {
    do {
      return try Data(contentsOf: URL(filePath: path))
    } catch {
      throw Failure("\(path) cannot be read")
    }
  }
}
