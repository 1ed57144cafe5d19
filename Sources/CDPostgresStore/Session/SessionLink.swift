import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The connection of a session: one of its own during a snapshot or a write, and otherwise one of the pool for each
/// statement.
final class SessionLink {
  let tables: PostgresTables
  private let pool: ConnectionPool
  private let server: PostgresServer
  /// The URLs of the stores, which errors name.
  let urls: [URL]
  private let check: VersionMark
  private var connection: PostgresConnection?
  private var transaction: WriteTransaction?
  private var state = State.free
  /// The failure that has ended the snapshot's transaction; nil if none has. The snapshot's state is gone, and a new
  /// transaction would show another one. So all further reads of the snapshot fail.
  private var loss: PostgresFailure?
  /// Called before a read within a write, so that the read sees all rows that were written before.
  var willReadInWrite: (() throws -> Void)?

  /// Called with the text of each statement that reads, before it is sent. Tests count the statements.
  var observer: ((String) -> Void)?

  /// The statements that are sent together with the next one, and the code that gets their results.
  private var companions: (statements: [PostgresStatement], body: ([PostgresResult]) throws -> Void)?

  /// The code that gets the result of the statement that the server executes in the meantime.
  private var ahead: ((PostgresResult) -> Void)?

  private enum State {
    case free
    /// A snapshot is wanted. It has a transaction if there is a connection.
    case snapshot
    /// A write decides about the connection and its transaction.
    case write
  }

  init(
    _ pool: ConnectionPool, _ server: PostgresServer, tables: PostgresTables, urls: [URL], check: VersionMark
  ) {
    self.pool = pool
    self.server = server
    self.tables = tables
    self.urls = urls
    self.check = check
  }

  deinit { releaseConnection() }

  // MARK: Snapshots

  /// Whether reads are a part of a write.
  var isWriting: Bool { state == .write }

  /// Whether all reads see one state.
  var hasSnapshot: Bool { state == .snapshot }

  func beginSnapshot() { if state == .free { state = .snapshot } }

  func endSnapshot() {
    guard state == .snapshot else { return }
    state = .free
    loss = nil
    releaseConnection()
  }

  /// Ends a snapshot from which something has been read, before its user does.
  private func loseSnapshot(_ failure: PostgresFailure) {
    loss = failure
    releaseConnection()
  }

  /// Throws the failure that has ended the snapshot's transaction.
  private func checkSnapshot() throws {
    guard var loss else { return }
    // A task that was not cancelled may read the same snapshot, for example on the main actor.
    if !WaitingTask.isCancelled { loss.isCancellation = false }
    throw loss
  }

  /// Ends the transaction, which has written nothing, and gives the connection back.
  private func releaseConnection() {
    ahead = nil
    guard let connection else { return }
    self.connection = nil
    if connection.isOpen, connection.isInTransaction {
      // The transaction has read only, so that nobody needs to know when it has ended.
      do { try connection.send("ROLLBACK") } catch { connection.close() }
    }
    pool.give(connection)
  }

  // MARK: Writes

  /// Reads in a transaction that the caller controls.
  func beginWrite(_ transaction: WriteTransaction) {
    self.transaction = transaction
    state = .write
  }

  func endWrite() {
    transaction = nil
    willReadInWrite = nil
    state = .free
  }

  // MARK: Statements

  /// Runs statements together with the next one, before it, and calls a body with their results before that one's result
  /// is returned. If the body throws, the next statement does so again.
  func readAlong(_ statements: [PostgresStatement], _ body: @escaping ([PostgresResult]) throws -> Void) {
    companions = (statements, body)
  }

  /// Whether the server executes a statement in the meantime.
  var isReadingAhead: Bool { ahead != nil }

  /// Lets the server execute a statement while the program goes on, if there is a snapshot.
  ///
  /// - Parameter body: Gets the result before any other statement is sent, or never, if the snapshot ends before.
  func readAhead(_ statement: PostgresStatement, _ body: @escaping (PostgresResult) -> Void) {
    guard state == .snapshot, ahead == nil, let connection, connection.isInTransaction else { return }
    observer?(statement.text)
    do {
      try connection.start(statement)
      ahead = body
    } catch {
      // The connection is lost, as the next statement says.
    }
  }

  /// Waits for the statement that the server executes in the meantime.
  func finishAhead() throws {
    guard let body = ahead else { return }
    ahead = nil
    guard let connection else { return }
    do { body(try connection.finish()) } catch {
      loseSnapshot(error)
      throw error.thrownError(of: urls, during: "reading")
    }
  }

