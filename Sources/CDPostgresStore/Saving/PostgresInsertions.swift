import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The columns of a batch's new rows, after the key, the version and the entity.
struct InsertedColumns {
  /// The table in statements.
  let table: String
  let entity: EntityPlan
  let names: [String]
  let types: [PostgresType]

  private var entityName: [String] { entity.hasEntityColumn ? [entity.name] : [] }

  private var list: String {
    (["_pk", "_version"] + entityName.map { _ in "_entity" } + names.map(SQLText.quoted)).joined(
      separator: ", ")
  }

  /// Inserts one row. The parameters are the key and the values.
  var insert: String {
    let values = ["?", "1"] + entityName.map(SQLText.literal) + names.map { _ in "?" }
    return "INSERT INTO \(table) AS t0 (\(list)) VALUES (\(values.joined(separator: ", ")))"
  }

  /// Inserts many rows. The parameters are the keys, and the values of each column.
  var insertSet: String {
    let arrays = ["CAST(? AS bigint[])"] + types.map { "CAST(? AS \($0.name)[])" }
    let columns = ["k"] + names.indices.map { "c\($0)" }
    let values = ["v.k", "1"] + entityName.map(SQLText.literal) + names.indices.map { "v.c\($0)" }
    return "INSERT INTO \(table) AS t0 (\(list)) SELECT \(values.joined(separator: ", ")) "
      + "FROM unnest(\(arrays.joined(separator: ", "))) AS v(\(columns.joined(separator: ", ")))"
  }

  var copy: String { "COPY \(table) (\(list)) FROM STDIN (FORMAT binary)" }

  /// Appends a row for COPY.
  func append(_ key: ObjectKey, _ values: ArraySlice<AttributeValue>, to bytes: inout PostgresBytes) {
    bytes.append(Int16(clamping: 2 + entityName.count + names.count))
    bytes.appendField(.int(key))
    bytes.appendField(.int(1))
    for name in entityName { bytes.appendField(.string(name)) }
    for value in values { bytes.appendField(value) }
  }
}

extension RowWriter {
  /// The values that were written, and those of further columns. A default that is nil is a new UUID for each row.
  fileprivate func values(
    and defaults: [AttributeValue?], _ session: PostgresWriteSession
  ) throws -> [AttributeValue] {
    try values.map(session.storable) + defaults.map { $0 ?? .uuid(.random()) }
  }
}

/// The insertion of a batch's rows that no index may refuse. Many rows are sent together.
final class PostgresSetInsertion: RowInsertion {
  /// The number of rows above which they are copied.
  private static let leastCopied = 500
  private static let mostRows = 5000
  /// The most bytes of texts and data that wait to be sent, not counting the last row.
  private static let mostBytes = 4 << 20

  private let session: PostgresWriteSession
  private let target: InsertedColumns
  private let defaults: [AttributeValue?]
  private var writer: RowWriter?
  /// The number of rows that were begun.
  private var count = 0
  private var keys: [ObjectKey] = []
  /// The number of each row among those that were begun.
  private var numbers: [Int] = []
  private var values: [AttributeValue] = []
  private var size = 0

  init(_ session: PostgresWriteSession, _ target: InsertedColumns, _ defaults: [AttributeValue?]) {
    self.session = session
    self.target = target
    self.defaults = defaults
  }

  func start(_ writer: RowWriter) {
    count += 1
    writer.startCapture()
    self.writer = writer
  }

  func write(_ key: ObjectKey) throws -> ObjectKey? {
    let row = try writer?.values(and: defaults, session) ?? []
    session.noteReferences(row, in: target.names, of: target.entity)
    keys.append(key)
    numbers.append(count)
    values += row
    for value in row {
      switch value {
      case .string(let text): size += text.utf8.count
      case .data(let data): size += data.count
      default: break
      }
    }
    if keys.count >= Self.mostRows || size >= Self.mostBytes { try send() }
    return key
  }

