import CDModel
@_spi(Generated) import CDRuntime

/// Rows of a result, whose values an object reads one by one.
final class ResultRows: RowSource {
  fileprivate let result: PostgresResult
  private let entity: EntityPlan
  /// Where the columns of several entities are in the result; nil if the columns are in the entity's own order.
  private let select: EntitySelect?
  /// The column of the entity that the rows have although others may leave it out.
  fileprivate let wanted: Int?
  fileprivate var row: Int
  private let end: Int

  /// - Parameters:
  ///   - select: The query that returned the rows; nil for a query whose columns are those of `entity`.
  ///   - rows: The numbers of the rows; nil for all rows.
  ///   - wanted: The column that the query was asked for, if it otherwise leaves out large values.
  init(
    _ result: PostgresResult, select: EntitySelect? = nil, of entity: EntityPlan, rows: Range<Int>? = nil,
    reading wanted: Int? = nil
  ) {
    self.result = result
    self.entity = entity
    self.select = select
    self.wanted = wanted
    let rows = rows ?? 0..<result.rowCount
    row = rows.lowerBound - 1
    end = rows.upperBound
  }

  func next() -> Bool {
    row += 1
    return row < end
  }

  var isMixed: Bool { select?.entityColumn != nil }
  var key: ObjectKey { result.int(row, 0) }
  var version: Int64 { result.int(row, 1) }

  var entityName: String {
    guard let column = select?.entityColumn else { return entity.name }
    return result.string(row, Int(column)) ?? ""
  }

  // A query with several owners has these columns behind all others.
  var owner: ObjectKey { result.int(row, result.columnCount - 2) }
  var position: Int64? { result.optionalInt(row, result.columnCount - 1) }

  func values(of entity: EntityPlan) -> ValueRow? {
    guard isMixed, let select else { return ValueRow(ResultValues(self, of: entity, map: nil)) }
    return select.maps[entity.index].map { ValueRow(ResultValues(self, of: entity, map: $0)) }
  }
}

/// The values of the current row of a result.
private final class ResultValues: ValueSource {
  private let rows: ResultRows
  private let columns: [ColumnPlan]
  /// The columns whose values may have been left out.
  private let later: [Int]
  /// The result's column for each column of the entity; nil if they are in the same order.
  private let map: [Int32]?

  /// The first columns of a result are `_pk` and `_version`.
  private static let firstColumn = 2

  init(_ rows: ResultRows, of entity: EntityPlan, map: [Int32]?) {
    self.rows = rows
    columns = entity.columns
    later = entity.laterColumns.filter { $0 != rows.wanted }
    self.map = map
  }

  /// The number of a column in the result; nil for a column that the entity does not have.
  private func place(_ column: Int) -> Int? {
    guard column < columns.count else { return nil }
    guard let map else { return column + Self.firstColumn }
    return column < map.count ? Int(map[column]) : nil
  }

  func value(_ column: Int) -> AttributeValue {
    guard let place = place(column) else { return .null }
    if !later.isEmpty, isUnread(column) { return .composite([:]) }
    return rows.result.value(rows.row, place, columns[column].storageType)
  }

  func isNull(_ column: Int) -> Bool {
    guard let place = place(column) else { return true }
    return rows.result.isNull(rows.row, place)
  }

  // `PostgresDialect.laterValue(_:)` marks the value.
  func isUnread(_ column: Int) -> Bool {
    guard !later.isEmpty, later.contains(column), let place = place(column) else { return false }
    return !rows.result.isNull(rows.row, place) && rows.result.size(rows.row, place) == 0
  }
}
