import CDModel
@_spi(Generated) import CDRuntime
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator's stores on a server. All are schemas of one database, so that one statement can read, and one
/// transaction can write, objects in any of them.
final class PostgresEngine: StoreEngine {
  let model: ModelPlan
  /// Notifies a listener about saves.
  let watch = HistoryWatch()
  /// Marks the saves of this coordinator in the history.
  let origin = UUID.random().uuidString
  let files: [ExternalFiles?]
  private let server: PostgresServer
  private let pool: ConnectionPool
  private let lockTimeout: Double
  /// The tables that are in stores of other engines.
  private let others: Set<String>
  private let current: Mutex<Current>
  private let removals = Atomic<Int>(0)
  private let removalObservers = Mutex<[(id: ObjectIdentifier, notify: @Sendable () -> Void)]>([])
  /// Keys that contexts have given back, by the index of the root entity.
  private let spareKeys = Mutex<[Int: [Range<ObjectKey>]]>([:])
  /// The threads that are writing.
  private let writers = Mutex<Set<UInt>>([])

  /// The attached stores, with all that depends on them.
  private struct Current: Sendable {
    let stores: StoreSet
    let all: [PostgresStore]
    let tables: PostgresTables
    let sql: ModelSQL
    let check: VersionMark
    /// Locks that exclude migrations of the stores that can be written to; none if all are open for reading only. The others
    /// are only read, and the locks would need the right to write.
    let writeLocks: [PostgresStatement]

    /// Checks references; nil if all stores have foreign keys.
    let references: ReferenceChecks?

    init(
      _ all: [PostgresStore], removals: Int, model: ModelPlan, others: Set<String>, usesAllFeatures: Bool
    ) {
      self.all = all
      stores = StoreSet(all, removals: removals)
      tables = PostgresTables(
        model,
        schemas: Dictionary(all.map { ($0.index, $0.schemas) }, uniquingKeysWith: { first, _ in first }),
        others: others)
      sql = ModelSQL(model, tables.dialect)
      check = VersionMark(all.map { ($0.schemas, $0.dataHash, $0.storeID, $0.lastMigration, $0.url) })
      // With common features, the counter of saves excludes migrations: see `MigrationBeside`. But another program with all
      // features may migrate the store.
      let lock = usesAllFeatures ? PostgresTables.writeLock : PostgresTables.commonWriteLock
      writeLocks = all.filter { !$0.isReadOnly }.map { PostgresStatement(lock($0.schemas.own)) }
      references =
        usesAllFeatures && all.allSatisfy(\.hasForeignKeys)
        ? nil : ReferenceChecks(model, tables.dialect, stores)
    }
  }

  /// Opens stores, and creates those that do not exist.
  ///
  /// - Throws: ``StoreError``.
  init(_ settings: [StoreSettings], _ model: ModelPlan) throws {
    let servers = settings.compactMap(\.server)
    guard let server = servers.first, servers.count == settings.count,
      servers.allSatisfy({ $0.isSameDatabase(as: server) })
    else { throw StoreError.notSupported("stores of several databases in one coordinator") }
    for own in servers { try PostgresTransfer.checkSchema(of: own) }
    for (index, own) in servers.enumerated()
    where servers[..<index].contains(where: { $0.schema == own.schema }) {
      throw StoreError.openedTwice(own.url)
    }
    for index in settings.indices {
      try PostgresTransfer.checkDefaults(model, store: settings.storeIndex(index))
    }
    self.model = model
    self.server = server
    lockTimeout = settings.map(\.busyTimeout).max() ?? 0
    files = settings.map { _ in nil }
    let pool = ConnectionPool(server, toWrite: settings.contains { !$0.isReadOnly })
    others = model.tables(outside: Set(settings.indices.map(settings.storeIndex)))
    self.pool = pool
    let urls = servers.map(\.url)
    let stores = try Self.opening(pool, urls) { connection in
      try settings.indices.map { index in
        try PostgresOpening(
          connection: connection, server: servers[index], url: urls[index], model: model,
          storeIndex: settings.storeIndex(index), settings: settings[index],
          others: settings.configurations(otherThan: index)
        ).open()
      }
    }
    current = Mutex(
      Current(
        stores, removals: 0, model: model, others: others, usesAllFeatures: server.features == .postgresql))
  }

  deinit { pool.closeIdle() }