  func finish() throws { try send() }

  private func send() throws {
    if keys.isEmpty { return }
    try session.flush()
    session.noteRowsWritten()
    try insert(keys.indices)
    keys.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
    size = 0
  }

  /// Inserts rows. If an index refuses one of them, halves are tried, until the row is alone.
  private func insert(_ rows: Range<Int>) throws {
    do {
      try insertTogether(rows)
    } catch let failure as PostgresFailure {
      guard failure.isUniquenessViolation else { throw PostgresBatchSession.converted(failure, session) }
      guard rows.count > 1 else {
        throw UniquenessViolation(
          properties: session.refusedProperties(failure), rowsSince: count - numbers[rows.lowerBound])
      }
      let middle = rows.lowerBound + rows.count / 2
      try insert(rows.lowerBound..<middle)
      try insert(middle..<rows.upperBound)
    }
  }

  private func insertTogether(_ rows: Range<Int>) throws {
    let width = target.names.count
    guard rows.count > Self.leastCopied else {
      let columns = target.types.enumerated().map { column, type in
        PostgresParameter.array(rows.map { values[$0 * width + column] }, type)
      }
      _ = try session.transaction.runInSavepoint([
        PostgresStatement(target.insertSet, [.keys(Array(keys[rows]))] + columns)
      ])
      return
    }
    var next = rows.lowerBound
    try session.transaction.copyInSavepoint(target.copy) { bytes in
      while next < rows.upperBound, bytes.count < 1 << 18 {
        target.append(keys[next], values[next * width..<(next + 1) * width], to: &bytes)
        next += 1
      }
      return next < rows.upperBound
    }
  }
}

/// The insertion of a batch's rows, one after another: a row that an index refuses is skipped, or updates an existing row.
final class PostgresRowInsertion: RowInsertion {
  /// What happens to a row that an index refuses.
  enum Conflict {
    case skip
    /// Updates the existing row. The columns are the numbers of the new row's values that are the parameters.
    case update(text: String, columns: [Int])
  }

  private let session: PostgresWriteSession
  private let target: InsertedColumns
  private let text: String
  private let defaults: [AttributeValue?]
  private let conflicts: [String: Conflict]
  private var writer: RowWriter?

  init(
    _ session: PostgresWriteSession, _ target: InsertedColumns, _ defaults: [AttributeValue?],
    _ conflicts: [String: Conflict]
  ) {
    self.session = session
    self.target = target
    text = target.insert
    self.defaults = defaults
    self.conflicts = conflicts
  }

  func start(_ writer: RowWriter) {
    writer.startCapture()
    self.writer = writer
  }

  func write(_ key: ObjectKey) throws -> ObjectKey? {
    let row = try writer?.values(and: defaults, session) ?? []
    session.noteReferences(row, in: target.names, of: target.entity)
    let values = zip(row, target.types).map { PostgresParameter.typed($0, $1) }
    try session.flush()
    session.noteRowsWritten()
    do {
      _ = try session.transaction.runInSavepoint([PostgresStatement(text, [.value(.int(key))] + values)])
      return key
    } catch let failure as PostgresFailure {
      guard failure.isUniquenessViolation, let conflict = failure.constraint.flatMap({ conflicts[$0] }) else {
        throw PostgresBatchSession.converted(failure, session)
      }
      guard case .update(let text, let columns) = conflict else { return nil }
      return try update(text, columns.map { values[$0] })
    }
  }

  private func update(_ text: String, _ values: [PostgresParameter]) throws -> ObjectKey? {
    do {
      let result = try session.transaction.runInSavepoint([PostgresStatement(text, values)]).last
      return result.flatMap { $0.rowCount > 0 ? $0.int(0, 0) : nil }
    } catch let failure as PostgresFailure {
      throw PostgresBatchSession.converted(failure, session)
    }
  }
}
