import CSQLite

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The row that an object reads its values from: a row of a SQLite statement, which the statement returns or passes to a
/// function, or a list of values.
///
/// `EntityGraph.columns(of:)` defines the column numbers. Reading never fails: if a value has the wrong type, the
/// reader returns the empty value of the expected type and notes the column in the report for the context.
@_spi(Generated) public struct RowReader {
  /// The statement whose current row is read; nil if the values are elsewhere.
  let statement: OpaquePointer?
  /// The row that SQLite passes to a function; nil if the values are elsewhere.
  private let passed: UnsafePointer<RowFeed.Row>?
  /// The statement's column for each column of the entity, if the statement selects the columns of several entities.
  let map: [Int32]?
  let values: ValueRow?
  let report: RowReport?

  // `sqlite3_column_value` finds a column once for all that is asked of its value. SQLite does not lock such a value, and
  // no other thread uses the connection at the same time.

  /// The first columns of a statement are `_pk` and `_version`.
  private static let firstColumn: Int32 = 2

  /// A reader of the rows of a statement, or of those that SQLite passes to a function. The other one is nil.
  init(
    statement: OpaquePointer?, passed: UnsafePointer<RowFeed.Row>? = nil, map: [Int32]?, report: RowReport?
  ) {
    self.statement = statement
    self.passed = passed
    self.map = map
    values = nil
    self.report = report
  }

  /// A reader of a list of values.
  package init(values: ValueRow, report: RowReport? = nil) {
    statement = nil
    passed = nil
    map = nil
    self.values = values
    self.report = report
  }

  /// The values of transient attributes by slot. Nil for a row of a table.
  public var transients: RowReader? {
    values?.transients.map { RowReader(values: $0, report: report) }
  }

  @inline(__always) private func index(_ column: Int) -> Int32 {
    guard let map else { return Int32(truncatingIfNeeded: column) &+ Self.firstColumn }
    // A column number that the statement does not have reads as NULL.
    return column < map.count ? map[column] : Int32.max
  }

  private var isSQLite: Bool { statement != nil || passed != nil }

  /// SQLite's value of a column; nil if the values are not SQLite's, or if the row does not have the column.
  @inline(__always) private func cell(_ column: Int) -> OpaquePointer? {
    if let statement { return sqlite3_column_value(statement, index(column)) }
    return passedCell(column)
  }

  /// The value of a column that SQLite passes to a function.
  @inline(__always) private func passedCell(_ column: Int) -> OpaquePointer? {
    if let passed { passed.pointee[index(column)] } else { nil }
  }

  package func isNull(_ column: Int) -> Bool {
    if let statement { return sqlite3_column_type(statement, index(column)) == SQLITE_NULL }
    if let cell = passedCell(column) { return sqlite3_value_type(cell) == SQLITE_NULL }
    return values?.isNull(column) ?? true
  }

  /// Whether the row leaves the value of a column out, so that the object must read it by itself.
  package func isUnread(_ column: Int) -> Bool { values?.isUnread(column) ?? false }

  private func wrongType(_ column: Int) {
    report?.noteWrongType(column)
  }
}

/// The values of an engine's current row. The engine makes a value when an object reads it.
package protocol ValueSource: AnyObject {
  /// Returns the value of a column; null for a column that the row does not have.
  func value(_ column: Int) -> AttributeValue
  /// Whether a column has no value.
  func isNull(_ column: Int) -> Bool
  /// Whether the row leaves the value of a column out: see ``LargeValue``. Then ``value(_:)`` returns a value of
  /// another type.
  func isUnread(_ column: Int) -> Bool
}

extension ValueSource {
  package func isUnread(_ column: Int) -> Bool { false }
}

/// A list of values that is read as a row.
package final class ValueRow {
  package var values: [AttributeValue]
  /// Where the values are, if they are not in `values`.
  private let source: (any ValueSource)?
  /// The fields of composites that have a single number. These are the transient composites, which are numbered by
  /// slot. Nil if there are none.
  let composites: [Int: [AttributeValue]]?
  let transients: ValueRow?
  /// The columns whose values the row leaves out, if the values are in `values`.
  package var unread: [Int]
  /// The storages of codable values that cannot be encoded, by column.
  let unencodable: [Int: Any]

  init(
    _ values: [AttributeValue], composites: [Int: [AttributeValue]]? = nil, transients: ValueRow? = nil,
    unread: [Int] = [], unencodable: [Int: Any] = [:]
  ) {
    self.values = values
    source = nil
    self.composites = composites
    self.transients = transients
    self.unread = unread
    self.unencodable = unencodable
  }

  /// Creates a row of values that an engine has.
  package init(_ source: any ValueSource) {
    values = []
    self.source = source
    composites = nil
    transients = nil
    unread = []
    unencodable = [:]
  }

  package subscript(column: Int) -> AttributeValue {
    if let source { return source.value(column) }
    return column < values.count ? values[column] : .null
  }

  func isNull(_ column: Int) -> Bool {
    if let source { return source.isNull(column) }
    return self[column] == .null && composites?[column] == nil
  }

  func isUnread(_ column: Int) -> Bool { source?.isUnread(column) ?? unread.contains(column) }
}

