import CSQLite

/// A cursor over the rows of one query of a store.
///
/// The cursor reads the rows of SQLite directly from the statement. Another engine gives a list of values. The caller
/// must close the cursor.
struct RowCursor {
  /// Nil if the rows are in `list`.
  private let statement: SQLiteStatement?
  private let list: RowList?
  /// The column with the name of the row's entity; negative if all rows are of one entity.
  private let entityColumn: Int32
  /// The statement's columns for each entity, by the entity's index. Empty if the columns are in the entity's own
  /// order.
  private let maps: [Int: [Int32]]

  /// A cursor over the rows of a statement whose parameters are bound.
  init(_ statement: SQLiteStatement, entityColumn: Int32? = nil, maps: [Int: [Int32]] = [:]) {
    self.statement = statement
    list = nil
    self.entityColumn = entityColumn ?? -1
    self.maps = maps
  }

  init(_ list: RowList) {
    statement = nil
    self.list = list
    entityColumn = list.isMixed ? 0 : -1
    maps = [:]
  }

  /// Moves to the next row. Returns false if there is none.
  @inline(__always) func next() throws -> Bool {
    if let statement { return try statement.step() }
    return list?.next() ?? false
  }

  /// Ends the reading, so that the same statement can run again.
  @inline(__always) func close() { statement?.reset() }

  /// Some keys of the rows that the same query returned the last time. The context uses them to estimate how many
  /// objects of the rows are already in memory.
  var sample: [ObjectKey] {
    get { statement?.sample ?? [] }
    nonmutating set { statement?.sample = newValue }
  }

  // MARK: The current row

  @inline(__always) var key: ObjectKey {
    if let statement { return sqlite3_column_int64(statement.handle, 0) }
    return list?.current.key ?? 0
  }

  @inline(__always) var version: Int64 {
    if let statement { return sqlite3_column_int64(statement.handle, 1) }
    return list?.current.version ?? 0
  }

  /// Whether the rows may be of several entities. If so, ``entityName`` says the entity of each row.
  @inline(__always) var isMixed: Bool { entityColumn >= 0 }

  /// The name of the row's entity. Valid only if ``isMixed`` is true.
  var entityName: String {
    if let statement { return statement.string(entityColumn) ?? "" }
    return list?.current.entity ?? ""
  }

  /// Returns a reader for the rows of an entity, which is valid now and after each ``next()``. Returns nil if the rows
  /// cannot be of that entity.
  func reader(of entity: EntityPlan, _ report: RowReport?) -> RowReader? {
    guard let statement else { return list.map { RowReader(values: $0.values, report: report) } }
    guard isMixed else { return RowReader(statement: statement.handle, map: nil, report: report) }
    return maps[entity.index].map { RowReader(statement: statement.handle, map: $0, report: report) }
  }

  /// The key of the object that the row is related to. Valid only for a query with several owners.
  var owner: ObjectKey {
    if let statement { return statement.int64(statement.columnCount - 2) }
    return list?.current.owner ?? 0
  }

  /// The position of the row in the owner's relationship. Valid only for a query with several owners.
  var position: Int64? {
    guard let statement else { return list?.current.position }
    let column = statement.columnCount - 1
    return statement.isNull(column) ? nil : statement.int64(column)
  }
}

/// The rows of an engine that returns them as values.
final class RowList {
  struct Row {
    var key: ObjectKey
    var version: Int64
    /// The name of the row's entity.
    var entity: String
    /// The values by the numbers of the entity's columns.
    var values: [AttributeValue]
    /// The key of the owner in a query with several owners. `position` is the row's position in the owner's
    /// relationship.
    var owner: ObjectKey = 0
    var position: Int64?
  }

  private let rows: [Row]
  private var index = -1
  /// Whether the rows may be of several entities.
  let isMixed: Bool
  /// The values of the current row.
  let values = ValueRow([])

  init(_ rows: [Row], isMixed: Bool = false) {
    self.rows = rows
    self.isMixed = isMixed
  }

  fileprivate var current: Row { rows[index] }

  fileprivate func next() -> Bool {
    guard index + 1 < rows.count else { return false }
    index += 1
    values.values = rows[index].values
    return true
  }
}
