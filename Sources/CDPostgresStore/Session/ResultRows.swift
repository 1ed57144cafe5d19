import CDModel
@_spi(Generated) import CDRuntime

/// Rows of a result, whose values an object reads one by one.
final class ResultRows: RowSource {
  private let result: PostgresResult
  private let entity: EntityPlan
  /// Where the columns of several entities are in the result; nil if the columns are in the entity's own order.
  private let select: EntitySelect?
  /// The column of the entity that the rows have although others may leave it out.
  private let wanted: Int?
  private let keys: ResultColumn
  private let versions: ResultColumn
  private var row: Int
  private var end: Int
  /// The values that readers have of the current row, by entity. They move with the rows.
  private var readings: [Reading] = []

  private struct Reading {
    let entity: Int
    let source: ResultValues
    let values: ValueRow
  }

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
    keys = result.column(0, .int64)
    versions = result.column(1, .int64)
    let rows = rows ?? 0..<result.rowCount
    row = rows.lowerBound - 1
    end = rows.upperBound
  }

  /// Begins again with one row. A snapshot reads many rows of one result, each on its own.
  func restart(at row: Int) {
    self.row = row - 1
    end = row + 1
  }

  func next() -> Bool {
    row += 1
    for reading in readings { reading.source.row = Int32(clamping: row) }
    return row < end
  }

  var isMixed: Bool { select?.entityColumn != nil }
  var key: ObjectKey { result.int(Int32(clamping: row), keys) }
  var version: Int64 { result.int(Int32(clamping: row), versions) }

  var entityName: String {
    guard let column = select?.entityColumn else { return entity.name }
    return result.string(row, Int(column)) ?? ""
  }

  // A query with several owners has these columns behind all others.
  var owner: ObjectKey { result.int(row, result.columnCount - 2) }
  var position: Int64? { result.optionalInt(row, result.columnCount - 1) }

  func values(of entity: EntityPlan) -> ValueRow? {
    if let known = readings.first(where: { $0.entity == entity.index }) { return known.values }
    let map: [Int32]?
    if isMixed, let select {
      guard let own = select.maps[entity.index] else { return nil }
      map = own
    } else {
      map = nil
    }
    let source = ResultValues(result, of: entity, map: map, reading: wanted)
    source.row = Int32(clamping: row)
    let values = ValueRow(source)
    readings.append(Reading(entity: entity.index, source: source, values: values))
    return values
  }
}

/// The values of the current row of a result.
private final class ResultValues: ValueSource {
  private let result: PostgresResult
  private let columns: [ResultColumn]
  /// The columns whose values may have been left out.
  private let later: [Int]
  /// The number of the row in the result.
  var row: Int32 = -1

  /// The first columns of a result are `_pk` and `_version`.
  private static let firstColumn = 2

  /// - Parameters:
  ///   - map: The result's column for each column of the entity; nil if they are in the same order.
  ///   - wanted: The column that is not left out.
  init(_ result: PostgresResult, of entity: EntityPlan, map: [Int32]?, reading wanted: Int?) {
    self.result = result
    later = entity.laterColumns.filter { $0 != wanted }
    columns = entity.columns.indices.map { column in
      let place = map.map { column < $0.count ? Int($0[column]) : -1 } ?? column + Self.firstColumn
      return result.column(place, entity.columns[column].storageType)
    }
  }

  func value(_ column: Int) -> AttributeValue {
    guard column < columns.count else { return .null }
    if !later.isEmpty, isUnread(column) { return .composite([:]) }
    return result.value(row, columns[column])
  }

  func isNull(_ column: Int) -> Bool {
    guard column < columns.count else { return true }
    return result.isNull(row, columns[column])
  }

  // `PostgresDialect.laterValue(_:)` marks the value.
  func isUnread(_ column: Int) -> Bool {
    guard !later.isEmpty, later.contains(column), column < columns.count else { return false }
    return result.isEmpty(row, columns[column])
  }
}
