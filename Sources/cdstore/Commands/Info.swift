import ArgumentParser
import CDConsole
import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation

/// `cdstore info`
struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the metadata of a store and the numbers of its objects.",
    discussion: """
        cdstore info Notes.sqlite

      For a store of Core Data, prints its contents and, with its model, its version:

        cdstore info Library.sqlite --model Library.xcdatamodeld
      """)

  @Argument(help: ArgumentHelp(StoreName.help), completion: .file())
  var store: String

  @Option(
    help: "The model of a store of Core Data: a folder NAME.cdmodel or NAME.xcdatamodeld.",
    completion: .directory)
  var model: String?

  func run() throws {
    let name = StoreName(store)
    if name.isCoreData { return try describeCoreDataStore() }
    if model != nil { try CoreDataModel.refuseOther(store) }
    try name.requireStore()
    let metadata = try name.metadata()
    var lines = [
      ("type", "\(try name.type()), format \(metadata.formatVersion)"),
      ("store", metadata.storeID.uuidString),
      ("model", "\(metadata.modelName), version \(metadata.modelVersion.number)"),
      ("model id", metadata.modelID.uuidString), ("data hash", metadata.dataHash),
      ("layout hash", metadata.layoutHash), ("definition hash", metadata.definitionHash),
    ]
    if let schema = try name.schemaBeside() { lines.append(("tables", "in the schema '\(schema)'")) }
    if !name.isOnServer { lines.append(("size", "\(size(withValuesIn: file + "-external")) bytes")) }
    for (key, value) in metadata.values.sorted(by: { $0.key < $1.key }) {
      lines.append(("app's \(key)", value))
    }
    try write(lines)
    let container = try ModelSource.open(store, isReadOnly: true)
    let context = container.newContext()
    let rows = try metadata.modelVersion.entities.compactMap { entity -> [String]? in
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      do {
        return [entity.name, "\(try context.count(for: request))"]
      } catch StoreError.noStore {
        // Another configuration's store contains the entity's objects.
        return nil
      }
    }
    try Lines.write("")
    try Lines.write(Lines.table(["Entity", "Objects"], rows))
  }

  private func write(_ lines: [(String, String)]) throws {
    // Somebody else may have made the store.
    let lines = lines.map { (Lines.plain($0.0), Lines.plain($0.1)) }
    let width = lines.map(\.0.count).max() ?? 0
    for (name, value) in lines {
      try Lines.write(name + String(repeating: " ", count: width - name.count + 2) + value)
    }
  }

  private func describeCoreDataStore() throws {
    let found = try CoreDataStore(at: FileSystem.url(store))
    let (version, problem) = try version(of: found)
    var lines = [
      ("type", "Core Data, SQLite"), ("store", found.storeID.uuidString),
      ("model", version ?? "not in the store; name it with --model to know the version"),
    ]
    if !found.versionIdentifiers.isEmpty {
      lines.append(("identifiers", found.versionIdentifiers.joined(separator: ", ")))
    }
    if let number = found.frameworkVersion { lines.append(("Core Data", "\(number)")) }
    let values = CoreDataStore.externalFolder(ofStore: file).path(percentEncoded: false)
    lines.append(("size", "\(size(withValuesIn: values)) bytes"))
    for (key, value) in found.values.sorted(by: { $0.key < $1.key }) { lines.append(("app's \(key)", value)) }
    try write(lines)
    try Lines.write("")
    try Lines.write(
      Lines.table(["Entity", "Objects"], found.entities.map { [$0.name, "\($0.count)"] }))
    if let problem { throw problem }
  }

  /// The version of a Core Data store in words, and the error if the model has no matching version.
  private func version(of found: CoreDataStore) throws -> (String?, CoreDataStoreError?) {
    guard let model = try model.map(CoreDataModel.load) else { return (nil, nil) }
    do {
      return ("\(model.name), version \(CoreDataModel.title(try found.version(in: model)))", nil)
    } catch CoreDataStoreError.severalFittingVersions(_, _, let numbers) {
      let titles = model.versions.filter { numbers.contains($0.number) }.map(CoreDataModel.title)
      return ("\(model.name), one of the versions \(titles.joined(separator: ", "))", nil)
    } catch let error as CoreDataStoreError {
      guard case .noFittingVersion = error else { throw error }
      return ("\(model.name), but none of its versions", error)
    }
  }

  /// The path of the store's file. If the name is a link, the store's other files are beside the file that it leads to.
  private var file: String { FileSystem.realPath(store) ?? store }

  /// The total size of the store's file, its write-ahead log and its large values.
  private func size(withValuesIn folder: String) -> Int64 {
    let files = FileManager.default
    func size(_ path: String) -> Int64 {
      ((try? files.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.int64Value ?? 0
    }
    let names = (try? files.contentsOfDirectory(atPath: folder)) ?? []
    return size(file) + size(file + "-wal") + names.reduce(0) { $0 + size(folder + "/" + $1) }
  }
}