  /// Runs a statement.
  ///
  /// - Parameter mayFail: Whether the caller can handle a failure: because of a row, after which a transaction goes on,
  ///   or because the task is cancelled.
  func run(_ statement: PostgresStatement, mayFail: Bool) throws -> PostgresResult {
    let companions = state == .write ? nil : companions
    let others = companions?.statements ?? []
    try finishAhead()
    observer?(statement.text)
    do {
      let results: [PostgresResult]
      switch state {
      case .free: results = try runAlone(others + [statement], isCancellable: mayFail)
      case .snapshot:
        try checkSnapshot()
        results = try runInSnapshot(others, statement, mayFail: mayFail)
      case .write:
        try willReadInWrite?()
        guard let transaction else { throw PostgresFailure.lost("the write has ended") }
        results = try mayFail ? transaction.runInSavepoint([statement]) : transaction.run([statement])
      }
      guard results.count > others.count, let result = results.last else {
        throw PostgresFailure.lost("the server did not answer")
      }
      if let companions { try tell(companions.body, Array(results.prefix(others.count))) }
      return result
    } catch let failure as PostgresFailure {
      throw failure.thrownError(of: urls, during: "reading")
    }
  }

  private func tell(_ body: @escaping ([PostgresResult]) throws -> Void, _ results: [PostgresResult]) throws {
    let former = companions
    // The body may read.
    companions = nil
    do { try body(results) } catch {
      if companions == nil { companions = former }
      throw error
    }
  }

  /// - Returns: The results of the statements.
  private func runAlone(_ list: [PostgresStatement], isCancellable: Bool) throws -> [PostgresResult] {
    var checks = check.statements
    // Otherwise the connection has no limits of its own.
    if !server.keepsSessions {
      checks.insert(PostgresConnection.lockLimitWithoutBegin(seconds: server.statementLimit), at: 0)
    }
    let start = checks.count - check.statements.count
    return try withFreshConnection(isCancellable: isCancellable) { connection in
      do {
        let results = try connection.run(checks + list, isCancellable: isCancellable)
        return Array(results.dropFirst(checks.count))
      } catch let failure as PostgresFailure {
        if let refusal = check.refusal(failure, start: start) { throw refusal }
        throw failure
      }
    }
  }

  /// Runs a body with a connection of the pool. If the connection turns out to have been lost before, another one is
  /// used: the server or the network may have ended it while it was idle.
  private func withFreshConnection<R>(
    isCancellable: Bool, _ body: (PostgresConnection) throws -> R
  ) throws -> R {
    var attempts = 0
    while true {
      let connection = try pool.take(isCancellable: isCancellable)
      defer { pool.give(connection) }
      do {
        return try body(connection)
      } catch let failure as PostgresFailure
        where failure.endsConnection && failure.code != PostgresFailure.queryCanceled && attempts < 2
      {
        attempts += 1
        pool.closeIdle()
      }
    }
  }

