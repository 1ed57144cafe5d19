import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The transaction of a write: its connection, and what is known of its end.
///
/// It takes a connection for the first statement. So a save that concerns only stores of other engines needs none.
final class WriteTransaction {
  private let pool: ConnectionPool
  private var taken: PostgresConnection?
  private let server: PostgresServer
  private let urls: [URL]
  private let check: VersionMark
  private let writeLocks: [PostgresStatement]
  /// How many seconds to wait for the lock of a row.
  private let lockTimeout: Double
  /// Whether the task's cancellation ends waits before the COMMIT.
  private let isCancellable: Bool
  /// Whether the transaction was wanted, and not ended yet.
  private(set) var isOpen = false
  /// Whether the server has begun the transaction.
  private var hasBegun = false
  /// When the server got its last statement.
  private var lastStatement = ContinuousClock.now
  /// The last error of the server or of the connection.
  private(set) var failure: PostgresFailure?
  /// Whether the server was asked to commit.
  private(set) var wasCommitSent = false

  /// - Parameters:
  ///   - writeLocks: The statements that wait for migrations, and keep them waiting; none if the stores are only read.
  ///   - isCancellable: Whether the task's cancellation ends waits before the COMMIT.
  init(
    _ pool: ConnectionPool, _ server: PostgresServer, urls: [URL], check: VersionMark,
    writeLocks: [PostgresStatement], lockTimeout: Double, isCancellable: Bool
  ) {
    self.pool = pool
    self.server = server
    self.urls = urls
    self.check = check
    self.writeLocks = writeLocks
    self.lockTimeout = lockTimeout
    self.isCancellable = isCancellable
  }

  /// The connection, which is taken from the pool for the first statement.
  ///
  /// - Throws: ``StoreError``.
  private func connection() throws -> PostgresConnection {
    if let taken { return taken }
    do {
      let connection = try pool.take(isCancellable: isCancellable)
      taken = connection
      return connection
    } catch {
      failure = error
      throw error.thrownError(of: urls, during: "connecting")
    }
  }

  /// Gives the connection back after the end of the transaction.
  func giveConnectionBack() {
    if let taken { pool.give(taken) }
    taken = nil
  }

  /// Whether the connection can be used.
  private var isConnected: Bool { taken?.isOpen == true }

  /// Begins a transaction. The server learns of it with the first statement.
  func begin() {
    isOpen = true
    hasBegun = false
  }

