import CDRuntime
import CPostgreSQL
import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A statement with the values of its parameters.
struct PostgresStatement: Sendable {
  /// The text, with a `?` for each parameter: see `SQLText`.
  let text: String
  let parameters: [PostgresParameter]
  /// Whether the text is used again, so that the server should keep it.
  var isKept = true

  init(_ text: String, _ parameters: [PostgresParameter] = [], isKept: Bool = true) {
    self.text = text
    self.parameters = parameters
    self.isKept = isKept
  }
}

/// A connection to a server. One thread uses it at a time.
///
/// Every wait has a limit. A connection whose wait has ended without a reply cannot be used any more.
final class PostgresConnection {
  private var handle: OpaquePointer?
  /// How many seconds a reply may take.
  private let replyTimeout: Double
  /// After how many seconds a silent machine counts as lost.
  private let lossTimeout: Double
  /// Whether the server may keep statements for this connection.
  private let keepsStatements: Bool
  private var statements: [String: Kept] = [:]
  private var keptCount = 0
  private var buffer = PostgresBytes()
  /// The number of pipelines whose replies nobody has waited for: see ``send(_:)``.
  private var unreadReplies = 0
  /// The statement that was sent by ``start(_:)`` and whose reply nobody has read yet.
  private var started: (text: String, steps: [Step])?
  /// Whether the current wait ends when the task is cancelled.
  private var watchesTask = false
  /// When the server must have replied after the task was cancelled; nil if it was not.
  private var cancellation: Deadline?
  /// The thread that took the connection from the pool.
  var holder: UInt = 0
  /// Whether the server has sent a warning since this was set to false.
  var hasWarned = false
  /// Prints a message of the server, as libpq does by itself.
  private var printWarning: PQnoticeReceiver?

  /// A statement that was sent before.
  private struct Kept {
    let rendered: String
    /// The name of the statement on the server, by the types of its parameters; empty before the second use.
    var names: [[UInt32]: String] = [:]
    var uses = 0
  }

  /// - Parameters:
  ///   - handle: An open connection of libpq, which this object closes.
  init(
    _ handle: OpaquePointer, replyTimeout: Double, lossTimeout: Double, keepsStatements: Bool
  ) throws(PostgresFailure) {
    self.handle = handle
    self.replyTimeout = replyTimeout
    self.lossTimeout = lossTimeout
    self.keepsStatements = keepsStatements
    // libpq calls the function only while this object waits, and so while it exists.
    printWarning = PQsetNoticeReceiver(
      handle,
      { connection, notice in
        guard let connection, let notice else { return }
        Unmanaged<PostgresConnection>.fromOpaque(connection).takeUnretainedValue().receive(notice)
      }, Unmanaged.passUnretained(self).toOpaque())
    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { throw lose() }
  }

  deinit { if let handle { PQfinish(handle) } }

  private func receive(_ notice: OpaquePointer) {
    // The severity in English, whatever language the server's messages have. Other messages, such as that a table to
    // be dropped does not exist, are no news to anybody, and an app's output is its own.
    guard let severity = PQresultErrorField(notice, Int32(UInt8(ascii: "V"))),
      strcmp(severity, "WARNING") == 0
    else { return }
    hasWarned = true
    printWarning?(nil, notice)
  }

  // MARK: State

  /// Whether the connection can be used.
  var isOpen: Bool { handle.map { PQstatus($0) == CONNECTION_OK } ?? false }

  /// Whether a transaction is open, be it one that has failed.
  var isInTransaction: Bool {
    unreadReplies == 0 && handle.map { PQtransactionStatus($0) != PQTRANS_IDLE } ?? false
  }

  /// The version of the server, such as 150004.
  var serverVersion: Int32 { handle.map { PQserverVersion($0) } ?? 0 }

  /// The encoding of the database's texts.
  var databaseEncoding: String {
    handle.flatMap { PQparameterStatus($0, "server_encoding") }.map { String(cString: $0) } ?? ""
  }

  /// Closes the connection. The server rolls an open transaction back.
  func close() {
    if let handle { PQfinish(handle) }
    handle = nil
  }

