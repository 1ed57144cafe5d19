import CDRuntime
import CPostgreSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An error of the server, or of the connection to it.
struct PostgresFailure: Error {
  /// The five characters of the SQL standard that name the error, such as `23505`.
  let code: String
  let message: String
  /// The index or constraint that refused a row; nil for other errors.
  var constraint: String?
  /// The number of the statement among those that were sent together.
  var statement = 0
  /// Whether the connection can no longer be used.
  var endsConnection = false
  /// Whether the wait has ended because the task was cancelled.
  var isCancellation = false

  init(code: String, message: String, endsConnection: Bool = false) {
    self.code = code
    self.message = message
    self.endsConnection = endsConnection
  }

  /// The error of a statement.
  init(_ result: OpaquePointer, statement: Int) {
    func field(_ name: Character) -> String? {
      guard let ascii = name.asciiValue, let text = PQresultErrorField(result, Int32(ascii)) else {
        return nil
      }
      return String(cString: text)
    }
    code = field("C") ?? Self.internalError
    var message = field("M") ?? String(cString: PQresultErrorMessage(result))
    if let detail = field("D") { message += " (\(detail))" }
    self.message = message
    constraint = field("n")
    self.statement = statement
  }

  /// The connection was lost.
  static func lost(_ message: String) -> PostgresFailure {
    PostgresFailure(code: connectionFailure, message: message, endsConnection: true)
  }

  /// A wait that the task's cancellation has ended.
  static func cancelled(endsConnection: Bool) -> PostgresFailure {
    var failure = PostgresFailure(
      code: queryCanceled, message: "the task was cancelled", endsConnection: endsConnection)
    failure.isCancellation = true
    return failure
  }

  /// The same error, as the reason why the connection has ended.
  var atEndOfConnection: PostgresFailure {
    // Without a message of the server, libpq has made the error.
    if code == Self.internalError { return .lost(message) }
    var failure = self
    failure.endsConnection = true
    return failure
  }

  // MARK: Codes

  static let connectionFailure = "08006"
  static let cannotConnect = "08001"
  static let unknownResult = "08007"
  static let queryCanceled = "57014"
  static let tooManyConnections = "53300"
  static let lockNotAvailable = "55P03"
  static let deadlock = "40P01"
  static let readOnlyServer = "25006"
  private static let internalError = "XX000"

  var isUniquenessViolation: Bool { code == "23505" }
  var isReferenceViolation: Bool { code == "23503" }

  /// Whether another program created the same object at the same time.
  var isConcurrentCreation: Bool {
    // A duplicate schema, table or object, or a duplicate key of the system's own tables.
    ["42P06", "42P07", "42710", "23505"].contains(code) || isTransient
  }

  /// Whether the server ended the transaction for a reason that is not in the transaction itself, so that the same
  /// statements may succeed in a new one.
  var isTransient: Bool {
    isOfOtherTransactions || isOfAvailability
  }

  /// Whether other transactions have interrupted this one: a failed serialization, or a deadlock.
  private var isOfOtherTransactions: Bool { ["40001", Self.deadlock].contains(code) }

  /// Whether the server shuts down, has crashed, does not accept connections or writes yet, or cannot be reached. All of
  /// this happens while another server takes over.
  var isOfAvailability: Bool {
    ["57P01", "57P02", "57P03", Self.readOnlyServer].contains(code)
      || code.hasPrefix("08") && code != Self.unknownResult
  }

  /// Whether the server has ended the statement because of its limit. A statement that is short by itself waited for a lock.
  var isOfStatementLimit: Bool { code == Self.queryCanceled && !isCancellation && !endsConnection }

  /// Whether the same statement can succeed later although nobody changes anything.
  private var isPassing: Bool {
    // A lack of memory, of connections, or of time.
    isTransient || code.hasPrefix("53") || code == Self.queryCanceled
  }

  /// The error that an operation throws: `CancellationError` if the task was cancelled, or else a ``StoreError``.
  func thrownError(of stores: [URL], during operation: String) -> any Error {
    isCancellation ? CancellationError() : error(of: stores, during: operation)
  }

  /// The error that a store throws.
  ///
  /// - Parameters:
  ///   - stores: The stores that errors name.
  ///   - operation: What the store was doing.
  func error(of stores: [URL], during operation: String) -> StoreError {
    let reason = "\(message), PostgreSQL's code \(code), while \(operation)"
    return switch code {
    // The lock of a row was not free in time.
    case Self.lockNotAvailable: .busy(stores)
    case "53100": .diskFull(stores)
    case "XX001", "XX002": .damaged(stores, reason: reason)
    // A server that only replays another's changes.
    case Self.readOnlyServer: .notWritable(stores, reason: reason)
    // The schema, a table or a column is gone.
    case "3F000", "42P01", "42703": stores.first.map { .replaced($0) } ?? engineError(stores, operation)
    default: engineError(stores, operation)
    }
  }

  private func engineError(_ stores: [URL], _ operation: String) -> StoreError {
    .engine(
      stores,
      StoreEngineError(
        engine: "PostgreSQL", code: code, message: message, operation: operation,
        // A calculation without a result, and a statement beyond the server's limits.
        isOfQuery: code.hasPrefix("22") || code.hasPrefix("54"),
        isOfConnection: isOfConnection, isPassing: isPassing))
  }

  /// No connection, a refused login, a server that does not accept connections, and one that has too many.
  private var isOfConnection: Bool {
    ["08", "28", "57P"].contains { code.hasPrefix($0) } || code == Self.tooManyConnections
  }
}