  /// Opens stores with a connection, and again with another one if the server ends the connection meanwhile. A store that
  /// the first attempt has created is found by the second one.
  private static func opening(
    _ pool: ConnectionPool, _ urls: [URL], _ open: (PostgresConnection) throws -> [PostgresStore]
  ) throws -> [PostgresStore] {
    var attempt = 0
    while true {
      attempt += 1
      let connection: PostgresConnection
      do { connection = try pool.take() } catch {
        // A server that was there before may be about to start again.
        guard attempt > 1, error.isTransient, attempt < mostAttempts else {
          throw error.error(of: urls, during: "connecting")
        }
        Waiting.pause(attempt)
        continue
      }
      defer { pool.give(connection) }
      do {
        try check(connection, urls)
        return try open(connection)
      } catch {
        guard !connection.isOpen, isTransient(error), attempt < mostAttempts else { throw error }
        pool.closeIdle()
        Waiting.pause(attempt)
      }
    }
  }

  /// The oldest server that stores are opened on. Older ones have no `gen_random_uuid()`.
  private static let oldestVersion: Int32 = 130_000

  private static func check(_ connection: PostgresConnection, _ urls: [URL]) throws {
    guard connection.serverVersion >= oldestVersion else {
      throw StoreError.notSupported("PostgreSQL before version \(oldestVersion / 10_000)")
    }
    guard connection.databaseEncoding == "UTF8" else {
      throw StoreError.notSupported(
        "a database in the encoding '\(connection.databaseEncoding)' instead of UTF8")
    }
  }

  // MARK: Stores

  var stores: StoreSet { current.withLock(\.stores) }

  var removalCount: Int { removals.load(ordering: .acquiring) }

  func remove(_ id: UUID) throws -> Bool {
    try checkIsNotWriting()
    let isRemoved = current.withLock { current in
      guard current.stores[id] != nil else { return false }
      current = Current(
        current.all.filter { $0.storeID != id }, removals: current.stores.removals + 1, model: model,
        others: others, usesAllFeatures: server.features == .postgresql)
      return true
    }
    guard isRemoved else { return false }
    removals.add(1, ordering: .releasing)
    for observer in removalObservers.withLock({ $0 }) { observer.notify() }
    return true
  }

  func observeRemovals(_ observer: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    let id = ObjectIdentifier(observer)
    removalObservers.withLock { $0.append((id, handler)) }
  }

  func stopObservingRemovals(_ id: ObjectIdentifier) {
    removalObservers.withLock { $0.removeAll { $0.id == id } }
  }

  // MARK: Sessions

  func takeSession() throws -> any StoreSession { session(current.withLock { $0 }) }

  private func session(_ current: Current) -> PostgresSession {
    PostgresSession(
      SessionLink(
        pool, server, tables: current.tables, urls: current.all.map(\.url), check: current.check),
      stores: current.stores, model: model, sql: current.sql)
  }

  func returnSession(_ session: any StoreSession) { session.endSnapshot() }

  // A read never waits for a write.
  func checkIsReadable() throws {}

  // MARK: Writing

  private func checkIsNotWriting() throws {
    let thread = ConnectionPool.thisThread
    if writers.withLock({ $0.contains(thread) }) { throw StoreError.nestedWrite(stores.all.map(\.url)) }
  }

  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R {
    try withWriteSession(isCancellable: !WaitingTask.isCancelled, body)
  }

  private func withWriteSession<R>(
    isCancellable: Bool, _ body: (PostgresWriteSession) throws -> R
  ) throws -> R {
    try checkIsNotWriting()
    let thread = ConnectionPool.thisThread
    writers.withLock { _ = $0.insert(thread) }
    defer { writers.withLock { _ = $0.remove(thread) } }
    let current = current.withLock { $0 }
    let transaction = WriteTransaction(
      pool, server, urls: current.all.map(\.url), check: current.check, writeLocks: current.writeLocks,
      lockTimeout: lockTimeout, isCancellable: isCancellable)
    defer { transaction.giveConnectionBack() }
    let session = PostgresWriteSession(
      self.session(current), transaction, current.references
    ) { [self] in wasCommitted($0) }
    defer { session.end() }
    return try body(session)
  }

  /// The most attempts to open stores that the server interrupts, or to write a save that other transactions interrupt.
  private static let mostAttempts = 10

