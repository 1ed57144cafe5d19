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
        (cdstore fetch Old.sqlite Note --format json
         cdstore fetch Old.sqlite Folder --format json) | cdstore load Notes.sqlite -

      The objects to which the rows refer must be in the file or in the store. So the second example fetches the folders \
      of the notes too.

      Your own file can contain an object in each line, or a list of objects. "@entity" names the entity, unless \
      --entity names it for all rows. The "@id" is a text or an integer by which other rows refer to the row. \
      Attributes and relationships have their names. The value of a relationship is an "@id", a list of them, or null. \
      One side of a relationship and its inverse is enough. Rows that relate an object to two others, by a relationship \
      that takes one, are refused. The file can also \
      contain one object: entity name → list of rows. Such a file is read into memory as a whole, and its rows refer \
      only to each other.

      Write values that JSON does not have as {"$date": seconds since 1970}, {"$data": base64}, {"$uuid": "…"}, \
      {"$decimal": "1.5"}, {"$double": 1}. Text in ISO 8601, base64 and similar forms is accepted too. Write a Decimal \
      in one of these forms if it has more than 15 digits and a fraction or an exponent, or if it is beyond 64 bits.

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
    defer { withExtendedLifetime(input) {} }
    let name = StoreName(store)
    let isNew = try !name.exists()
    var items = try JSONItems(input.handle)
    let first = try items.next()
    let beginning = try first.flatMap { try DumpForm.beginning($0.json) }
    if type != nil, !isNew || beginning == nil {
      throw ValidationError("--type is for a store that a dump creates")
    }
    if isNew, let beginning {
      write(try loadNewStore(beginning, input))
    } else {
      // A fetch without results prints an empty list of rows.
      let isRows = entity != nil || first.map(Self.isRow) ?? items.hasList
      write(try load(input, into: store, isRows: isRows, first: first))
    }
  }

  /// What a load has done.
  private struct Report {
    var counts: [(entity: String, count: Int)]
    /// Notes and warnings.
    var remarks: [String] = []
  }

  /// Whether an object is a row, and not an object with lists of rows.
  private static func isRow(_ item: JSONItems.Item) -> Bool {
    guard case .object(let members) = item.json else { return false }
    return item.isInList || members.contains { $0.key.hasPrefix("@") }
  }

  /// Loads a dump into a store that does not exist yet.
  ///
  /// A file gets its name only when it has all objects. Until then, another process may create a store of that name, which
  /// must stay as it is. A load that is killed leaves a folder, which nobody takes for the store. The next load in the same
  /// place removes the folder.
  private func loadNewStore(_ beginning: StoreBeginning, _ input: InputFile) throws -> Report {
    guard model == nil else {
      throw ValidationError(
        "a dump creates the store with its own model; leave --model out, and then run 'cdstore migrate'")
    }
    let name = StoreName(store)
    let location = try name.newLocation(type)
    guard let file = name.file else { return try loadNewStore(onServer: location, beginning, input) }
    let parent = FileSystem.folder(of: store)
    guard FileSystem.isFolder(parent) else { throw Failure(parent, "there is no such folder") }
    let folder = try TemporaryFolder(prefix: ".cdstore-load-", in: FileSystem.url(parent))
    defer { withExtendedLifetime(folder) {} }
    let url = folder.url.appending(path: file.lastPathComponent)
    let unfinished = (type ?? .sqlite).location(url)
    try create(beginning, input.url, at: unfinished)
    let report = try load(input, into: url.path(percentEncoded: false), isRows: true)
    try PersistentStoreCoordinator.copyPersistentStore(at: unfinished, to: location)
    return report
  }

  /// Loads a dump into a new store on a server. If this fails, the store is removed, unless others have saved objects in it,
  /// or the server cannot tell.
  private func loadNewStore(
    onServer location: StoreLocation, _ beginning: StoreBeginning, _ input: InputFile
  ) throws -> Report {
    try create(beginning, input.url, at: location)
    do {
      return try load(input, into: store, isRows: true)
    } catch {
      if case .engine(let engine) = location { try? engine.transfer?.removeIfEmpty() }
      throw error
    }
  }

  private func create(_ beginning: StoreBeginning, _ file: URL, at location: StoreLocation) throws {
    do {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: file, to: location, formats: [DumpBeginning(beginning: beginning)])
    } catch StoreError.unreadable(_, let error) {
      throw Failure("line 1 of \(self.file) does not describe a store: \(error)")
    }
  }

  /// Refuses an object whose members name no entity, because it is meant as a row.
  private func checkIsNoRow(_ item: JSONItems.Item, _ graph: EntityGraph) throws {
    guard case .object(let members) = item.json else { return }
    let hasOther = members.contains { if case .array = $0.value { false } else { true } }
    if hasOther, members.allSatisfy({ graph.entity($0.key) == nil }) {
      throw Failure(
        "line \(item.line): the row does not name its entity; add \"@entity\", or name the entity of all rows with "
          + "--entity")
    }
  }

  /// Adds the objects of the file to an existing store.
  ///
  /// - Parameter first: The first object of the file, if it is known.
  private func load(
    _ input: InputFile, into store: String, isRows: Bool, first: JSONItems.Item? = nil
  ) throws -> Report {
    let container = try ModelSource.open(store, model: model)
    guard let version = container.persistentStoreCoordinator.managedObjectModel.currentVersion else {
      return Report(counts: [])
    }
    let context = container.newContext()
    let graph = EntityGraph(version)
    guard isRows else {
      if let first { try checkIsNoRow(first, graph) }
      var load = LoadFile(context: context, graph: graph, idAttribute: id)
      let counts = try load.insert(try json(input))
      try context.save()
      return Report(counts: counts)
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
    let outside = rows.outsideCounts.lines(
      ", which 'load' does not open; use this store only together with that one, in which the objects must have the same numbers"
    )
    return Report(
      counts: rows.counts,
      remarks: rows.changedIdentifiers.map { "note: \($0)" } + outside.map { "warning: \($0)" })
  }

  private func json(_ input: InputFile) throws -> JSONValue {
    try JSONItems.seekToStart(of: input.handle)
    do {
      return try JSONValue(parsing: Array(try input.handle.readToEnd() ?? Data()))
    } catch let error as JSONParsingError {
      throw Failure("\(file) is not JSON: \(error)")
    }
  }

  private func write(_ report: Report) {
    let counts = report.counts.map { "\($0.entity): \($0.count)" }
    if !counts.isEmpty {
      Lines.write(summary: counts.joined(separator: "\n"), of: "the objects are loaded")
    }
    for line in report.remarks { Lines.error(line) }
  }
}

