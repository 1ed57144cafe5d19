import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator's stores in SQLite. A connection opens a single store as its main database, or attaches several
/// stores. So one statement can read, and one transaction can write, objects in any store.
///
/// A table's name occurs in only one store, so statements need no schema name before it. After a crash or power
/// failure, each file has either all or nothing of a save. If a save changed several files, SQLite does not promise
/// that they agree, because the journal is a WAL.
final class SQLiteDatabase: StoreEngine {
  let writer: SQLiteWriter
  /// The files of large values, by the index of the store; nil for a store in memory.
  let files: [ExternalFiles?]
  let model: ModelPlan
  /// The SQL statements on the model's rows.
  let sql: ModelSQL
  /// No thread waits for SQLite while it holds this lock, because a write needs the lock before it ends.
  private let current: Mutex<SQLiteStoreSet>
  /// Held while a reader connects, so that no store is removed, perhaps with its file, before the reader has opened it.
  ///
  /// A thread takes this lock after the writer's lock and before that of the stores. If a store is in memory, no thread takes
  /// it within a transaction, because the reader that has it waits for the end of the transaction.
  private let connecting = Mutex<Void>(())
  private let removals = Atomic<Int>(0)
  private let removalObservers = Mutex<[RemovalObserver]>([])
  private let readers = ReaderPool()
  /// The connection that has opened a single SQLite file; nil for other stores.
  private let opening: OpeningConnection?
  /// How many seconds to wait for other writers: the longest time of all stores.
  private let busyTimeout: Double
  /// Notifies a listener about saves.
  let watch = HistoryWatch()
  /// Marks the saves of this coordinator in the history, to tell them from the saves of others.
  let origin = UUID.random().uuidString
  /// Keys that contexts have given back, by the index of the root entity.
  private let spareKeys = Mutex<[[SpareKeys]]>([])

  private struct RemovalObserver {
    let id: ObjectIdentifier
    let notify: @Sendable () -> Void
  }

  /// Keys that a context has given back. If this were a `Range`, the opening of a store would search the conformances of
  /// the whole program, to find out that keys are comparable.
  private struct SpareKeys {
    let first: ObjectKey
    let end: ObjectKey
  }

  /// The current stores.
  var attached: SQLiteStoreSet { current.withLock { $0 } }
  var stores: StoreSet { attached.stores }

  /// The number of removed stores. A context compares it to notice a removal.
  @inline(__always) var removalCount: Int { removals.load(ordering: .acquiring) }

  /// Opens stores, and creates those that do not exist.
  ///
  /// - Parameter open: Opens the store at an index. A caller can do more here, such as a migration.
  /// - Throws: ``StoreError``, or an error of `open`. Existing stores are then unchanged.
  init(
    _ settings: [StoreSettings], model: ModelPlan,
    open: (_ store: ClosedStore, _ storeIndex: Int) throws -> OpenedStore = { store, _ in try store.open() }
  ) throws {
    // The connection of a single store becomes the writer or a reader. Several connections stay open until the writer has
    // attached their stores.
    var kept: [SQLiteConnection] = []
    var stores: [SQLiteStore] = []
    for (place, own) in settings.enumerated() {
      if let url = own.location.url, stores.contains(where: { $0.isFile(at: url) }) {
        throw StoreError.openedTwice(url)
      }
      let storeIndex = settings.storeIndex(place)
      let opened = try open(
        ClosedStore(
          own, storeIndex: storeIndex, model: model, others: settings.configurations(otherThan: place)),
        storeIndex)
      kept.append(opened.connection)
      stores.append(opened.store)
    }
    let set = SQLiteStoreSet(stores, isSingle: settings.count == 1, of: model)
    self.model = model
    sql = ModelSQL(model, SQLiteDialect(others: model.tables(outside: Set(stores.map(\.index)))))
    current = Mutex(set)
    files = stores.map(\.files)
    let busyTimeout = settings.map { $0.busyTimeout }.max() ?? 0
    self.busyTimeout = busyTimeout
    if let main = set.main, let only = kept.first {
      if main.isInMemory {
        opening = nil
        try Self.prepare(only, toWrite: set)
        writer = SQLiteWriter(only)
      } else {
        let first = OpeningConnection(only)
        opening = first
        writer = SQLiteWriter(of: [main.url]) {
          let connection =
            try first.take()
            ?? SQLiteDatabase.connectLater(to: set, busyTimeout, toWrite: true)
          try SQLiteDatabase.prepare(connection, toWrite: set)
          first.release()
          return connection
        }
      }
    } else {
      opening = nil
      writer = SQLiteWriter(try Self.writer(of: set, busyTimeout))
    }
    withExtendedLifetime(kept) {}
  }