/// The problems found in a row, by column.
package final class RowReport {
  /// Columns with values of a wrong type.
  package private(set) var columns: [Int] = []
  /// Columns whose files could not be read.
  package private(set) var unreadable: [(column: Int, reason: String)] = []
  /// Whether the report has no problems. The context asks for this after every row. A stored property is cheaper than
  /// to look at both lists.
  package private(set) var isEmpty = true
  /// The files of large values, by the index of the store; nil for a store that has no such files.
  private let files: [ExternalFiles?]

  /// Creates a report for rows of some stores.
  package init(files: [ExternalFiles?]) { self.files = files }

  /// Notes a value of a wrong type.
  package func noteWrongType(_ column: Int) {
    columns.append(column)
    isEmpty = false
  }

  /// Notes that a file of a large value could not be read.
  package func noteUnreadableFile(_ column: Int, _ reason: String) {
    unreadable.append((column, reason))
    isEmpty = false
  }

  package func removeAll() {
    columns.removeAll()
    unreadable.removeAll()
    isEmpty = true
  }

  /// Returns the contents of a file of a large value. Names are unique across all stores, so the search covers every
  /// store's folder. Returns nil if no folder has the file.
  package func read(_ name: String) throws -> Data? {
    var failure: (any Error)?
    for files in files {
      guard let files else { continue }
      do { return try files.read(name) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
    return nil
  }
}

extension RowReader {
  public func string(_ column: Int) -> String {
    if let value = cell(column) {
      guard let bytes = sqlite3_value_text(value) else { return "" }
      return text(bytes, Int(sqlite3_value_bytes(value)), column)
    }
    if case .string(let text)? = values?[column] { return text }
    wrongType(column)
    return ""
  }

  /// Returns valid UTF-8 as it is. Otherwise repairs the text and reports the column.
  @inline(__always)
  private func text(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ column: Int) -> String {
    // Only this initialiser validates without generic code, which would make a fetch a third slower. SQLite ends a text
    // with a zero byte. If the text contains a zero byte itself, the lengths differ.
    let text = bytes.withMemoryRebound(to: CChar.self, capacity: count &+ 1) {
      String(validatingCString: $0)
    }
    if let text, text.utf8.count == count { return text }
    return unusualText(UnsafeBufferPointer(start: bytes, count: count), column)
  }

  private func unusualText(_ bytes: UnsafeBufferPointer<UInt8>, _ column: Int) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    wrongType(column)
    return String(decoding: bytes, as: UTF8.self)
  }

  public func bool(_ column: Int) -> Bool {
    if let statement { return sqlite3_column_int64(statement, index(column)) != 0 }
    if let cell = passedCell(column) { return sqlite3_value_int64(cell) != 0 }
    if case .bool(let value)? = values?[column] { return value }
    wrongType(column)
    return false
  }

  public func int64(_ column: Int) -> Int64 {
    if let statement { return sqlite3_column_int64(statement, index(column)) }
    if let cell = passedCell(column) { return sqlite3_value_int64(cell) }
    if case .int(let value)? = values?[column] { return value }
    wrongType(column)
    return 0
  }

  public func int16(_ column: Int) -> Int16 { narrow(column) }
  public func int32(_ column: Int) -> Int32 { narrow(column) }

  private func narrow<T: FixedWidthInteger>(_ column: Int) -> T {
    if let value = T(exactly: int64(column)) { return value }
    wrongType(column)
    return 0
  }

  public func double(_ column: Int) -> Double {
    if let statement { return sqlite3_column_double(statement, index(column)) }
    if let cell = passedCell(column) { return sqlite3_value_double(cell) }
    if case .double(let value)? = values?[column] { return value }
    wrongType(column)
    return 0
  }

  public func float(_ column: Int) -> Float { Float(floatNumber(column)) }

  /// The number in a column of a `Float` attribute. A number that is finite but beyond the range of `Float` has the wrong
  /// type.
  private func floatNumber(_ column: Int) -> Double {
    let number = double(column)
    guard isSQLite, number.isFinite, !Float(number).isFinite else { return number }
    wrongType(column)
    return 0
  }

  public func decimal(_ column: Int) -> Decimal {
    if isSQLite {
      if let value = DecimalText.decode(string(column)) { return value }
    } else if case .decimal(let value)? = values?[column] {
      return value
    }
    wrongType(column)
    return EmptyValue.decimal
  }

  public func date(_ column: Int) -> Date {
    if let cell = cell(column) {
      let seconds = sqlite3_value_double(cell)
      if seconds.isFinite { return Date(timeIntervalSinceReferenceDate: seconds) }
    } else if case .date(let value)? = values?[column] {
      return value
    }
    wrongType(column)
    return EmptyValue.date
  }

  public func data(_ column: Int) -> Data {
    if let value = cell(column) {
      switch sqlite3_value_type(value) {
      case SQLITE_TEXT: return external(column)
      case SQLITE_INTEGER, SQLITE_FLOAT:
        // SQLite would return the digits. The column of an external attribute accepts values of all types.
        wrongType(column)
        return EmptyValue.data
      default:
        guard let bytes = sqlite3_value_blob(value) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_value_bytes(value)))
      }
    }
    if case .data(let value)? = values?[column] { return value }
    wrongType(column)
    return EmptyValue.data
  }

  /// Returns the contents of the file that the column names.
  private func external(_ column: Int) -> Data {
    do {
      if let value = try report?.read(string(column)) { return value }
      wrongType(column)
      return EmptyValue.data
    } catch {
      report?.noteUnreadableFile(column, "\(error)")
      return EmptyValue.data
    }
  }

  public func uuid(_ column: Int) -> UUID {
    if let value = cell(column) {
      if let bytes = sqlite3_value_blob(value), sqlite3_value_bytes(value) == 16 {
        // A UUID is its bytes, in their order; RowReaderTests checks it.
        return bytes.loadUnaligned(as: UUID.self)
      }
    } else if case .uuid(let value)? = values?[column] {
      return value
    }
    wrongType(column)
    return EmptyValue.uuid
  }

  public func url(_ column: Int) -> URL {
    if isSQLite {
      if let value = URL(string: string(column)) { return value }
    } else if case .url(let value)? = values?[column] {
      return value
    }
    wrongType(column)
    return EmptyValue.url
  }

  public func key(_ column: Int) -> ObjectKey {
    if let statement { return sqlite3_column_int64(statement, index(column)) }
    if let cell = passedCell(column) { return sqlite3_value_int64(cell) }
    if case .int(let value)? = values?[column] { return value }
    return 0
  }

  public func composite<Value: CompositeAttribute>(_ column: Int) -> Value {
    if let fields = values?.composites?[column] {
      return Value(_row: RowReader(values: ValueRow(fields), report: report), 0)
    }
    return Value(_row: self, column)
  }

  public func optionalComposite<Value: CompositeAttribute>(_ column: Int) -> Value? {
    if values?.composites?[column] != nil { return composite(column) }
    let columns = column..<column + Value._columnCount
    return columns.allSatisfy(isNull) ? nil : composite(column)
  }
}