  /// Whether the server has closed the idle connection, or has sent what only ends it, or whether its last transaction has
  /// not ended.
  func hasEnded() -> Bool {
    do {
      // What is left of an earlier transaction is on its way, or the connection is of no use.
      try readReplies(Deadline(seconds: 5))
    } catch { return true }
    guard let handle else { return true }
    // The end of the last transaction may have failed.
    if PQtransactionStatus(handle) != PQTRANS_IDLE { return true }
    // The server sends the reason before it closes the connection.
    for _ in 0..<4 {
      var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
      if poll(&descriptor, 1, 0) == 0 { return PQstatus(handle) != CONNECTION_OK }
      var byte: UInt8 = 0
      if recv(descriptor.fd, &byte, 1, Int32(MSG_PEEK)) == 0 || PQconsumeInput(handle) == 0 { return true }
      _ = PQisBusy(handle)
    }
    return PQstatus(handle) != CONNECTION_OK
  }

  /// Closes the connection after an error that ends it.
  private func lose(_ reason: String? = nil) -> PostgresFailure {
    let message = reason ?? handle.map { Self.message(of: $0) } ?? "the connection is closed"
    close()
    return .lost(message)
  }

  static func message(of handle: OpaquePointer) -> String {
    let text = String(cString: PQerrorMessage(handle))
    let lines = text.split(separator: "\n").map { $0.drop { $0 == " " || $0 == "\t" } }
    return lines.isEmpty ? "the connection was lost" : lines.joined(separator: "; ")
  }

  // MARK: Statements

  /// Runs a statement.
  @discardableResult
  func run(_ text: String, _ parameters: [PostgresParameter] = []) throws(PostgresFailure) -> PostgresResult {
    let results = try run([PostgresStatement(text, parameters)])
    guard let result = results.last else { throw lose("the server did not answer") }
    return result
  }

  /// Sends statements together and waits once, for all their results.
  ///
  /// - Parameters:
  ///   - timeout: How many seconds the replies may take; nil for the usual time.
  ///   - isCancellable: Whether the server ends the statements if the task is cancelled. The connection can then be used
  ///     again, unless the server takes too long.
  /// - Throws: The error of the first statement that failed. The server has ignored those after it.
  func run(
    _ list: [PostgresStatement], timeout: Double? = nil, isCancellable: Bool = false
  ) throws(PostgresFailure) -> [PostgresResult] {
    try watchingTask(isCancellable) { () throws(PostgresFailure) in try runToEnd(list, timeout) }
  }

  /// Runs a body whose waits end if the task is cancelled.
  private func watchingTask<R>(
    _ isCancellable: Bool, _ body: () throws(PostgresFailure) -> R
  ) throws(PostgresFailure) -> R {
    guard isCancellable, WaitingTask.exists else { return try body() }
    watchesTask = true
    defer {
      watchesTask = false
      cancellation = nil
    }
    do {
      let result = try body()
      guard cancellation != nil else { return result }
    } catch {
      guard cancellation != nil else { throw error }
      if isOpen, error.code == PostgresFailure.queryCanceled, !error.endsConnection {
        throw PostgresFailure.cancelled(endsConnection: false)
      }
    }
    // The request may still be on its way, and would end another statement.
    close()
    throw PostgresFailure.cancelled(endsConnection: true)
  }

  private func runToEnd(
    _ list: [PostgresStatement], _ timeout: Double?
  ) throws(PostgresFailure) -> [PostgresResult] {
    let report = StatementReport(list.map(\.text))
    defer { report?.send() }
    let deadline = Deadline(seconds: timeout ?? replyTimeout)
    let steps = try enqueue(list)
    try flush(deadline)
    try readReplies(deadline)
    return try receive(steps, count: list.count, deadline)
  }

  /// Adds statements to the pipeline that is sent next. If a statement was started, its result is dropped first.
  private func enqueue(_ list: [PostgresStatement]) throws(PostgresFailure) -> [Step] {
    guard let handle else { throw lose() }
    if started != nil {
      started = nil
      unreadReplies += 1
    }
    var steps: [Step] = []
    for (index, statement) in list.enumerated() {
      guard send(statement, index, handle, &steps) else { throw lose() }
    }
    guard PQpipelineSync(handle) == 1 else { throw lose() }
    return steps
  }

  /// Sends a statement that ends a transaction, without waiting for the reply. The next statement waits for both.
  func send(_ text: String) throws(PostgresFailure) {
    _ = try enqueue([PostgresStatement(text)])
    unreadReplies += 1
    try flush(Deadline(seconds: 5))
  }

  /// Sends a statement that the server executes while the program goes on. ``finish()`` returns its result. Any other
  /// statement before that drops the result.
  func start(_ statement: PostgresStatement) throws(PostgresFailure) {
    started = (statement.text, try enqueue([statement]))
    try flush(Deadline(seconds: replyTimeout))
  }