  /// The statements that begin the transaction. The checks of the version are the last ones.
  // READ COMMITTED, because the versions of the rows find all conflicts, and each row by itself.
  private var beginning: [PostgresStatement] {
    let access = writeLocks.isEmpty ? "READ ONLY" : "READ WRITE"
    var list = [PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED, " + access)]
    if !server.keepsSessions { list += PostgresConnection.limits(of: server, isLocal: true) }
    list.append(PostgresConnection.lockLimit(seconds: lockTimeout))
    return list + writeLocks + check.statements
  }

  /// Runs statements within the transaction.
  ///
  /// - Throws: ``PostgresFailure`` with the number of the statement in the list; or ``StoreError`` if the store has
  ///   another version.
  func run(_ list: [PostgresStatement]) throws -> [PostgresResult] {
    guard isOpen, !hasBegun else { return try runBegun(list) }
    defer { lastStatement = .now }
    let beginning = beginning
    let connection = try self.connection()
    do throws(PostgresFailure) {
      let results = try connection.run(beginning + list, isCancellable: isCancellable)
      hasBegun = true
      return Array(results[beginning.count...])
    } catch {
      var failure = error
      hasBegun = connection.isOpen && connection.isInTransaction
      let checks = beginning.count - check.statements.count
      if let refusal = check.refusal(failure, start: checks) { throw refusal }
      // The limit of a lock may be longer than that of a statement.
      if failure.isOfStatementLimit, checks - writeLocks.count..<checks ~= failure.statement {
        throw StoreError.busy(urls)
      }
      // A server that follows another one does not begin a transaction that writes. A pooler can lead to one.
      if failure.statement == 0, failure.code == Self.notSupported {
        failure = PostgresFailure(code: PostgresFailure.readOnlyServer, message: failure.message)
      }
      failure.statement -= beginning.count
      self.failure = failure
      if failure.isCancellation { throw CancellationError() }
      throw failure
    }
  }

  private static let notSupported = "0A000"

  /// - Parameter isCommit: Whether the statements end the transaction. Their result must be known.
  private func runBegun(_ list: [PostgresStatement], isCommit: Bool = false) throws -> [PostgresResult] {
    let connection = try self.connection()
    defer { lastStatement = .now }
    do throws(PostgresFailure) {
      return try connection.run(list, isCancellable: isCancellable && !isCommit)
    } catch {
      failure = error
      if error.isCancellation { throw CancellationError() }
      throw error
    }
  }

  /// Sends a statement if the server has got none for half of the time that a statement may take.
  ///
  /// The server ends a transaction that gets none for twice that time. So one and a half times that time is left until the
  /// next call.
  func keepAlive() throws {
    let limit = Duration.seconds(server.statementLimit / 2)
    guard isOpen, hasBegun, lastStatement.duration(to: .now) > limit else { return }
    _ = try run([PostgresStatement("SELECT 1")])
  }

  /// Checks the version of the stores again.
  ///
  /// - Throws: ``StoreError/replaced(_:)`` if a store has been migrated since the transaction began; ``PostgresFailure``.
  func checkVersion() throws {
    do { _ = try run(check.statements) } catch let failure as PostgresFailure {
      throw check.refusal(failure, start: 0) ?? failure
    }
  }

  /// Runs statements that may fail, within a savepoint. The transaction goes on if they do.
  ///
  /// - Throws: ``PostgresFailure`` or ``StoreError``.
  func runInSavepoint(_ list: [PostgresStatement]) throws -> [PostgresResult] {
    guard isOpen else { return try run(list) }
    do {
      let results = try run([Self.savepoint] + list + [Self.release])
      return Array(results[1..<list.count + 1])
    } catch let failure as PostgresFailure {
      if failure.statement > 0 { try returnToSavepoint(after: failure) }
      throw failure
    }
  }

  /// Continues the transaction after statements within the savepoint have failed, unless others have interrupted it: then
  /// the whole transaction can be tried again.
  private func returnToSavepoint(after failure: PostgresFailure) throws {
    guard isConnected, !failure.endsConnection else { return }
    do {
      _ = try run([PostgresStatement("ROLLBACK TO SAVEPOINT _cdgen_write"), Self.release])
    } catch let second as PostgresFailure where failure.isTransient && !second.endsConnection {
      // An interrupted transaction may have lost its savepoints.
    }
    self.failure = failure.isTransient ? failure : nil
  }

  private static let savepoint = PostgresStatement("SAVEPOINT _cdgen_write")
  private static let release = PostgresStatement("RELEASE SAVEPOINT _cdgen_write")

  // A part of a transaction, which can be taken back.

  /// Begins a part.
  ///
  /// - Parameter list: The first statements of the part.
  @discardableResult
  func beginPart(with list: [PostgresStatement] = []) throws -> [PostgresResult] {
    Array(try run([PostgresStatement("SAVEPOINT _cdgen_part")] + list).dropFirst())
  }

  /// Ends a part.
  ///
  /// - Parameter list: The last statements of the part.
  @discardableResult
  func endPart(with list: [PostgresStatement] = []) throws -> [PostgresResult] {
    try run(list + [PostgresStatement("RELEASE SAVEPOINT _cdgen_part")]).dropLast()
  }

  func takeBackPart() throws {
    _ = try run([PostgresStatement("ROLLBACK TO SAVEPOINT _cdgen_part")])
    try endPart()
    failure = nil
  }

  /// The statements that check the references of all rows of the transaction. The second one may fail.
  static let referenceCheck = [
    PostgresStatement("SAVEPOINT _cdgen_check"), PostgresStatement("SET CONSTRAINTS ALL IMMEDIATE"),
    PostgresStatement("RELEASE SAVEPOINT _cdgen_check"),
  ]

  /// Continues the transaction after a check of references has failed.
  func endReferenceCheck() throws {
    _ = try run([
      PostgresStatement("ROLLBACK TO SAVEPOINT _cdgen_check"),
      PostgresStatement("RELEASE SAVEPOINT _cdgen_check"),
    ])
    failure = nil
  }

  /// Copies rows into a table, within a savepoint. The transaction goes on if they are refused.
  ///
  /// - Throws: ``PostgresFailure`` or ``StoreError``.
  func copyInSavepoint(_ text: String, _ produce: (inout PostgresBytes) -> Bool) throws {
    _ = try run([Self.savepoint])
    do {
      try copy(text, produce)
      _ = try run([Self.release])
    } catch let failure as PostgresFailure {
      try returnToSavepoint(after: failure)
      throw failure
    }
  }

  /// Copies rows into a table.
  func copy(_ text: String, _ produce: (inout PostgresBytes) -> Bool) throws {
    if !hasBegun { _ = try run([]) }
    let connection = try self.connection()
    defer { lastStatement = .now }
    do throws(PostgresFailure) {
      try connection.copy(text, isCancellable: isCancellable, produce)
    } catch {
      failure = error
      if error.isCancellation { throw CancellationError() }
      throw error
    }
  }

  // MARK: The end

  /// Commits.
  ///
  /// - Throws: ``PostgresFailure``. If ``isResultUnknown``, nobody knows whether the transaction was committed.
  func commit() throws {
    guard hasBegun else {
      isOpen = false
      return
    }
    wasCommitSent = true
    taken?.hasWarned = false
    let results = try runBegun([PostgresStatement("COMMIT")], isCommit: true)
    isOpen = false
    hasBegun = false
    // A failed transaction is rolled back instead.
    guard results.last?.command == "COMMIT" else {
      let failure = PostgresFailure(code: "25P02", message: "the server rolled the transaction back")
      self.failure = failure
      throw failure
    }
    // The server warns if it has committed without the standby that it should have waited for, for example because its time
    // limit for statements was over. The transaction can then still be lost.
    if taken?.hasWarned == true {
      let failure = PostgresFailure.lost("the server has committed without its standby")
      self.failure = failure
      throw failure
    }
  }

  /// Whether the server was asked to commit, and something else failed than the COMMIT itself: the connection was lost,
  /// a pooler reported an error after the server's reply, or the server did not wait for its standby.
  var isResultUnknown: Bool {
    guard wasCommitSent, let failure else { return false }
    return failure.endsConnection || failure.statement > 0
  }

  /// Rolls the transaction back, unless it has ended.
  func rollback() {
    isOpen = false
    wasCommitSent = false
    guard hasBegun else { return }
    hasBegun = false
    guard let connection = taken, connection.isOpen, connection.isInTransaction else { return }
    // The caller's error is more important than one of the end. The connection ends the transaction in any case.
    do { _ = try connection.run([PostgresStatement("ROLLBACK")], timeout: 5) } catch { connection.close() }
  }
}
