import CSQLite

/// The rows that a store gives for one question, one after the other.
///
/// SQLite's rows are read where they are. Any other engine hands over a list of values. Whoever takes a cursor closes it.
struct RowCursor {
  /// Nil where the rows are in the list.
  private let statement: SQLiteStatement?
  private let list: RowList?
  /// The column with the name of the row's entity; negative where all rows are of one.
  private let entityColumn: Int32
  /// Where the columns of an entity stand, by its place; empty where they stand in order.
  private let maps: [Int: [Int32]]

  /// The rows of a statement, whose parameters are bound.
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

  /// Goes on to the next row; false if there is none.
  @inline(__always) func next() throws -> Bool {
    if let statement { return try statement.step() }
    return list?.next() ?? false
  }

  /// Ends the reading: other rows can be asked for by the same question.
  @inline(__always) func close() { statement?.reset() }

  /// Some keys of the rows that the same question gave the last time, by which the next one guesses how many objects of
  /// its rows are in memory.
  var sample: [ObjectKey] {
    get { statement?.sample ?? [] }
    nonmutating set { statement?.sample = newValue }
  }

  // MARK: The row that the cursor stands on

  @inline(__always) var key: ObjectKey {
    if let statement { return sqlite3_column_int64(statement.handle, 0) }
    return list?.current.key ?? 0
  }

  @inline(__always) var version: Int64 {
    if let statement { return sqlite3_column_int64(statement.handle, 1) }
    return list?.current.version ?? 0
  }

  /// Whether the rows may be of several entities, so that each has to be asked for its own.
  @inline(__always) var isMixed: Bool { entityColumn >= 0 }

  /// The name of the row's entity, of rows that may be of several.
  var entityName: String {
    if let statement { return statement.string(entityColumn) ?? "" }
    return list?.current.entity ?? ""
  }

  /// By what the rows of an entity are read, now and after each ``next()``; nil if the rows are none of such an entity.
  func reader(of entity: EntityPlan, _ report: RowReport?) -> RowReader? {
    guard let statement else { return list.map { RowReader(values: $0.values, report: report) } }
    guard isMixed else { return RowReader(statement: statement.handle, map: nil, report: report) }
    return maps[entity.index].map { RowReader(statement: statement.handle, map: $0, report: report) }
  }

  /// The key of the object that the row is related to, of rows that were asked for by several owners.
  var owner: ObjectKey {
    if let statement { return statement.int64(statement.columnCount - 2) }
    return list?.current.owner ?? 0
  }

  /// The position of the row in the owner's relationship, of rows that were asked for by several owners.
  var position: Int64? {
    guard let statement else { return list?.current.position }
    let column = statement.columnCount - 1
    return statement.isNull(column) ? nil : statement.int64(column)
  }
}

/// Rows of an engine that has them as values.
final class RowList {
  struct Row {
    var key: ObjectKey
    var version: Int64
    /// The name of the row's entity.
    var entity: String
    /// By the columns of the entity.
    var values: [AttributeValue]
    /// The object that the row is related to, and its place there, where several owners were asked for.
    var owner: ObjectKey = 0
    var position: Int64?
  }

  private let rows: [Row]
  private var index = -1
  /// Whether the rows may be of several entities.
  let isMixed: Bool
  /// The values of the row that the list stands on.
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