  func save<R>(
    isRepeatable: () -> Bool, _ body: (any StoreWriteSession) throws -> R
  ) throws -> R {
    let deadline = Deadline(seconds: server.replayTimeout)
    // A task that was cancelled before can still save. If it is cancelled from now on, no attempt writes.
    let isCancellable = !WaitingTask.isCancelled
    // While no server accepts writes, attempts are not counted. They end soon if the addresses refuse connections.
    var counted = 0
    for attempt in 1... {
      var canReplay = true
      do {
        return try withWriteSession(isCancellable: isCancellable) { session in
          do { return try body(session) } catch {
            canReplay = error is StoreError && session.canReplay && isRepeatable()
            throw error
          }
        }
      } catch {
        if !Self.isOfAvailability(error) { counted += 1 }
        // Without a session, the server could not be reached.
        guard canReplay, Self.isTransient(error), counted < Self.mostAttempts, !deadline.isOver else {
          throw error
        }
        // The other connections of the pool have probably ended too.
        pool.closeIdle()
        Waiting.pause(attempt)
        if isCancellable, WaitingTask.isCancelled { throw CancellationError() }
      }
    }
    throw StoreError.busy(stores.all.map(\.url))
  }

  /// The failure of the server that an error stands for; nil if it stands for something else.
  private static func failure(_ error: any Error) -> PostgresFailure? {
    var error = error
    if case .store(let reason)? = (error as? MigrationError)?.reason { error = reason }
    switch error {
    case StoreError.engine(_, let reason): return PostgresFailure(code: reason.code, message: "")
    case StoreError.notWritable: return PostgresFailure(code: PostgresFailure.readOnlyServer, message: "")
    default: return nil
    }
  }

  private static func isTransient(_ error: any Error) -> Bool { failure(error)?.isTransient == true }

  private static func isOfAvailability(_ error: any Error) -> Bool {
    failure(error)?.isOfAvailability == true
  }

