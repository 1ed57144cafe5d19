import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The stores of a coordinator as SQLite sees them: a connection has the only one open, or several attached, so that
/// one statement reads, and one transaction writes, whatever store an object is in.
///
/// A table's name stands in one store alone, and needs no store before it. In a crash, or a power failure, each
/// file has the whole of a save or nothing of it; that several files of one save have the same is what SQLite does
/// not promise where the journal is a WAL.
final class SQLiteDatabase: StoreEngine {
  let writer: SQLiteWriter
  /// Where each store keeps its large values, by its place; nil for one in memory.
  let files: [ExternalFiles?]
  let model: ModelPlan
  /// The texts of the statements on its rows.
  let sql: ModelSQL
  /// Taken with the writer's lock held, or without it; nobody takes the writer's lock while holding this one.
  private let current: Mutex<SQLiteStoreSet>
  private let removals = Atomic<Int>(0)
  private let removalObservers = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])
  private let readers = ReaderPool()
  /// How many seconds to wait for others who write: as long as any of the stores would.
  private let busyTimeout: Double
  /// Who is told of what is saved.
  let watch = HistoryWatch()
  /// Tells the saves of this coordinator from those of others in the history.
  let origin = UUID.random().uuidString
  /// Keys that contexts have given back, by the place of the root entity.
  private let spareKeys = Mutex<[Int: [Range<ObjectKey>]]>([:])

  /// The stores that there are now.
  var attached: SQLiteStoreSet { current.withLock { $0 } }
  var stores: StoreSet { attached.stores }

  /// How many stores have been removed, for a context to notice that one has.
  @inline(__always) var removalCount: Int { removals.load(ordering: .acquiring) }

  /// Opens stores, and makes those that are not there.
  ///
  /// - Parameter open: Opens the store of a place, where more is to be done than to open it.
  /// - Throws: ``StoreError``, or what `open` throws; existing stores are then as they were.
  init(
    _ settings: [StoreSettings], model: ModelPlan,
    open: (_ store: ClosedStore, _ place: Int) throws -> OpenedStore = { store, _ in try store.open() }
  ) throws {
    // A single store's goes on as the writer's; others are kept until that has attached their stores.
    var kept: [SQLiteConnection] = []
    var stores: [SQLiteStore] = []
    for (place, own) in settings.enumerated() {
      if let url = own.location.url, stores.contains(where: { $0.isFile(at: url) }) {
        throw StoreError.openedTwice(url)
      }
      var others = settings.map(\.configuration)
      others.remove(at: place)
      let opened = try open(ClosedStore(own, place: place, model: model, others: others), place)
      kept.append(opened.connection)
      stores.append(opened.store)
    }
    let set = SQLiteStoreSet(stores, isAlone: settings.count == 1, of: model)
    self.model = model
    sql = ModelSQL(model)
    current = Mutex(set)
    files = stores.map(\.files)
    busyTimeout = settings.map(\.busyTimeout).max() ?? 0
    let first: SQLiteConnection
    if set.main != nil, let only = kept.first {
      first = only
      try Self.prepare(first, toWrite: set)
    } else {
      first = try Self.writer(of: set, busyTimeout)
    }
    writer = SQLiteWriter(first)
    withExtendedLifetime(kept) {}
  }

  /// A store that is being made by a connection of its own. What others would read and write here is empty.
  init(making store: SQLiteStore, model: ModelPlan) throws {
    self.model = model
    sql = ModelSQL(model)
    current = Mutex(SQLiteStoreSet([store], isAlone: true, of: model))
    files = [store.files]
    busyTimeout = 0
    writer = SQLiteWriter(try SQLiteConnection(path: ":memory:", of: [store.url]))
  }

  /// SQLite's stores, for what no other engine does.
  ///
  /// - Throws: ``StoreError/notSupported(_:)`` for another engine.
  static func of(_ engine: any StoreEngine, for feature: String) throws -> SQLiteDatabase {
    guard let database = engine as? SQLiteDatabase else { throw StoreError.notSupported(feature) }
    return database
  }

  // MARK: Connections

  private static func connect(to set: SQLiteStoreSet, _ busyTimeout: Double) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(
      path: set.main?.path ?? ":memory:", of: set.all.map(\.url), busyTimeout: busyTimeout)
    for store in set.attached {
      try connection.execute(
        "ATTACH \(SQLite.literal(store.path)) AS \(SQLite.quoted(set.schema(of: store)))")
    }
    connection.limitScans(
      ofFiles: set.all.filter { !$0.isInMemory }.map { $0.url.path(percentEncoded: false) })
    return connection
  }

  private static func writer(of set: SQLiteStoreSet, _ busyTimeout: Double) throws -> SQLiteConnection {
    let connection = try connect(to: set, busyTimeout)
    try prepare(connection, toWrite: set)
    return connection
  }

  private static func prepare(_ connection: SQLiteConnection, toWrite set: SQLiteStoreSet) throws {
    for store in set.all { try connection.execute("PRAGMA \(set.schema(of: store)).synchronous = NORMAL") }
  }

  /// Refuses to read a store in memory while the calling thread writes to it: SQLite would wait for the writer, which
  /// waits for who reads.
  func checkIsReadable() throws {
    if writer.isHeldByThisThread { throw StoreError.nestedWrite(stores.all.map(\.url)) }
  }

  /// What to read by until it is given back.
  func takeSession() throws -> any StoreSession { try session() }

  func session() throws -> SQLiteSession {
    if attached.isInMemory { try checkIsReadable() }
    var result: Result<SQLiteSession, any Error> = .failure(CancellationError())
    // With the lock held, so that no store is removed, and its file perhaps with it, before it has been opened. By a
    // variable, since the lock's own result would have to be free to go to another isolation.
    current.withLock { set in
      let set = set
      result = Result {
        let reader = try readers.take() ?? makeReader(of: set)
        try set.checkVersions(reader)
        return SQLiteSession(reader, stores: set, model: model, sql: sql)
      }
    }
    return try result.get()
  }

  private func makeReader(of set: SQLiteStoreSet) throws -> SQLiteConnection {
    let connection = try Self.connect(to: set, busyTimeout)
    // Somebody may have put another file in the place of the one that was opened.
    for store in set.all where store.isReadOnly { try store.checkIdentity() }
    // What leads to an entity whose store is not there leads nowhere, in each statement that says so.
    for sql in set.absentTables { try connection.execute(sql) }
    try connection.execute("PRAGMA query_only = ON")
    return connection
  }

  /// - Parameter session: One that was taken, and is used no more.
  func giveBack(_ session: any StoreSession) {
    guard let session = session as? SQLiteSession else { return }
    current.withLock { if $0.removals == session.stores.removals { readers.give(session.connection) } }
  }

  // MARK: Removal

  /// Lets go of a store.
  ///
  /// - Returns: Whether it was one of the stores.
  /// - Throws: ``StoreError`` where the others cannot be opened anew; nothing has changed then.
  func remove(_ id: UUID) throws -> Bool {
    let isRemoved = try writer.replace {
      guard let next = attached.removing(id, of: model) else { return nil }
      let connection = try Self.writer(of: next, busyTimeout)
      current.withLock { set in
        set = next
        readers.removeAll()
      }
      removals.store(next.removals, ordering: .releasing)
      return connection
    }
    if isRemoved { for tell in removalObservers.withLock({ Array($0.values) }) { tell() } }
    return isRemoved
  }

  /// Lets somebody know of each removal, from whichever thread it is made.
  func tellOfRemovals(_ observer: AnyObject, _ tell: @escaping @Sendable () -> Void) {
    let id = ObjectIdentifier(observer)
    removalObservers.withLock { $0[id] = tell }
  }

  func stopTellingOfRemovals(_ id: ObjectIdentifier) {
    removalObservers.withLock { $0[id] = nil }
  }

  // MARK: Keys

  /// Reserves keys for new objects: never any that was reserved before, by whichever process.
  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    guard stores.store(of: root) != nil else { throw StoreError.noStore(entity: root.name) }
    if let spare = spareKeys.withLock({ $0[root.index]?.popLast() }) { return spare }
    return try writer.use { connection in
      // With the writer in hand: the store may have been removed since.
      let stores = attached
      guard let store = stores.store(of: root) else { throw StoreError.noStore(entity: root.name) }
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
      // Somebody may have set the counter to a key that is taken, or where none follow.
      let statement = try connection.statement(
        "INSERT INTO \(stores.schema(of: store)).\"_cdgen_keys\" AS k (\"entity\", \"next\") "
          + "VALUES (?1, 1 + ?2) ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = k.\"next\" + ?2 "
          + "WHERE k.\"next\" BETWEEN 1 AND ?3 - ?2 RETURNING \"next\", "
          + "\"next\" - ?2 > (SELECT coalesce(max(_pk), 0) FROM \(SQLite.quoted(root.table)))")
      defer { statement.reset() }
      statement.bind(root.name, at: 1)
      statement.bind(count, at: 2)
      statement.bind(Self.largestKey, at: 3)
      var next: Int64?
      while try statement.step() { if statement.int64(1) == 1 { next = statement.int64(0) } }
      guard let next else { throw StoreError.damagedKeys(store.url, entity: root.name) }
      return next - count..<next
    }
  }

  /// The largest key of an object. More follow in 64 bits, so that sums of keys and counts never overflow.
  static let largestKey: Int64 = 1 << 62

  /// Takes back keys that no object has had.
  func giveBackKeys(_ keys: Range<ObjectKey>, of root: Int) {
    guard !keys.isEmpty else { return }
    spareKeys.withLock { $0[root, default: []].append(keys) }
  }
}
