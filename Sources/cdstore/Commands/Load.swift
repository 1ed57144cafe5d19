import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore load`
struct Load: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add objects from a file of JSON: all of them, or none.",
    discussion: """
      The file holds an object: entity name → list of rows. A row has "@id", by which other rows mean it, \
      attributes by name, and relationships as the "@id" of a row, a list of them, or null; one side of an inverse \
      is enough. Values that JSON has not are written {"$date": seconds since 1970}, {"$data": base64}, \
      {"$uuid": "…"}, {"$decimal": "1.5"}, {"$double": 1}; text in ISO 8601, base64 and so on is taken too.

        cdstore load Notes.sqlite notes.json
        cdstore load Notes.sqlite - --id key < notes.json
      """)

  @Argument(help: "The store's file.", completion: .file())
  var store: String

  @Argument(help: "The file of JSON; - for standard input.", completion: .file())
  var file: String

  @Option(help: "The model's folder or file; without it, the store's own.", completion: .directory)
  var model: String?

  @Option(help: "A String attribute that keeps the \"@id\" of each row.")
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