  /// Returns whether a save was committed, although the server did not confirm it; nil if the server cannot be asked in time,
  /// or does not know it.
  ///
  /// If the history lacks the save, an entry with the same identifier is inserted, and taken back. The server lets it wait
  /// for a transaction that has inserted the entry and has not ended yet. A migration keeps others from inserting entries,
  /// but not from reading them.
  ///
  /// Somebody may have deleted the save's entry since, but never the newest one. So without the entry, the save is known
  /// to be missing only if another one has its number, or if there is no later one.
  private func wasCommitted(_ save: PostgresWriteSession.Save) -> Bool? {
    guard let store = save.store as? PostgresStore else { return nil }
    let table = store.schemas.table("_cdgen_history")
    let deadline = Deadline(seconds: server.replayTimeout)
    var attempt = 0
    while true {
      attempt += 1
      do throws(PostgresFailure) {
        pool.closeIdle()
        let connection = try PostgresConnection.open(server, toWrite: true)
        defer { connection.close() }
        let rollback = PostgresStatement("ROLLBACK")
        let entry = PostgresStatement(
          #"SELECT 1 FROM \#(table) WHERE "save" = ?"#, [.value(.uuid(save.id))])
        // This keeps a lock of the history, for which a migration waits in the end. So its transaction ends before the
        // statements below wait for a migration.
        let present = try connection.run(Self.begin(deadline) + [entry, rollback])
        if present[2].rowCount == 0 {
          let insertion = PostgresStatement(
            #"INSERT INTO \#(table) ("id", "save", "time", "origin", "changes") VALUES (?, ?, 0, '', '') "#
              + "ON CONFLICT DO NOTHING",
            [.value(.int(Int64.random(in: .min..<0))), .value(.uuid(save.id))])
          let isUnknown = PostgresStatement(
            #"SELECT EXISTS (SELECT 1 FROM \#(table) WHERE "id" > ?) "#
              + #"AND NOT EXISTS (SELECT 1 FROM \#(table) WHERE "id" = ?)"#,
            [.value(.int(save.number)), .value(.int(save.number))])
          let results = try connection.run(Self.begin(deadline) + [insertion, isUnknown, rollback])
          if results[2].affectedCount != 0 { return results[3].bool(0, 0) ? nil : false }
        }
        if try isKept(entry, in: store, deadline, connection) { return true }
      } catch {}
      if deadline.isOver { return nil }
      Waiting.pause(attempt + 3)
    }
  }

  /// Begins a transaction that waits for no lock longer than until a deadline.
  private static func begin(_ deadline: Deadline) -> [PostgresStatement] {
    [
      PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"),
      PostgresConnection.lockLimit(seconds: deadline.seconds),
    ]
  }

  /// Returns whether a save that is in the history stays there, whichever server takes over.
  ///
  /// A server that must wait for a standby shows the transaction before the standby has it, if the wait was interrupted or
  /// the server has started again. The standby gets all transactions in their order. So this commits a change after it, the
  /// lock of a row, and waits. The row is one that nobody changes while a migration copies the rows of the store. A user who
  /// may only read the metadata locks the save's own row instead, and waits for such a migration.
  ///
  /// A pooler may have switched to another server since the save was found, so the same transaction looks for it again.
  ///
  /// - Parameter entry: The statement that finds the save.
  private func isKept(
    _ entry: PostgresStatement,
    in store: PostgresStore,
    _ deadline: Deadline,
    _ connection: PostgresConnection
  ) throws(PostgresFailure) -> Bool {
    func commits(_ lock: PostgresStatement) throws(PostgresFailure) -> Bool {
      connection.hasWarned = false
      let results = try connection.run(Self.begin(deadline) + [lock, entry, PostgresStatement("COMMIT")])
      return results[2].rowCount == 1 && results[3].rowCount == 1 && results[4].command == "COMMIT"
        && !connection.hasWarned
    }
    let table = store.schemas.table("_cdgen_metadata")
    do throws(PostgresFailure) {
      return try commits(
        PostgresStatement(#"SELECT 1 FROM \#(table) WHERE "key" = 'storeUUID' FOR KEY SHARE"#))
    } catch {
      guard error.code == UnusedTables.insufficientPrivilege else { throw error }
      _ = try connection.run("ROLLBACK")
      return try commits(PostgresStatement(entry.text + " FOR KEY SHARE", entry.parameters))
    }
  }

  // MARK: Keys

  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    let current = current.withLock { $0 }
    guard let store = current.stores.store(of: root) else { throw StoreError.noStore(entity: root.name) }
    if let spare = spareKeys.withLock({ $0[root.index]?.popLast() }) { return spare }
    try checkIsNotWriting()
    if store.isReadOnly { throw StoreError.readOnly(store.url) }
    let deadline = Deadline(seconds: server.replayTimeout)
    var attempt = 0
    var counted = 0
    while true {
      do {
        return try reserveOnServer(root, count, current, store)
      } catch let failure as PostgresFailure {
        attempt += 1
        if !failure.isOfAvailability { counted += 1 }
        // Keys that were reserved in vain are never used.
        guard failure.isTransient, counted < Self.mostAttempts, !deadline.isOver else {
          throw failure.error(of: [store.url], during: "reserving keys")
        }
        pool.closeIdle()
        Waiting.pause(attempt)
      }
    }
  }

  private func reserveOnServer(
    _ root: EntityPlan, _ count: Int64, _ current: Current, _ store: any AttachedStore
  ) throws -> Range<ObjectKey> {
    let counter = current.tables.systemTable("_cdgen_keys", of: store)
    let table = current.sql.dialect.table(root.table)
    // The counter may have been changed from outside: its key may be in use, or no keys may follow.
    let text =
      #"INSERT INTO \#(counter) AS k ("entity", "next") VALUES (?, 1 + ?) "#
      + #"ON CONFLICT ("entity") DO UPDATE SET "next" = k."next" + ? "#
      + #"WHERE k."next" BETWEEN 1 AND ? - ? RETURNING "next", "#
      + #""next" - ? > (SELECT coalesce(max(_pk), 0) FROM \#(table) AS t)"#
    let number = PostgresParameter.value(.int(count))
    let connection = try pool.take()
    defer { pool.give(connection) }
    let statement = PostgresStatement(
      text, [.value(.string(root.name)), number, number, .value(.int(KeyRanges.largestKey)), number, number])
    // A batch keeps the counter until it ends.
    let limit = PostgresConnection.lockLimitWithoutBegin(seconds: lockTimeout)
    let checks = current.check.statements
    let results: [PostgresResult]
    // They are sent together, and so they are one transaction.
    do { results = try connection.run([limit] + checks + [statement]) } catch {
      if let refusal = current.check.refusal(error, start: 1) { throw refusal }
      throw error
    }
    guard let result = results.last, result.rowCount == 1, result.bool(0, 1) else {
      throw StoreError.damagedKeys(store.url, entity: root.name)
    }
    let next = result.int(0, 0)
    return next - count..<next
  }

  func returnKeys(_ keys: Range<ObjectKey>, of root: Int) {
    guard !keys.isEmpty else { return }
    spareKeys.withLock { $0[root, default: []].append(keys) }
  }
}
