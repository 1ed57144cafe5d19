import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An open store, with the connection that opened it. A store in memory exists only as long as it has a connection.
struct OpenedStore {
  let store: SQLiteStore
  let connection: SQLiteConnection
}

/// A store of a coordinator before it is opened.
///
/// ``open()`` throws ``StoreError/needsMigration(_:model:from:to:)`` for a store of an older version, and does not
/// change the store. This layer does not depend on migrations; a caller that can migrate the store does so then.
enum ClosedStore {
  /// A SQLite file.
  case database(DatabaseOpening)
  /// A file that is read and written as a whole.
  case file(FileStoreOpening)
  /// Only memory.
  case memory(MemoryOpening)

  /// - Parameter others: The configurations of the coordinator's other stores.
  /// - Throws: ``StoreError`` if the file cannot be used.
  @_optimize(none)
  init(_ settings: StoreSettings, storeIndex: Int, model: ModelPlan, others: [String?]) throws {
    var settings = settings
    // All files beside the store are named after the real file, not after a link to it.
    settings.location = try settings.location.resolvingLink()
    switch settings.location {
    case .engine: throw StoreError.notSupported("stores of several engines in one coordinator")
    case .inMemory:
      self = .memory(MemoryOpening(storeIndex: storeIndex, model: model, isReadOnly: settings.isReadOnly))
    case .sqlite(let url):
      self = .database(
        DatabaseOpening(url: url, settings: settings, storeIndex: storeIndex, model: model, others: others))
    case .xml(let url), .binary(let url), .custom(let url, _):
      let format = settings.location.format ?? XMLStoreFormat()
      if format.isReadOnly { settings.isReadOnly = true }
      if model.hasExternalSlots(ofStore: storeIndex) { try ExternalFiles(store: url).checkFolder() }
      self = .file(
        try FileStoreOpening(
          file: StoreFile(url, format, isReadOnly: settings.isReadOnly), settings: settings, model: model,
          storeIndex: storeIndex, others: others))
    }
  }

  /// Whether the store must only be read, for example because of its format.
  var isReadOnly: Bool {
    switch self {
    case .database(let opening): opening.settings.isReadOnly
    case .file(let opening): opening.settings.isReadOnly
    case .memory(let opening): opening.isReadOnly
    }
  }

  /// Opens the store, or creates it if it does not exist.
  ///
  /// - Throws: ``StoreError``. An existing store is then unchanged.
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
  let storeIndex: Int
  let model: ModelPlan
  let isReadOnly: Bool

  func open() throws -> OpenedStore {
    let name = UUID.random().uuidString
    let url = URL(string: "memory:\(name)") ?? EmptyValue.url
    let path = SQLiteConnection.memoryPath(name)
    let connection = try SQLiteConnection.inMemory(path, of: url)
    let storeID = try StoreOpening(connection: connection, url: url, model: model, storeIndex: storeIndex)
      .open()
    return OpenedStore(
      store: SQLiteStore(
        index: storeIndex, url: url, storeID: storeID, path: path, isReadOnly: isReadOnly,
        isInMemory: true),
      connection: connection)
  }
}
