import ArgumentParser
import CDModel
import CDRuntime
import Foundation

/// `cdstore info`
struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print what a store says of itself, and how much it holds.",
    discussion: "cdstore info Notes.sqlite")

  @Argument(help: "The store's file.", completion: .file())
  var store: String

  func run() throws {
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: URL(filePath: store))
    let type = try StoreType(of: URL(filePath: store))
    var lines = [
      ("type", "\(type.rawValue), format \(metadata.formatVersion)"), ("store", metadata.storeID.uuidString),
      ("model", "\(metadata.modelName), version \(metadata.modelVersion.number)"),
      ("model id", metadata.modelID.uuidString), ("data hash", metadata.dataHash),
      ("layout hash", metadata.layoutHash), ("definition hash", metadata.definitionHash),
      ("size", "\(size) bytes"),
    ]
    for (key, value) in metadata.values.sorted(by: { $0.key < $1.key }) {
      lines.append(("app's \(key)", value))
    }
    let width = lines.map(\.0.count).max() ?? 0
    for (name, value) in lines {
      Lines.write(name + String(repeating: " ", count: width - name.count + 2) + value)
    }
    let container = try ModelSource.open(store, isReadOnly: true)
    let context = container.newContext()
    let rows = try metadata.modelVersion.entities.map { entity in
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      return [entity.name, "\(try context.count(for: request))"]
    }
    Lines.write("")
    Lines.write(Lines.table(["Entity", "Objects"], rows))
  }

  /// The file's, with what SQLite keeps beside it and the large values.
  private var size: Int64 {
    let files = FileManager.default
    func size(_ path: String) -> Int64 {
      ((try? files.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.int64Value ?? 0
    }
    let folder = store + "-external"
    let names = (try? files.contentsOfDirectory(atPath: folder)) ?? []
    return size(store) + size(store + "-wal") + names.reduce(0) { $0 + size(folder + "/" + $1) }
  }
}
