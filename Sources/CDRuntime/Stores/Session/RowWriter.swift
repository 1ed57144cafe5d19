import CSQLite

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Receives the values of an object: binds them to the parameters of a SQLite statement, or collects them in a list.
@_spi(Generated) public final class RowWriter {
  private var statement: OpaquePointer?
  private var parameter: Int32 = 1
  private var captured: [AttributeValue] = []

  /// The first failure since the last start: a value that cannot be encoded or that is too large.
  package private(set) var failure: (any Error)?

  // SQLite does not copy texts and data in this buffer. They stay here until the row has been written.
  private let scratch = UnsafeMutableRawPointer.allocate(byteCount: RowWriter.scratchSize, alignment: 8)
  private var scratchUsed = 0
  /// Whether a text or data did not fit into the buffer since the last start, so that SQLite has copied it.
  private(set) var hasOverflowed = false
  // Well below the block size at which freeing makes some allocators compact all free memory.
  private static let scratchSize = 1 << 15

  /// Creates a writer, which collects values after ``startCapture()``.
  package init() {}

  deinit { scratch.deallocate() }

  /// Starts to bind the parameters of a statement. The caller must run the statement before it calls `start` again.
  func start(_ statement: OpaquePointer, at parameter: Int32 = 1) {
    self.statement = statement
    self.parameter = parameter
    scratchUsed = 0
    hasOverflowed = false
    failure = nil
  }

  /// The number of the next parameter.
  var nextParameter: Int32 { parameter }

  /// Starts to collect values.
  package func startCapture() {
    statement = nil
    isKeyCapture = false
    captured.removeAll(keepingCapacity: true)
    failure = nil
  }

  /// The values that were written since ``startCapture()``.
  package var values: [AttributeValue] { captured }

  /// Starts to capture one key, which is cheaper than a list of values.
  func startKeyCapture() {
    statement = nil
    isKeyCapture = true
    capturedKey = 0
  }

  /// The captured key, or 0 if there is none.
  private(set) var capturedKey: ObjectKey = 0
  private var isKeyCapture = false

  @inline(__always) private func next() -> Int32 {
    let current = parameter
    parameter &+= 1
    return current
  }

  /// Notes that a value could not be encoded, and writes nil.
  func fail(_ error: any Error) {
    if failure == nil { failure = error }
    null()
  }

  /// An object was asked for a value that it has not read.
  struct UnreadValue: Error {}

  /// The value of a codable attribute cannot be encoded.
  struct UnencodableValue: Error {
    /// The `CodableStorage` that has the value. It stays in the isolation of its object's context, which catches the error.
    nonisolated(unsafe) let storage: Any
  }

  private func null() {
    if let statement { sqlite3_bind_null(statement, next()) } else { captured.append(.null) }
  }

  /// A value is too large for a row of SQLite. The limit is 1,000,000,000 bytes, unless SQLite was built with a lower
  /// one.
  package struct TooLarge: Error {
    /// Creates the error.
    package init() {}
  }

  /// Notes a value that SQLite refused because of its size. SQLite also refuses a wrong parameter number, but no caller
  /// can cause that.
  @inline(__always) private func check(_ code: Int32) {
    if code != SQLITE_OK, failure == nil { failure = TooLarge() }
  }

  @_optimize(speed)
  private func bindText(_ statement: OpaquePointer, _ value: String) {
    var value = value
    let parameter = next()
    value.withUTF8 { bytes in
      // An empty buffer may have a nil address, which SQLite would bind as NULL.
      guard let source = bytes.baseAddress, !bytes.isEmpty else {
        sqlite3_bind_text(statement, parameter, "", 0, nil)
        return
      }
      let count = Int32(clamping: bytes.count)
      if bytes.count <= Self.scratchSize - scratchUsed {
        let target = scratch + scratchUsed
        target.copyMemory(from: source, byteCount: bytes.count)
        scratchUsed += bytes.count
        check(sqlite3_bind_text(statement, parameter, target.assumingMemoryBound(to: CChar.self), count, nil))
      } else {
        hasOverflowed = true
        source.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
          check(sqlite3_bind_text(statement, parameter, $0, count, SQLite.copied))
        }
      }
    }
  }

  @_optimize(speed)
  private func bindBlob(_ statement: OpaquePointer, _ bytes: UnsafeRawBufferPointer) {
    let parameter = next()
    guard let source = bytes.baseAddress, !bytes.isEmpty else {
      sqlite3_bind_zeroblob(statement, parameter, 0)
      return
    }
    let count = Int32(clamping: bytes.count)
    if bytes.count <= Self.scratchSize - scratchUsed {
      let target = scratch + scratchUsed
      target.copyMemory(from: source, byteCount: bytes.count)
      scratchUsed += bytes.count
      check(sqlite3_bind_blob(statement, parameter, target, count, nil))
    } else {
      hasOverflowed = true
      check(sqlite3_bind_blob(statement, parameter, source, count, SQLite.copied))
    }
  }
}

