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

  /// The number of rows above which they are copied.
  static let leastCopied = 500
  /// The most rows that are sent together.
  static let mostRows = 5000
  /// The most bytes of texts and data that wait to be sent, not counting the last row.
  static let mostBytes = 4 << 20

  /// Inserts rows together, within a savepoint.
  ///
  /// - Parameter values: The values of all rows, one row after the other.
  /// - Throws: ``PostgresFailure`` or ``StoreError``.
  func send(
    _ keys: ArraySlice<ObjectKey>, _ values: ArraySlice<AttributeValue>, _ transaction: WriteTransaction
  ) throws {
    let width = names.count
    guard keys.count > Self.leastCopied else {
      let columns = types.enumerated().map { column, type in
        PostgresParameter.array(
          keys.indices.map { values[values.startIndex + ($0 - keys.startIndex) * width + column] }, type)
      }
      _ = try transaction.runInSavepoint([PostgresStatement(insertSet, [.keys(Array(keys))] + columns)])
      return
    }
    var rest = keys
    var start = values.startIndex
    try transaction.copyInSavepoint(copy) { bytes in
      while bytes.count < 1 << 18, let key = rest.popFirst() {
        append(key, values[start..<start + width], to: &bytes)
        start += width
      }
      return !rest.isEmpty
    }
  }

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

  func write(_ key: ObjectKey) throws -> RowInsertionOutcome {
    let row = try writer?.values(and: defaults, session) ?? []
    session.noteReferences(row, in: target.names, of: target.entity)
    keys.append(key)
    numbers.append(count)
    values += row
    size += row.reduce(0) { $0 + $1.size }
    if keys.count >= InsertedColumns.mostRows || size >= InsertedColumns.mostBytes { try send() }
    return .written(key)
  }

  func finish(_ key: ObjectKey) throws -> RowInsertionOutcome {
    try send()
    return .waiting
  }

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
    let width = target.names.count
    do {
      try target.send(
        keys[rows], values[rows.lowerBound * width..<rows.upperBound * width], session.transaction)
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

  func write(_ key: ObjectKey) throws -> RowInsertionOutcome {
    let row = try writer?.values(and: defaults, session) ?? []
    session.noteReferences(row, in: target.names, of: target.entity)
    return try insert(row[...], key).map { .written($0) } ?? .skipped
  }

  /// Inserts a row, or does what its conflict demands.
  ///
  /// - Returns: The key of the row that has the values; nil if the row was skipped.
  func insert(_ row: ArraySlice<AttributeValue>, _ key: ObjectKey) throws -> ObjectKey? {
    let values = zip(row, target.types).map { PostgresParameter.typed($0, $1) }
    try session.flush()
    session.noteRowsWritten()
    for _ in 0..<Self.mostAttempts {
      do {
        _ = try session.transaction.runInSavepoint([PostgresStatement(text, [.value(.int(key))] + values)])
        return key
      } catch let failure as PostgresFailure {
        guard failure.isUniquenessViolation, let conflict = failure.constraint.flatMap({ conflicts[$0] })
        else { throw PostgresBatchSession.converted(failure, session) }
        guard case .update(let text, let columns) = conflict else { return nil }
        if let existing = try update(text, columns.map { values[$0] }) { return existing }
        // Another program has deleted the existing row, or has changed its values, so that the new row may now have them.
      }
    }
    throw StoreError.busy(session.urls)
  }

  /// The most attempts to insert a row whose existing row others remove each time before it is updated.
  private static let mostAttempts = 10

  /// - Returns: The key of the existing row; nil if there is none any more.
  private func update(_ text: String, _ values: [PostgresParameter]) throws -> ObjectKey? {
    do {
      let result = try session.transaction.runInSavepoint([PostgresStatement(text, values)]).last
      return result.flatMap { $0.rowCount > 0 ? $0.int(0, 0) : nil }
    } catch let failure as PostgresFailure {
      throw PostgresBatchSession.converted(failure, session)
    }
  }
}

/// The statements of ``PostgresSetUpsert``.
struct UpsertedRows {
  /// The numbers of the columns of the `unique:` list, among the values of a row.
  let unique: [Int]
  /// Finds the existing rows that have the unique values of new ones, and locks them if they are to be updated. The result
  /// has the number of the new row, from 1, and the key of the existing one.
  let search: String
  /// Updates existing rows. The parameters are their keys, and the values of each updated column. Nil if the new rows are
  /// skipped.
  let update: String?
  /// The numbers of the updated columns, among the values of a row.
  let updated: [Int]
}

/// The insertion of a batch's rows of which one index may refuse some. These are skipped, or update existing rows. Many
/// rows are sent together.
///
/// One statement finds the existing rows. Then all others are new ones. No two rows that are sent together have the same
/// unique values. If an index refuses a row all the same, for example because another program has inserted it since, all
/// of them are taken back, and sent one after another.
final class PostgresSetUpsert: RowInsertion {
  private let session: PostgresWriteSession
  private let target: InsertedColumns
  private let defaults: [AttributeValue?]
  private let statements: UpsertedRows
  /// Sends rows one after another.
  private let single: PostgresRowInsertion
  private var writer: RowWriter?
  /// The number of rows that were begun.
  private var count = 0
  /// The number of each waiting row among those that were begun.
  private var numbers: [Int] = []
  private var values: [AttributeValue] = []
  /// The unique values of the waiting rows, as the bytes that the server gets.
  private var seen: Set<[UInt8]> = []
  private var size = 0