extension RowReader {
  public func optionalString(_ column: Int) -> String? {
    if let value = cell(column) {
      guard let bytes = sqlite3_value_text(value) else { return nil }
      return text(bytes, Int(sqlite3_value_bytes(value)), column)
    }
    switch values?[column] {
    case .string(let text): return text
    case .null, nil: return nil
    default:
      wrongType(column)
      return ""
    }
  }
  public func optionalBool(_ column: Int) -> Bool? { isNull(column) ? nil : bool(column) }
  public func optionalInt16(_ column: Int) -> Int16? { isNull(column) ? nil : int16(column) }
  public func optionalInt32(_ column: Int) -> Int32? { isNull(column) ? nil : int32(column) }
  public func optionalInt64(_ column: Int) -> Int64? { isNull(column) ? nil : int64(column) }
  public func optionalFloat(_ column: Int) -> Float? { isNull(column) ? nil : float(column) }
  public func optionalDouble(_ column: Int) -> Double? { isNull(column) ? nil : double(column) }
  public func optionalDecimal(_ column: Int) -> Decimal? { isNull(column) ? nil : decimal(column) }
  public func optionalDate(_ column: Int) -> Date? { isNull(column) ? nil : date(column) }
  public func optionalData(_ column: Int) -> Data? { isNull(column) ? nil : data(column) }
  public func largeData(_ column: Int) -> LargeValue {
    isUnread(column) ? .unread : LargeValue(data(column))
  }
  public func optionalLargeData(_ column: Int) -> LargeValue {
    isUnread(column) ? .unread : LargeValue(optionalData(column))
  }
  public func optionalUuid(_ column: Int) -> UUID? { isNull(column) ? nil : uuid(column) }
  public func optionalUrl(_ column: Int) -> URL? { isNull(column) ? nil : url(column) }

  /// Returns the value of a column whose type is known only from the model.
  package func value(_ column: Int, _ type: StorageType) -> AttributeValue {
    if isNull(column) { return .null }
    switch type {
    case .string, .codable: return .string(string(column))
    case .bool: return .bool(bool(column))
    case .int16: return .int(Int64(int16(column)))
    case .int32: return .int(Int64(int32(column)))
    case .int64: return .int(int64(column))
    case .float: return .double(floatNumber(column))
    case .double: return .double(double(column))
    case .decimal: return .decimal(decimal(column))
    case .date: return .date(date(column))
    case .data: return isUnread(column) ? .null : .data(data(column))
    case .uuid: return .uuid(uuid(column))
    case .url: return .url(url(column))
    }
  }
}