extension RowWriter {
  public func string(_ value: String) {
    if let statement { bindText(statement, value) } else { captured.append(.string(value)) }
  }
  public func bool(_ value: Bool) {
    if let statement {
      sqlite3_bind_int64(statement, next(), value ? 1 : 0)
    } else {
      captured.append(.bool(value))
    }
  }
  public func int16(_ value: Int16) { int64(Int64(value)) }
  public func int32(_ value: Int32) { int64(Int64(value)) }
  public func int64(_ value: Int64) {
    if let statement { sqlite3_bind_int64(statement, next(), value) } else { captured.append(.int(value)) }
  }
  public func float(_ value: Float) { double(Double(value)) }
  public func double(_ value: Double) {
    if let statement {
      sqlite3_bind_double(statement, next(), value)
    } else {
      captured.append(.double(value))
    }
  }
  public func decimal(_ value: Decimal) {
    if let statement {
      // A NaN has no text. Validation refuses it before a row is written.
      bindText(statement, DecimalText.encode(value) ?? "")
    } else {
      captured.append(.decimal(value))
    }
  }
  public func date(_ value: Date) {
    if let statement {
      sqlite3_bind_double(statement, next(), value.timeIntervalSinceReferenceDate)
    } else {
      captured.append(.date(value))
    }
  }
  public func data(_ value: Data) {
    if let statement {
      value.withUnsafeBytes { bindBlob(statement, $0) }
    } else {
      captured.append(.data(value))
    }
  }
  /// Writes a value that the object has read. Fails for any other one: the caller must read it first.
  public func largeData(_ value: LargeValue) {
    if value.isUnread { fail(UnreadValue()) } else { data(value.mandatoryData) }
  }
  public func optionalLargeData(_ value: LargeValue) {
    if value.isUnread { fail(UnreadValue()) } else { optionalData(value.data) }
  }
  public func uuid(_ value: UUID) {
    if let statement {
      withUnsafeBytes(of: value.uuid) { bindBlob(statement, $0) }
    } else {
      captured.append(.uuid(value))
    }
  }
  public func url(_ value: URL) {
    if let statement { bindText(statement, value.absoluteString) } else { captured.append(.url(value)) }
  }
  public func key(_ value: ObjectKey) {
    if statement == nil, isKeyCapture {
      capturedKey = value
      return
    }
    if value == 0 { null() } else { int64(value) }
  }
  public func composite(_ value: some CompositeAttribute) { value._encode(self) }
  public func optionalComposite<Value: CompositeAttribute>(_ value: Value?) {
    if let value { return value._encode(self) }
    for _ in 0..<Value._columnCount { null() }
  }
}

extension RowWriter {
  public func optionalString(_ value: String?) { if let value { string(value) } else { null() } }
  public func optionalBool(_ value: Bool?) { if let value { bool(value) } else { null() } }
  public func optionalInt16(_ value: Int16?) { if let value { int16(value) } else { null() } }
  public func optionalInt32(_ value: Int32?) { if let value { int32(value) } else { null() } }
  public func optionalInt64(_ value: Int64?) { if let value { int64(value) } else { null() } }
  public func optionalFloat(_ value: Float?) { if let value { float(value) } else { null() } }
  public func optionalDouble(_ value: Double?) { if let value { double(value) } else { null() } }
  public func optionalDecimal(_ value: Decimal?) { if let value { decimal(value) } else { null() } }
  public func optionalDate(_ value: Date?) { if let value { date(value) } else { null() } }
  public func optionalData(_ value: Data?) { if let value { data(value) } else { null() } }
  public func optionalUuid(_ value: UUID?) { if let value { uuid(value) } else { null() } }
  public func optionalUrl(_ value: URL?) { if let value { url(value) } else { null() } }

  /// Writes a value that is already an `AttributeValue`.
  @_optimize(speed)
  package func value(_ value: AttributeValue) {
    switch value {
    case .null: null()
    case .bool(let value): bool(value)
    case .int(let value): int64(value)
    case .double(let value): double(value)
    case .decimal(let value): decimal(value)
    case .string(let value): string(value)
    case .date(let value): date(value)
    case .data(let value): data(value)
    case .uuid(let value): uuid(value)
    case .url(let value): url(value)
    // A composite is written field by field, so this case does not occur.
    case .composite: null()
    }
  }
}