  /// The number of rows below which they are sent one after another.
  private static let leastTogether = 3

  init(
    _ session: PostgresWriteSession, _ target: InsertedColumns, _ defaults: [AttributeValue?],
    _ statements: UpsertedRows, _ single: PostgresRowInsertion
  ) {
    self.session = session
    self.target = target
    self.defaults = defaults
    self.statements = statements
    self.single = single
  }

  func start(_ writer: RowWriter) {
    count += 1
    writer.startCapture()
    self.writer = writer
  }

  func write(_ key: ObjectKey) throws -> RowInsertionOutcome {
    let row = try writer?.values(and: defaults, session) ?? []
    session.noteReferences(row, in: target.names, of: target.entity)
    var outcome = RowInsertionOutcome.waiting
    let bytes = uniqueBytes(row)
    let isFull = numbers.count >= InsertedColumns.mostRows || size >= InsertedColumns.mostBytes
    if isFull || bytes.map(seen.contains) == true { outcome = try send(key) }
    if let bytes { seen.insert(bytes) }
    numbers.append(count)
    values += row
    size += row.reduce(0) { $0 + $1.size }
    return outcome
  }

  func finish(_ key: ObjectKey) throws -> RowInsertionOutcome { try send(key) }

  /// The unique values of a row; nil if one of them is nil, so that the row is equal to no other one.
  private func uniqueBytes(_ row: [AttributeValue]) -> [UInt8]? {
    var bytes = PostgresBytes()
    for column in statements.unique {
      if row[column] == .null { return nil }
      // A zero may have a sign, which makes no difference.
      bytes.appendField(row[column].withPlainZero)
    }
    return Array(bytes.bytes)
  }

  private func row(_ index: Int) -> ArraySlice<AttributeValue> {
    values[index * target.names.count..<(index + 1) * target.names.count]
  }

  private func send(_ key: ObjectKey) throws -> RowInsertionOutcome {
    if numbers.isEmpty { return .waiting }
    defer {
      numbers.removeAll(keepingCapacity: true)
      values.removeAll(keepingCapacity: true)
      seen.removeAll(keepingCapacity: true)
      size = 0
    }
    try session.flush()
    session.noteRowsWritten()
    guard numbers.count >= Self.leastTogether else { return .sent(try sendSingly(key)) }
    do {
      if let keys = try sendTogether(key) { return .sent(keys) }
    } catch let failure as PostgresFailure {
      guard failure.isUniquenessViolation else { throw PostgresBatchSession.converted(failure, session) }
    }
    try session.converting { try session.transaction.takeBackPart() }
    return .sent(try sendSingly(key))
  }

  private func sendSingly(_ first: ObjectKey) throws -> [ObjectKey?] {
    var key = first
    return try numbers.indices.map { index in
      do {
        let written = try single.insert(row(index), key)
        if written == key { key += 1 }
        return written
      } catch let violation as UniquenessViolation {
        throw UniquenessViolation(properties: violation.properties, rowsSince: count - numbers[index])
      }
    }
  }

  /// - Returns: The key of each row; nil if several rows are equal to the same existing one.
  private func sendTogether(_ first: ObjectKey) throws -> [ObjectKey?]? {
    let transaction = session.transaction
    let found = try transaction.beginPart(with: [
      PostgresStatement(statements.search, statements.unique.map { array(of: $0, numbers.indices) })
    ])
    var existing: [Int: ObjectKey] = [:]
    if let result = found.last {
      for row in 0..<result.rowCount { existing[Int(result.int(row, 0)) - 1] = result.int(row, 1) }
      guard existing.count == result.rowCount, Set(existing.values).count == existing.count else {
        return nil
      }
    }
    var key = first
    var keys: [ObjectKey?] = []
    var newKeys: [ObjectKey] = []
    var newValues: [AttributeValue] = []
    for index in numbers.indices {
      if let known = existing[index] {
        keys.append(statements.update == nil ? nil : known)
      } else {
        keys.append(key)
        newKeys.append(key)
        newValues += row(index)
        key += 1
      }
    }
    if !newKeys.isEmpty { try target.send(newKeys[...], newValues[...], transaction) }
    guard let update = statements.update, !existing.isEmpty else {
      try transaction.endPart()
      return keys
    }
    let rows = existing.keys.sorted()
    let results = try transaction.endPart(with: [
      PostgresStatement(
        update,
        [.keys(rows.compactMap { existing[$0] })] + statements.updated.map { array(of: $0, rows) })
    ])
    // The rows are locked, so that nobody has deleted one of them.
    guard results.last?.affectedCount == rows.count else {
      throw PostgresFailure(code: "40001", message: "a row has been changed in the meantime")
    }
    return keys
  }

  /// The values of a column.
  private func array(of column: Int, _ rows: some Collection<Int>) -> PostgresParameter {
    .array(rows.map { values[$0 * target.names.count + column] }, target.types[column])
  }
}

extension AttributeValue {
  /// The number of bytes of a text or data.
  var size: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }
}