  /// - Returns: The results of the other statements, and that of the last one.
  private func runInSnapshot(
    _ others: [PostgresStatement], _ statement: PostgresStatement, mayFail: Bool
  ) throws -> [PostgresResult] {
    if connection != nil { return try runInTransaction(others, statement, mayFail: mayFail) }
    var attempts = 0
    while true {
      let connection = try pool.take(isCancellable: mayFail)
      var list = [PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")]
      if !server.keepsSessions { list += PostgresConnection.limits(of: server, isLocal: true) }
      let first = list.count
      list += check.statements
      let companions = list.count..<list.count + others.count
      list += others
      if mayFail { list.append(Self.savepoint) }
      let start = list.count
      do {
        let results = try connection.run(list + [statement], isCancellable: mayFail)
        self.connection = connection
        return Array(results[companions]) + results.suffix(1)
      } catch let failure {
        // From now on the connection is given back, whatever happens.
        self.connection = connection
        if mayFail, connection.isOpen, !failure.endsConnection, failure.statement >= start,
          // The link may be lost in the meantime. The first error is the one that says why.
          (try? rollBackToSavepoint(connection)) != nil
        {
          // The snapshot stays.
          throw failure
        }
        releaseConnection()
        if let refusal = check.refusal(failure, start: first) { throw refusal }
        guard failure.endsConnection, failure.code != PostgresFailure.queryCanceled, attempts < 2
        else { throw failure }
        // Nothing has been read yet, so the snapshot can begin on another connection.
        attempts += 1
        pool.closeIdle()
      }
    }
  }

  private static let savepoint = PostgresStatement("SAVEPOINT _cdgen_read")

  private func rollBackToSavepoint(_ connection: PostgresConnection) throws {
    _ = try connection.run([
      PostgresStatement("ROLLBACK TO SAVEPOINT _cdgen_read"),
      PostgresStatement("RELEASE SAVEPOINT _cdgen_read"),
    ])
  }

  private func runInTransaction(
    _ others: [PostgresStatement], _ statement: PostgresStatement, mayFail: Bool
  ) throws -> [PostgresResult] {
    guard let connection else { throw PostgresFailure.lost("the connection is closed") }
    do {
      guard mayFail, connection.isInTransaction else { return try connection.run(others + [statement]) }
      let results = try connection.run(
        others + [Self.savepoint, statement, PostgresStatement("RELEASE SAVEPOINT _cdgen_read")],
        isCancellable: true)
      return Array(results.prefix(others.count)) + [results[others.count + 1]]
    } catch {
      if mayFail, connection.isOpen, connection.isInTransaction, !error.endsConnection,
        // An interrupted transaction may have lost its savepoints. The first error is the one that says why.
        (try? rollBackToSavepoint(connection)) != nil
      {
        throw error
      }
      if state == .snapshot { loseSnapshot(error) }
      throw error
    }
  }
}

/// The identities of a coordinator's stores, and the version of the data that each must have. Each transaction checks them.
///
/// If a store has another version or its tables are elsewhere, or if another store has taken its place, these statements
/// fail. The server then ignores the statements behind them, which may no longer fit the tables. The checks also lock the
/// metadata until the transaction ends, so that no migration ends before. A migration truncates the table of the metadata.
/// Transactions with an older snapshot see the empty table too, and fail.
struct VersionMark: Sendable {
  /// Checks the data hash, the identifier, the last migration and the schema of the tables of each store.
  let statements: [PostgresStatement]
  private let urls: [URL]

  /// - Parameter stores: The stores. The last migration is nil for a store that no migration has marked.
  init(_ stores: [(schemas: StoreSchemas, hash: String, storeID: UUID, lastMigration: String?, url: URL)]) {
    statements = stores.map { store in
      var expected: [(key: String, value: String)] = [
        ("dataHash", store.hash), ("storeUUID", store.storeID.uuidString),
      ]
      // A migration may keep the data hash: names are exchanged, or a rule computes a value of the same type.
      if let migration = store.lastMigration { expected.append((PostgresTables.lastMigrationKey, migration)) }
      if store.schemas.areTwo { expected.append((StoreSchemas.metadataKey, store.schemas.tables)) }
      return Self.statement(expected, store.schemas)
    }
    urls = stores.map(\.url)
  }

  /// If an entry is missing or has another value, or if one has come that is not expected, the server divides by zero.
  private static func statement(
    _ expected: [(key: String, value: String)], _ schemas: StoreSchemas
  ) -> PostgresStatement {
    let keys = ["dataHash", "storeUUID", PostgresTables.lastMigrationKey, StoreSchemas.metadataKey]
    let list = keys.map { SQLText.literal($0) }.joined(separator: ", ")
    let matches = expected.map { #""key" = \#(SQLText.literal($0.key)) AND "value" = ?"# }
    let condition = "count(*) = \(expected.count) AND bool_and(\(matches.joined(separator: " OR ")))"
    return PostgresStatement(
      #"SELECT 1 / CAST(\#(condition) AS integer) FROM \#(schemas.table("_cdgen_metadata")) "#
        + #"WHERE "key" IN (\#(list))"#,
      expected.map { PostgresParameter.value(.string($0.value)) })
  }

  /// The code of a division by zero.
  private static let mismatch = "22012"

  /// The error for a failed check; nil if the failure is another statement's.
  ///
  /// - Parameter start: The number of the first check among the statements that were sent together.
  func refusal(_ failure: PostgresFailure, start: Int) -> StoreError? {
    let index = failure.statement - start
    guard urls.indices.contains(index) else { return nil }
    // A migration was changing the tables for longer than a statement may take.
    if failure.isOfStatementLimit { return .busy(urls) }
    return failure.code == Self.mismatch ? .replaced(urls[index]) : nil
  }
}