  /// A database for a store that another connection creates. Its own connection only has an empty database in memory.
  @_optimize(none)
  init(creating store: SQLiteStore, model: ModelPlan) throws {
    self.model = model
    sql = ModelSQL(model, .sqlite)
    current = Mutex(SQLiteStoreSet([store], isSingle: true, of: model))
    files = [store.files]
    busyTimeout = 0
    opening = nil
    writer = SQLiteWriter(try SQLiteConnection(path: ":memory:", of: [store.url]))
  }

  // MARK: Connections

  @_optimize(none)
  private static func connect(to set: SQLiteStoreSet, _ busyTimeout: Double) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(
      path: set.main?.path ?? ":memory:", of: set.all.map { $0.url }, busyTimeout: busyTimeout)
    for store in set.attached {
      try connection.execute(
        "ATTACH \(SQLText.literal(store.path)) AS \(SQLText.quoted(set.schema(of: store)))")
    }
    connection.limitScans(
      ofFiles: set.all.filter { !$0.isInMemory }.map { $0.url.path(percentEncoded: false) })
    return connection
  }

  /// Opens another connection to stores that have been open for some time.
  ///
  /// - Parameter toWrite: Whether the caller is about to write. Then a file that is read as a whole must not have been
  ///   replaced either, and all files must be writable.
  /// - Throws: ``StoreError/replaced(_:)`` if a file has been removed or replaced meanwhile. SQLite would create the file
  ///   anew, and remove the log that is left beside it, with the saves that only the log has. Or it would use a file that has
  ///   not been checked. ``StoreError/notWritable(_:reason:)`` if a file has become read-only.
  private static func connectLater(
    to set: SQLiteStoreSet, _ busyTimeout: Double, toWrite: Bool
  ) throws -> SQLiteConnection {
    let checked = set.all.filter { toWrite || !$0.isInMemory }
    for store in checked { try store.checkIdentity() }
    let connection = try connect(to: set, busyTimeout)
    // The file may have been replaced between the first check and the opening. Nothing has been read since.
    for store in checked { try store.checkIdentity() }
    guard toWrite else { return connection }
    // SQLite opens a file without write permission too, and would refuse writes even after the permission is back.
    for store in set.all where !store.isReadOnly && connection.refusesWrites(to: set.schema(of: store)) {
      throw StoreError.notWritable([store.url], reason: "it is read-only")
    }
    return connection
  }

  private static func writer(of set: SQLiteStoreSet, _ busyTimeout: Double) throws -> SQLiteConnection {
    let connection = try connect(to: set, busyTimeout)
    try prepare(connection, toWrite: set)
    return connection
  }

  private static func prepare(_ connection: SQLiteConnection, toWrite set: SQLiteStoreSet) throws {
    for store in set.all { try connection.execute("PRAGMA \(set.schema(of: store)).synchronous = NORMAL") }
    // A batch also reads with this connection.
    try createAbsentTables(of: set, connection)
  }

  /// Creates empty temporary tables in place of the tables of missing stores. So a relationship to an entity of a missing
  /// store reads as empty in every statement.
  private static func createAbsentTables(of set: SQLiteStoreSet, _ connection: SQLiteConnection) throws {
    for sql in set.absentTables { try connection.execute(sql) }
  }

  /// Throws an error if the calling thread is writing. A read of a store in memory would then never end: SQLite waits
  /// for the writer, and the writer waits for the thread that reads.
  func checkIsReadable() throws {
    if writer.isHeldByThisThread { throw StoreError.nestedWrite(stores.all.map(\.url)) }
  }

  /// Returns a session for reading. The caller gives it back after use.
  func takeSession() throws -> any StoreSession { try session() }

  func session() throws -> SQLiteSession {
    if attached.isInMemory { try checkIsReadable() }
    let (set, connection) = try idleReader() ?? newReader()
    try set.checkVersions(connection)
    return SQLiteSession(connection, stores: set, model: model, sql: sql)
  }

  /// Returns a connection from the pool with the stores that it has open; nil if there is none.
  private func idleReader() -> (SQLiteStoreSet, SQLiteConnection)? {
    var idle: (SQLiteStoreSet, SQLiteConnection)?
    // The lock's own result would have to be `sending`, so the closure sets a variable.
    current.withLock { set in
      if let connection = readers.acquire() { idle = (set, connection) }
    }
    return idle
  }

  /// Returns a new connection with the stores that it has open.
  private func newReader() throws -> (SQLiteStoreSet, SQLiteConnection) {
    var result: Result<(SQLiteStoreSet, SQLiteConnection), any Error> = .failure(CancellationError())
    connecting.withLock { _ in
      let set = attached
      result = Result { try (set, makeReader(of: set)) }
    }
    return try result.get()
  }

  /// How many seconds a read waits if a store is in memory. Only this coordinator writes to it, so it is not another's write
  /// which a ``PersistentStoreDescription/busyTimeout`` could limit. SQLite lets no reader in during a save, which can last as
  /// long as its file is written.
  private static let patience = 600.0

  private func makeReader(of set: SQLiteStoreSet) throws -> SQLiteConnection {
    let timeout = set.isInMemory ? max(Self.patience, busyTimeout) : busyTimeout
    let connection = try opening?.take() ?? Self.connectLater(to: set, timeout, toWrite: false)
    // The file may have been replaced since it was opened.
    for store in set.all where store.isReadOnly { try store.checkIdentity() }
    try Self.createAbsentTables(of: set, connection)
    try connection.execute("PRAGMA query_only = ON")
    return connection
  }

  /// - Parameter session: A session from ``takeSession()``. The caller must not use it any more.
  func returnSession(_ session: any StoreSession) {
    guard let session = session as? SQLiteSession else { return }
    current.withLock { if $0.removals == session.stores.removals { readers.release(session.connection) } }
  }

  // MARK: Removal

  /// Closes a store and removes it from the stores.
  ///
  /// - Returns: Whether the store was one of the stores.
  /// - Throws: ``StoreError`` if the other stores cannot be opened again. Nothing has changed then.
  func remove(_ id: UUID) throws -> Bool {
    let isRemoved = try writer.replace {
      guard let next = attached.removing(id, of: model) else { return nil }
      // The next write finds out whether it can write.
      let connection = try Self.connectLater(to: next, busyTimeout, toWrite: false)
      try Self.prepare(connection, toWrite: next)
      connecting.withLock { _ in
        current.withLock { set in
          set = next
          readers.removeAll()
          opening?.release()
        }
      }
      removals.store(next.removals, ordering: .releasing)
      return connection
    }
    if isRemoved { for observer in removalObservers.withLock({ $0 }) { observer.notify() } }
    return isRemoved
  }

  /// Adds an observer of store removals. After each removal, the handler is called on the thread that removes the store.
  func observeRemovals(_ observer: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    let id = ObjectIdentifier(observer)
    removalObservers.withLock { $0.append(RemovalObserver(id: id, notify: handler)) }
  }

  func stopObservingRemovals(_ id: ObjectIdentifier) {
    removalObservers.withLock { $0.removeAll { $0.id == id } }
  }

  // MARK: Keys

  /// Reserves keys for new objects: unused keys that were given back to this coordinator, or new keys that no process
  /// has reserved before.
  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    guard stores.store(of: root) != nil else { throw StoreError.noStore(entity: root.name) }
    let spare = spareKeys.withLock { $0.count > root.index ? $0[root.index].popLast() : nil }
    if let spare { return spare.first..<spare.end }
    return try writer.use { connection in
      // Reads the stores again with the writer held, because the store may have been removed meanwhile.
      let stores = attached
      guard let store = stores.store(of: root) else { throw StoreError.noStore(entity: root.name) }
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
      // The counter may have been changed from outside: its key may be in use, or no keys may follow.
      let statement = try connection.statement(
        "INSERT INTO \(stores.schema(of: store)).\"_cdgen_keys\" AS k (\"entity\", \"next\") "
          + "VALUES (?1, 1 + ?2) ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = k.\"next\" + ?2 "
          + "WHERE k.\"next\" BETWEEN 1 AND ?3 - ?2 RETURNING \"next\", "
          + "\"next\" - ?2 > (SELECT coalesce(max(_pk), 0) FROM \(SQLText.quoted(root.table)))")
      defer { statement.reset() }
      statement.bind(root.name, at: 1)
      statement.bind(count, at: 2)
      statement.bind(KeyRanges.largestKey, at: 3)
      var next: Int64?
      while try statement.step() { if statement.int64(1) == 1 { next = statement.int64(0) } }
      guard let next else { throw StoreError.damagedKeys(store.url, entity: root.name) }
      return next - count..<next
    }
  }

  /// Takes back reserved keys that no object has used.
  func returnKeys(_ keys: Range<ObjectKey>, of root: Int) {
    guard !keys.isEmpty else { return }
    spareKeys.withLock { spare in
      while spare.count <= root { spare.append([]) }
      spare[root].append(SpareKeys(first: keys.lowerBound, end: keys.upperBound))
    }
  }
}
