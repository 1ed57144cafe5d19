import CSQLite

/// A cursor over the rows of one query of a store.
///
/// The cursor reads the rows of SQLite directly from the statement. Another engine gives a list of values. The caller
/// must close the cursor.
package struct RowCursor {
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

  /// A cursor over the rows of an engine that returns them as values.
  package init(_ list: RowList) {
    statement = nil
    self.list = list
    entityColumn = list.isMixed ? 0 : -1
    maps = [:]
  }

  /// Moves to the next row. Returns false if there is none.
  @inline(__always) package func next() throws -> Bool {
    if let statement { return try statement.step() }
    return try list?.next() ?? false
  }

  /// Ends the reading, so that the same statement can run again.
  @inline(__always) package func close() { statement?.reset() }

  /// Some keys of the rows that the same query returned the last time. The context uses them to estimate how many
  /// objects of the rows are already in memory.
  package var sample: [ObjectKey] {
    get { statement?.sample ?? [] }
    nonmutating set { statement?.sample = newValue }
  }

  // MARK: The current row

  /// The key of the row's object.
  @inline(__always) package var key: ObjectKey {
    if let statement { return sqlite3_column_int64(statement.handle, 0) }
    return list?.current.key ?? 0
  }

  /// The version of the row.
  @inline(__always) package var version: Int64 {
    if let statement { return sqlite3_column_int64(statement.handle, 1) }
    return list?.current.version ?? 0
  }

  /// Whether the rows may be of several entities. If so, ``entityName`` says the entity of each row.
  @inline(__always) package var isMixed: Bool { entityColumn >= 0 }

  /// The name of the row's entity. Valid only if ``isMixed`` is true.
  package var entityName: String {
    if let statement { return statement.string(entityColumn) ?? "" }
    return list?.current.entity ?? ""
  }

  /// Returns a reader for the rows of an entity, which is valid now and after each ``next()``. Returns nil if the rows
  /// cannot be of that entity.
  package func reader(of entity: EntityPlan, _ report: RowReport?) -> RowReader? {
    guard let statement else { return list.map { RowReader(values: $0.values, report: report) } }
    guard isMixed else { return RowReader(statement: statement.handle, map: nil, report: report) }
    return maps[entity.index].map { RowReader(statement: statement.handle, map: $0, report: report) }
  }

  /// The key of the object that the row is related to. Valid only for a query with several owners.
  package var owner: ObjectKey {
    if let statement { return statement.int64(statement.columnCount - 2) }
    return list?.current.owner ?? 0
  }

  /// The position of the row in the owner's relationship. Valid only for a query with several owners.
  package var position: Int64? {
    guard let statement else { return list?.current.position }
    let column = statement.columnCount - 1
    return statement.isNull(column) ? nil : statement.int64(column)
  }
}

/// The rows of an engine that returns them as values.
package final class RowList {
  /// A row with its values.
  package struct Row {
    package var key: ObjectKey
    package var version: Int64
    /// The name of the row's entity.
    package var entity: String
    /// The values by the numbers of the entity's columns.
    package var values: [AttributeValue]
    /// The key of the owner in a query with several owners. `position` is the row's position in the owner's
    /// relationship.
    package var owner: ObjectKey = 0
    package var position: Int64?

    /// Creates a row.
    package init(
      key: ObjectKey, version: Int64, entity: String, values: [AttributeValue], owner: ObjectKey = 0,
      position: Int64? = nil
    ) {
      self.key = key
      self.version = version
      self.entity = entity
      self.values = values
      self.owner = owner
      self.position = position
    }
  }

  private let produce: () throws -> Row?
  fileprivate private(set) var current = Row(key: 0, version: 0, entity: "", values: [])
  /// Whether the rows may be of several entities.
  package let isMixed: Bool
  /// The values of the current row.
  package let values = ValueRow([])

  /// Creates a list of rows.
  ///
  /// - Parameter isMixed: Whether the rows may be of several entities.
  package convenience init(_ rows: [Row], isMixed: Bool = false) {
    var rest = rows[...]
    self.init(isMixed: isMixed) { rest.popFirst() }
  }

  /// Creates a list whose rows are made when they are read.
  ///
  /// - Parameters:
  ///   - isMixed: Whether the rows may be of several entities.
  ///   - next: Returns the next row; nil if there is none.
  package init(isMixed: Bool, next: @escaping () throws -> Row?) {
    produce = next
    self.isMixed = isMixed
  }

  fileprivate func next() throws -> Bool {
    guard let row = try produce() else { return false }
    values.values = row.values
    current = row
    return true
  }
}
