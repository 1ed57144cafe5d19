import CDRuntime
import Dispatch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The right to migrate a store, which one program has at a time. The others wait for its end.
///
/// It is an entry of the metadata with the owner, the server's process that runs the migration, and the time until
/// which it is valid. The owner renews it until the migration ends. If the owner is killed, the entry becomes invalid. A
/// migration of several transactions has no process of its own. Its lease is shorter, because only the time ends it.
///
/// The lease only saves work: the migration itself excludes others by a lock, and checks again whether it is needed.
final class MigrationLease: Sendable {
  /// How many seconds the lease is valid after it was taken or renewed.
  private let duration: Double

  private let server: PostgresServer
  private let table: String
  private let owner = UUID.random().uuidString
  /// The number of the server's process that runs the migration; nil if there is no such process.
  private let process: Int64?
  private let end = DispatchSemaphore(value: 0)

  /// - Parameter process: The number of the server's process that runs the migration; nil if there is no such process.
  init(_ server: PostgresServer, process: Int64?) {
    self.server = server
    duration = process == nil ? server.leaseDuration : 30
    self.process = process
    table = PostgresTables.systemTable("_cdgen_metadata", schema: server.schema)
  }

  private static let key = SQLText.literal(PostgresTables.leaseKey)
  private static let now = "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"

  private static let noProcess = "-"

  private var value: String {
    let process = process.map { "\($0)" } ?? Self.noProcess
    return "\(SQLText.literal("\(owner) \(process) ")) || CAST(\(Self.now) + \(duration) AS text)"
  }

  /// Takes the lease, unless another program has it.
  ///
  /// - Returns: Whether this program has it now. It is renewed until ``release()``.
  func take() throws(PostgresFailure) -> Bool {
    var attempt = 1
    while true {
      do { return try takeOnce() } catch {
        guard error.isTransient, attempt < Self.mostAttempts else { throw error }
        attempt += 1
        Waiting.pause(attempt)
      }
    }
  }

  private static let mostAttempts = 5

  private func takeOnce() throws(PostgresFailure) -> Bool {
    let text =
      #"INSERT INTO \#(table) AS m ("key", "value") VALUES (\#(Self.key), \#(value)) "#
      + #"ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value" WHERE \#(Self.isInvalid(server))"#
    do { if try change(text) != 1 { return false } } catch {
      // A migration that changes the tables locks the metadata.
      guard error.code == PostgresFailure.lockNotAvailable else { throw error }
      return false
    }
    DispatchQueue.global(qos: .utility).async { [self] in
      while end.wait(timeout: .now() + duration / 3) == .timedOut {
        // A lease that cannot be renewed ends by itself.
        _ = try? change(
          #"UPDATE \#(table) SET "value" = \#(value) WHERE "key" = \#(Self.key) AND \#(isOwn)"#)
      }
    }
    return true
  }

  /// Removes the lease of a program that was killed after the last migration, which nobody else would take over.
  static func removeInvalid(of server: PostgresServer, _ connection: PostgresConnection) {
    let table = PostgresTables.systemTable("_cdgen_metadata", schema: server.schema)
    let text = #"DELETE FROM \#(table) AS m WHERE "key" = \#(key) AND (\#(isInvalid(server)))"#
    // If that fails, the next opening removes it.
    _ = try? connection.run([PostgresStatement(text, isKept: false)])
  }

  /// The condition that the entry `m` is not valid any more.
  private static func isInvalid(_ server: PostgresServer) -> String {
    let isOver = #"CAST(split_part(m."value", ' ', 3) AS double precision) < \#(now)"#
    // With common features, nothing is known of processes.
    if server.features == .common { return isOver }
    return isOver + #" OR split_part(m."value", ' ', 2) <> '\#(noProcess)' AND NOT EXISTS (SELECT 1 "#
      + #"FROM pg_catalog.pg_stat_activity WHERE CAST(pid AS text) = split_part(m."value", ' ', 2))"#
  }

  /// Gives the lease back. The migration must have ended.
  func release() {
    end.signal()
    // After a migration, the entry is not there any more.
    _ = try? change(#"DELETE FROM \#(table) WHERE "key" = \#(Self.key) AND \#(isOwn)"#)
  }

  private var isOwn: String { #"split_part("value", ' ', 1) = \#(SQLText.literal(owner))"# }

  /// - Returns: The number of changed rows.
  private func change(_ text: String) throws(PostgresFailure) -> Int {
    let connection = try PostgresConnection.open(server, toWrite: true)
    defer { connection.close() }
    // Shorter than the limit of the statement, whose end would be another error.
    let limit = PostgresConnection.lockLimit(seconds: min(5, server.statementLimit / 2))
    let results = try connection.run(
      ["BEGIN", limit.text, text, "COMMIT"].map { PostgresStatement($0, isKept: false) })
    return results.count == 4 ? results[2].affectedCount : 0
  }
}
