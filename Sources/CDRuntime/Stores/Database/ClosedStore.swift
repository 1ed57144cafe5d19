import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A store that is open, with the connection that it was opened by: one in memory goes when its last connection does.
struct OpenedStore {
  let store: SQLiteStore
  let connection: SQLiteConnection
}

/// A store of a coordinator before it is open.
///
/// ``open()`` throws ``StoreError/needsMigration(_:model:from:to:)`` for a store of an older version, and leaves it as it
/// is. Who can migrate it does so then: this floor knows of no migration.
enum ClosedStore {
  /// A SQLite file.
  case database(DatabaseOpening)
  /// A file that is read and written whole.
  case file(FileStoreOpening)
  /// Memory alone.
  case memory(MemoryOpening)

  /// - Parameter others: The configurations of the coordinator's other stores.
  /// - Throws: ``StoreError`` where there is a file that cannot be had.
  init(_ settings: StoreSettings, place: Int, model: ModelPlan, others: [String?]) throws {
    var settings = settings
    // Everything beside the store has its name, which is that of the file and not of a link to it.
    settings.location = try settings.location.resolvingLink()
    switch settings.location {
    case .engine: throw StoreError.notSupported("stores of several engines in one coordinator")
    case .inMemory: self = .memory(MemoryOpening(place: place, model: model, isReadOnly: settings.isReadOnly))
    case .sqlite(let url):
      self = .database(
        DatabaseOpening(url: url, settings: settings, place: place, model: model, others: others))
    case .xml(let url), .binary(let url), .custom(let url, _):
      let format = settings.location.format ?? XMLStoreFormat()
      if format.isReadOnly { settings.isReadOnly = true }
      if model.hasExternalSlots(ofStore: place) { try ExternalFiles(store: url).checkFolder() }
      self = .file(
        try FileStoreOpening(
          file: StoreFile(url, format, isReadOnly: settings.isReadOnly), settings: settings, model: model,
          place: place, others: others))
    }
  }

  /// Whether the store is to be read alone, because of its format for instance.
  var isReadOnly: Bool {
    switch self {
    case .database(let opening): opening.settings.isReadOnly
    case .file(let opening): opening.settings.isReadOnly
    case .memory(let opening): opening.isReadOnly
    }
  }

  /// Opens the store, and makes it where there is none.
  ///
  /// - Throws: ``StoreError``; an existing store is then as it was.
  func open() throws -> OpenedStore {
    switch self {
    case .database(let opening): try opening.open()
    case .file(let opening): try opening.open()
    case .memory(let opening): try opening.open()
    }
  }
}

/// The opening of a store in memory.
struct MemoryOpening {
  let place: Int
  let model: ModelPlan
  let isReadOnly: Bool

  func open() throws -> OpenedStore {
    let name = UUID.random().uuidString
    let url = URL(string: "memory:\(name)") ?? EmptyValue.url
    let path = SQLiteConnection.memoryPath(name)
    let connection = try SQLiteConnection(path: path, of: [url])
    let storeID = try StoreOpening(connection: connection, url: url, model: model, place: place).open()
    return OpenedStore(
      store: SQLiteStore(
        place: place, url: url, storeID: storeID, path: path, isReadOnly: isReadOnly, isInMemory: true),
      connection: connection)
  }
}
