import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore load`
struct Load: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add objects from JSON. Adds either all of them or none.",
    discussion: """
      The file is the output of 'cdstore dump' or of 'cdstore fetch --format json', or JSON that you have written. If \
      there is no store, a dump creates it, with the same identifiers as before. Loading a dump needs little memory.

        cdstore dump Notes.sqlite | cdstore load Copy.sqlite -
        cdstore fetch Old.sqlite Note --format json | cdstore load Notes.sqlite -

      Your own file can contain an object in each line, or a list of objects. "@entity" names the entity, unless \
      --entity names it for all rows. The "@id" is a text or an integer by which other rows refer to the row. \
      Attributes and relationships have their names. The value of a relationship is an "@id", a list of them, or null. \
      One side of a relationship and its inverse is enough. The file can also contain one object: entity name → list of \
      rows. Such a file is read into memory as a whole.

      Write values that JSON does not have as {"$date": seconds since 1970}, {"$data": base64}, {"$uuid": "…"}, \
      {"$decimal": "1.5"}, {"$double": 1}. Text in ISO 8601, base64 and similar forms is accepted too.

        cdstore load Notes.sqlite notes.json
        cdstore load Notes.sqlite - --id key < notes.json

      An "@id" that is an object's URI keeps its number pN, if the store has never had an object of this entity's \
      hierarchy with that number or a greater one. Otherwise, the numbers of the hierarchy all move by the same amount, \
      which a note names.
      """)

  @Argument(
    help: "The file of the store, or the URL of a server. A dump creates the store if it does not exist.",
    completion: .file())
  var store: String

  @Argument(help: "The JSON file; - for standard input.", completion: .file())
  var file: String

  @Option(
    help: "The folder or the file of the model. The default is the model in the store.",
    completion: .directory)
  var model: String?

  @Option(help: "The entity of rows that do not name one.")
  var entity: String?

  @Option(help: "A String attribute in which to store the \"@id\" of each row.")
  var id: String?

  @Option(help: "The type of a store that a dump creates. The default is sqlite.")
  var type: StoreType?

  func run() throws {
    let input = try InputFile(file)
    defer { input.remove() }
    let name = StoreName(store)
    let isNew = try !name.exists()
    let first = try firstItem(input.handle)
    let beginning = try first.flatMap { try DumpForm.beginning($0.json) }
    if type != nil, !isNew || beginning == nil {
      throw ValidationError("--type is for a store that a dump creates")
    }
    if isNew, let beginning { try create(beginning, input.url) }
    do {
      try load(input, isRows: entity != nil || first.map(Self.isRow) ?? false)
    } catch {
      // The store has no objects yet.
      if isNew, beginning != nil {
        if let location = try? name.location() {
          try? PersistentStoreCoordinator.destroyPersistentStore(at: location)
        }
      }
      throw error
    }
  }

  /// The first object of the file; nil if the file does not begin with one.
  private func firstItem(_ file: FileHandle) throws -> JSONItems.Item? {
    var items = try JSONItems(file)
    return try items.next()
  }

  /// Whether an object is a row, and not an object with lists of rows.
  private static func isRow(_ item: JSONItems.Item) -> Bool {
    guard case .object(let members) = item.json else { return false }
    return item.isInList || members.contains { $0.key.hasPrefix("@") }
  }

  private func create(_ beginning: StoreBeginning, _ file: URL) throws {
    do {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: file, to: StoreName(store).newLocation(type),
        formats: [DumpBeginning(beginning: beginning)])
    } catch StoreError.unreadable(_, let error) {
      throw Failure("line 1 of \(self.file) does not describe a store: \(error)")
    }
  }

  private func load(_ input: InputFile, isRows: Bool) throws {
    let container = try ModelSource.open(store, model: model)
    guard let version = container.persistentStoreCoordinator.managedObjectModel.currentVersion else { return }
    let context = container.newContext()
    let graph = EntityGraph(version)
    guard isRows else {
      var load = LoadFile(context: context, graph: graph, idAttribute: id)
      let counts = try load.insert(try json(input))
      try context.save()
      return try write(counts)
    }
    let progress = ProgressLine(isQuiet: true)
    defer { progress.end() }
    var rows = try RowImport(
      input.handle, graph: graph, entity: entity, idAttribute: id, progress: progress)
    try rows.scan { context.holdsObjects(ofEntity: $0) }
    do {
      try context.importObjects(largeValueCount: rows.largeValueCount) {
        try rows.insert(into: $0, leadsOutside: context.leadsOutside)
      }
    } catch {
      throw try rows.translated(error)
    }
    progress.end()
    try write(rows.counts)
    for line in rows.changedIdentifiers { Lines.error("note: \(line)") }
    for line in rows.outsideCounts.lines(
      ", which 'load' does not open; use this store only together with that one, in which the objects must have the same numbers"
    ) {
      Lines.error("warning: \(line)")
    }
  }

  private func json(_ input: InputFile) throws -> JSONValue {
    try JSONItems.seekToStart(of: input.handle)
    do {
      return try JSONValue(parsing: Array(try input.handle.readToEnd() ?? Data()))
    } catch let error as JSONParsingError {
      throw Failure("\(file) is not JSON: \(error)")
    }
  }

  private func write(_ counts: [(entity: String, count: Int)]) throws {
    for count in counts { try Lines.write("\(count.entity): \(count.count)") }
  }
}

/// The file that a command reads several times. Standard input is first copied to a temporary file.
private struct InputFile {
  let url: URL
  let handle: FileHandle
  private let isCopy: Bool

  init(_ path: String) throws {
    var isFolder: ObjCBool = false
    let isFile = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
    if path != "-", isFile, let handle = FileHandle(forReadingAtPath: path), (try? handle.seekToEnd()) != nil
    {
      url = FileSystem.url(path)
      self.handle = handle
      isCopy = false
      return
    }
    let source = path == "-" ? FileHandle.standardInput : isFile ? FileHandle(forReadingAtPath: path) : nil
    guard let source else { throw Failure("\(path) cannot be read") }
    url = FileManager.default.temporaryDirectory.appending(path: "cdstore-\(UUID().uuidString).json")
    try Data().write(to: url, options: .withoutOverwriting)
    isCopy = true
    handle = try FileHandle(forUpdating: url)
    do {
      while let data = try source.read(upToCount: 1 << 20), !data.isEmpty {
        try handle.write(contentsOf: data)
      }
    } catch {
      remove()
      throw Failure("\(path) cannot be copied to a temporary file: \(error.localizedDescription)")
    }
  }

  /// Removes the copy of standard input.
  func remove() { if isCopy { try? FileManager.default.removeItem(at: url) } }
}