/// The file that a command reads several times. Standard input and a pipe are first copied to a temporary file.
private struct InputFile {
  let url: URL
  let handle: FileHandle
  /// The folder of the copy of standard input or of a pipe, which is removed with it; nil if there is no copy.
  private let folder: TemporaryFolder?

  init(_ path: String) throws {
    var isFolder: ObjCBool = false
    let isFile = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
    // Once, because the writer of a pipe may have gone at the second time.
    let source = path == "-" ? FileHandle.standardInput : isFile ? FileHandle(forReadingAtPath: path) : nil
    guard let source else { throw Failure("\(path) cannot be read") }
    if path != "-", (try? source.seekToEnd()) != nil {
      url = FileSystem.url(path)
      handle = source
      self.folder = nil
      return
    }
    let folder = try TemporaryFolder(prefix: "cdstore-load-")
    self.folder = folder
    url = folder.url.appending(path: "input.json")
    try Data().write(to: url, options: .withoutOverwriting)
    handle = try FileHandle(forUpdating: url)
    do {
      while let data = try source.read(upToCount: 1 << 20), !data.isEmpty {
        try handle.write(contentsOf: data)
      }
    } catch {
      throw Failure("\(path) cannot be copied to a temporary file: \(error.localizedDescription)")
    }
  }
}