  /// Waits for the statement that was started.
  func finish() throws(PostgresFailure) -> PostgresResult {
    guard let statement = started else { throw .lost("no statement was started") }
    started = nil
    let report = StatementReport([statement.text])
    defer { report?.send() }
    let deadline = Deadline(seconds: replyTimeout)
    try readReplies(deadline)
    let results = try receive(statement.steps, count: 1, deadline)
    guard let result = results.last else { throw lose("the server did not answer") }
    return result
  }

  /// Reads the replies to earlier statements. Nobody needs these replies.
  private func readReplies(_ deadline: Deadline) throws(PostgresFailure) {
    var hasEnded = false
    while unreadReplies > 0 {
      guard let result = try nextResult(deadline) else {
        if hasEnded { throw lose("the server's reply cannot be understood") }
        hasEnded = true
        continue
      }
      hasEnded = false
      let status = PQresultStatus(result)
      PQclear(result)
      if status == PGRES_PIPELINE_SYNC { unreadReplies -= 1 }
      if !isOpen { throw lose() }
    }
  }

  /// What the next result is for.
  private enum Step {
    /// The preparation of a text.
    case preparation(text: String, types: [UInt32], name: String)
    case statement(Int)
  }

  private func send(
    _ statement: PostgresStatement, _ index: Int, _ handle: OpaquePointer, _ steps: inout [Step]
  ) -> Bool {
    let types = statement.parameters.map(\.type)
    let isKept = keepsStatements && statement.isKept
    var kept =
      statements[statement.text] ?? Kept(rendered: PostgresDialect.rendered(statement.text))
    kept.uses += 1
    var name = kept.names[types]
    if isKept, name == nil, kept.uses > 1, keptCount < Self.mostKept {
      let new = "cdgen\(keptCount)"
      keptCount += 1
      let count = Int32(clamping: types.count)
      guard PQsendPrepare(handle, new, kept.rendered, count, types) == 1 else { return false }
      steps.append(.preparation(text: statement.text, types: types, name: new))
      kept.names[types] = new
      name = new
    }
    if statement.isKept {
      // Texts with lists of literals are all different.
      if statements.count > Self.mostTexts { statements = statements.filter { !$0.value.names.isEmpty } }
      statements[statement.text] = kept
    }
    steps.append(.statement(index))
    return withParameters(statement.parameters) { values, lengths, formats in
      let count = Int32(clamping: types.count)
      if let name { return PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) == 1 }
      return PQsendQueryParams(handle, kept.rendered, count, types, values, lengths, formats, 1) == 1
    }
  }

  /// The most statements that the server keeps for a connection.
  private static let mostKept = 500
  private static let mostTexts = 2000

  private func withParameters<R>(
    _ parameters: [PostgresParameter],
    _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> R
  ) -> R {
    buffer.removeAll()
    var offsets: [Int?] = []
    var lengths: [Int32] = []
    for parameter in parameters {
      let start = buffer.count
      let hasValue = buffer.append(parameter)
      offsets.append(hasValue ? start : nil)
      lengths.append(Int32(clamping: buffer.count - start))
    }
    // An empty value needs an address too.
    buffer.append(UInt8(0))
    return buffer.bytes.withUnsafeBufferPointer { bytes in
      let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
      let values = offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }
      return body(values, lengths, [Int32](repeating: 1, count: parameters.count))
    }
  }

  private func receive(
    _ steps: [Step], count: Int, _ deadline: Deadline
  ) throws(PostgresFailure) -> [PostgresResult] {
    var results: [PostgresResult] = []
    results.reserveCapacity(count)
    var failure: PostgresFailure?
    var next = 0
    var hasEnded = false
    while true {
      guard let result = try nextResult(deadline) else {
        // Each statement's results end with nil. Two of them in a row are not an answer.
        if hasEnded { throw lose("the server's reply cannot be understood") }
        hasEnded = true
        continue
      }
      hasEnded = false
      switch PQresultStatus(result) {
      case PGRES_PIPELINE_SYNC:
        PQclear(result)
        if let failure {
          if !isOpen { close() }
          throw failure
        }
        return results
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
        if next < steps.count, case .preparation = steps[next] {
          PQclear(result)
        } else {
          results.append(PostgresResult(result))
        }
      case PGRES_PIPELINE_ABORTED:
        PQclear(result)
        if next < steps.count { forget(steps[next]) }
      default:
        var index = count
        if next < steps.count {
          forget(steps[next])
          for step in steps[next...] {
            if case .statement(let number) = step {
              index = number
              break
            }
          }
        }
        if failure == nil { failure = PostgresFailure(result, statement: index) }
        PQclear(result)
        if !isOpen {
          // The server ended the connection with this message.
          close()
          throw failure?.atEndOfConnection ?? .lost("the connection was lost")
        }
      }
      next += 1
    }
  }

  private func forget(_ step: Step) {
    guard case .preparation(let text, let types, _) = step else { return }
    statements[text]?.names[types] = nil
  }

  // MARK: Waiting

  private func nextResult(_ deadline: Deadline) throws(PostgresFailure) -> OpaquePointer? {
    guard let handle else { throw lose() }
    while PQisBusy(handle) == 1 {
      try wait(for: Int16(POLLIN), deadline)
      if PQconsumeInput(handle) == 0 { throw lost(handle) }
    }
    return PQgetResult(handle)
  }

  /// The error of a connection that the server has closed. The server may have sent the reason before.
  private func lost(_ handle: OpaquePointer) -> PostgresFailure {
    while PQisBusy(handle) == 0, let result = PQgetResult(handle) {
      defer { PQclear(result) }
      if PQresultStatus(result) == PGRES_FATAL_ERROR {
        var failure = PostgresFailure(result, statement: 0)
        guard failure.code != "XX000" else { continue }
        failure.endsConnection = true
        close()
        return failure
      }
      if PQresultStatus(result) == PGRES_PIPELINE_SYNC { break }
    }
    return lose()
  }

  private func flush(_ deadline: Deadline) throws(PostgresFailure) {
    guard let handle else { throw lose() }
    while true {
      switch PQflush(handle) {
      case 0: return
      case 1:
        let events = try wait(for: Int16(POLLIN | POLLOUT), deadline)
        // The server may wait until its replies are read.
        if events & Int16(POLLIN) != 0, PQconsumeInput(handle) == 0 { throw lost(handle) }
      default: throw lost(handle)
      }
    }
  }

  @discardableResult
  private func wait(for events: Int16, _ deadline: Deadline) throws(PostgresFailure) -> Int16 {
    guard let handle else { throw lose() }
    var descriptor = pollfd(fd: PQsocket(handle), events: events, revents: 0)
    let loss = Deadline(seconds: lossTimeout)
    while true {
      let limit = cancellation ?? deadline
      let interval =
        watchesTask && cancellation == nil
        ? WaitingTask.interval : loss.isOver ? Self.lossInterval : loss.milliseconds
      let count = poll(&descriptor, 1, min(limit.milliseconds, interval))
      if count > 0 { return descriptor.revents }
      if count < 0, errno != EINTR { throw lose("the connection cannot be waited for") }
      if watchesTask, cancellation == nil, WaitingTask.isCancelled {
        cancel()
        cancellation = Deadline(seconds: Self.cancellationTime)
        continue
      }
      if loss.isOver, Self.isSilent(descriptor.fd, seconds: lossTimeout) {
        throw lose("the server's machine does not answer")
      }
      if limit.isOver {
        cancel()
        close()
        throw PostgresFailure(
          code: PostgresFailure.queryCanceled, message: "the server did not reply in time",
          endsConnection: true)
      }
    }
  }

  /// The time between two looks whether the server's machine answers, in milliseconds.
  private static let lossInterval: Int32 = 1000

  /// Whether the other system has acknowledged nothing for a while, although something was sent. If nothing was sent, the
  /// system itself asks the other one, and closes the connection.
  private static func isSilent(_ socket: Int32, seconds: Double) -> Bool {
    #if canImport(Glibc)
      var info = tcp_info()
      var size = socklen_t(MemoryLayout<tcp_info>.size)
      guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return false }
      return info.tcpi_unacked > 0 && Double(info.tcpi_last_ack_recv) >= seconds * 1000
    #else
      return false
    #endif
  }

  /// How many seconds the server has to end a statement after the task was cancelled.
  private static let cancellationTime: Double = 1

  /// Asks the server to end the running statement, on a thread of its own: the request itself may have to wait.
  private func cancel() {
    guard let handle, let request = PQgetCancel(handle) else { return }
    CancelRequest(request).send()
  }

  // MARK: Copying

  /// Writes rows by COPY in the binary form.
  ///
  /// - Parameters:
  ///   - text: The COPY statement.
  ///   - isCancellable: Whether the server ends the statement if the task is cancelled.
  ///   - produce: Appends the fields of the next rows to a buffer; returns false after the last one.
  func copy(
    _ text: String, isCancellable: Bool = false, _ produce: (inout PostgresBytes) -> Bool
  ) throws(PostgresFailure) {
    try watchingTask(isCancellable) { () throws(PostgresFailure) in try copyToEnd(text, produce) }
  }

  private func copyToEnd(
    _ text: String, _ produce: (inout PostgresBytes) -> Bool
  ) throws(PostgresFailure) {
    let report = StatementReport([text])
    defer { report?.send() }
    var failure = try beginCopy(text)
    if failure == nil {
      var chunk = PostgresBytes()
      chunk.appendCopyHeader()
      while produce(&chunk) {
        try put(chunk)
        chunk.removeAll()
      }
      try put(chunk)
    }
    try endCopy(&failure)
  }

  /// Writes rows by COPY in the binary form.
  ///
  /// - Parameters:
  ///   - text: The COPY statement.
  ///   - produce: Gives the header and the rows to a function, in parts of any size.
  /// - Throws: ``PostgresFailure``, and the errors of `produce`. The statement has failed then.
  func copy(_ text: String, from produce: ((PostgresBytes) throws -> Void) throws -> Void) throws {
    let report = StatementReport([text])
    defer { report?.send() }
    var failure = try beginCopy(text)
    if failure == nil {
      do { try produce { try put($0) } } catch {
        if isOpen { try? endCopy(&failure, reason: "the rows cannot be read") }
        throw error
      }
    }
    try endCopy(&failure)
  }

  /// - Returns: The error of the statement, after which no rows can be sent.
  private func beginCopy(_ text: String) throws(PostgresFailure) -> PostgresFailure? {
    try readReplies(Deadline(seconds: replyTimeout))
    guard let handle, PQexitPipelineMode(handle) == 1 else { throw lose() }
    guard PQsendQuery(handle, PostgresDialect.rendered(text)) == 1 else { throw lose() }
    let deadline = Deadline(seconds: replyTimeout)
    try flush(deadline)
    guard let result = try nextResult(deadline) else { return nil }
    defer { PQclear(result) }
    return PQresultStatus(result) == PGRES_COPY_IN ? nil : PostgresFailure(result, statement: 0)
  }

  /// - Parameters:
  ///   - failure: The error that the statement has failed with before.
  ///   - reason: The reason why the rows are not complete; nil if they are.
  private func endCopy(
    _ failure: inout PostgresFailure?, reason: String? = nil
  ) throws(PostgresFailure) {
    let deadline = Deadline(seconds: replyTimeout)
    if failure == nil {
      var end = PostgresBytes()
      end.append(Int16(-1))
      if reason == nil { try put(end) }
      guard let handle else { throw lose() }
      while PQputCopyEnd(handle, reason) == 0 { try flush(deadline) }
      try flush(deadline)
    }
    while let result = try nextResult(deadline) {
      if PQresultStatus(result) == PGRES_FATAL_ERROR, failure == nil {
        failure = PostgresFailure(result, statement: 0)
      }
      PQclear(result)
    }
    guard let handle, isOpen, PQenterPipelineMode(handle) == 1 else {
      failure?.endsConnection = true
      close()
      throw failure ?? .lost("the connection was lost")
    }
    if let failure { throw failure }
  }

  private func put(_ part: PostgresBytes) throws(PostgresFailure) {
    guard let handle else { throw lose() }
    // Each part has the whole time, because a copy may be of any length.
    let deadline = Deadline(seconds: replyTimeout)
    let bytes = part.bytes
    var start = 0
    while start < bytes.count {
      let count = min(1 << 20, bytes.count - start)
      let sent = bytes[start..<start + count].withUnsafeBytes {
        PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(count))
      }
      if sent < 0 { throw lost(handle) }
      if sent == 1 { start += count }
      try flush(deadline)
    }
  }
}

/// A request to end a statement, on its way to another thread.
///
/// Unchecked: nothing else uses the request, and libpq allows any thread to send it.
private final class CancelRequest: @unchecked Sendable {
  private let request: OpaquePointer

  init(_ request: OpaquePointer) { self.request = request }

  deinit { PQfreeCancel(request) }

  func send() {
    DispatchQueue.global().async {
      var message = [CChar](repeating: 0, count: 256)
      // If the server cannot be reached, its own time limit ends the statement.
      _ = PQcancel(self.request, &message, Int32(message.count))
    }
  }
}
