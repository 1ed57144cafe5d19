import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The stores of a coordinator as SQLite sees them: each connection has the first one open and the others
/// attached, so that one statement reads, and one transaction writes, whatever store an object is in.
///
/// A table's name stands in one store alone, and needs no store before it. In a crash, or a power failure, each
/// file has the whole of a save or nothing of it; that several files of one save have the same is what SQLite does
/// not promise where the journal is a WAL.
final class SQLiteDatabase: Sendable {
  let stores: [SQLiteStore]
  let model: ModelPlan
  let writer: SQLiteWriter
  private let readers = ReaderPool()
  /// How many seconds to wait for others who write: as long as any of the stores would.
  private let busyTimeout: Double
  /// Tells the saves of this coordinator from those of others in the history.
  let origin = UUID().uuidString
  /// Keys that contexts have given back, by the place of the root entity.
  private let spareKeys = Mutex<[Int: [Range<ObjectKey>]]>([:])

  /// Whether no other process can see any of the stores: one in memory has no snapshots to read from.
  var isInMemory: Bool { stores.contains(where: \.isInMemory) }

  /// Opens stores, and makes those that are not there.
  ///
  /// - Throws: ``StoreError``; existing stores are then as they were.
  init(_ descriptions: [PersistentStoreDescription], model: ModelPlan) throws {
    // The first store's goes on as the writer's; the others' are kept until that has attached their stores.
    var kept: [SQLiteConnection] = []
    var stores: [SQLiteStore] = []
    for (place, description) in descriptions.enumerated() {
      if let url = description.location.url, stores.contains(where: { $0.isFile(at: url) }) {
        throw StoreError.openedTwice(url)
      }
      var connection: SQLiteConnection?
      var others = descriptions
      others.remove(at: place)
      let store = try SQLiteStore(
        description, place: place, model: model, others: others, keeping: &connection)
      if let connection { kept.append(connection) }
      stores.append(store)
    }
    self.stores = stores
    self.model = model
    busyTimeout = descriptions.map(\.busyTimeout).max() ?? 0
    let first = try kept.first ?? SQLiteConnection(path: ":memory:", of: [])
    first.stores = stores.map(\.url)
    first.wait(forOthers: busyTimeout)
    try Self.attach(stores.dropFirst(), to: first)
    writer = SQLiteWriter(first)
    try writer.use { connection in
      for store in stores { try connection.execute("PRAGMA \(store.schema).synchronous = NORMAL") }
    }
    withExtendedLifetime(kept) {}
  }

  private static func attach(_ stores: ArraySlice<SQLiteStore>, to connection: SQLiteConnection) throws {
    for store in stores {
      try connection.execute("ATTACH \(SQLite.literal(store.path)) AS \(SQLite.quoted(store.schema))")
    }
  }

  /// A connection for a context to read by, until it gives it back.
  func takeReader() throws -> SQLiteConnection {
    if let reader = readers.take() { return reader }
    let connection = try SQLiteConnection(
      path: stores.first?.path ?? ":memory:", of: stores.map(\.url), busyTimeout: busyTimeout)
    try Self.attach(stores.dropFirst(), to: connection)
    try connection.execute("PRAGMA query_only = ON")
    return connection
  }

  func giveBack(_ reader: SQLiteConnection) { readers.give(reader) }

  /// The store that holds an entity's objects; nil where none of the coordinator's does.
  func home(of plan: EntityPlan) -> SQLiteStore? {
    plan.home.flatMap { stores.indices.contains($0) ? stores[$0] : nil }
  }

  // MARK: Keys

  /// Reserves keys for new objects: never any that was reserved before, by whichever process.
  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    if let spare = spareKeys.withLock({ $0[root.index]?.popLast() }) { return spare }
    guard let store = home(of: root) else { throw StoreError.noStore(entity: root.name) }
    if store.isReadOnly { throw StoreError.readOnly(store.url) }
    return try writer.use { connection in
      let statement = try connection.statement(
        "INSERT INTO \(store.schema).\"_cdgen_keys\" (\"entity\", \"next\") VALUES (?1, 1 + ?2) "
          + "ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = \"next\" + ?2 RETURNING \"next\"")
      defer { statement.reset() }
      statement.bind(root.name, at: 1)
      statement.bind(count, at: 2)
      var next: Int64 = 0
      while try statement.step() { next = statement.int64(0) }
      return next - count..<next
    }
  }

  /// Takes back keys that no object has had.
  func giveBackKeys(_ keys: Range<ObjectKey>, of root: Int) {
    guard !keys.isEmpty else { return }
    spareKeys.withLock { $0[root, default: []].append(keys) }
  }
}
