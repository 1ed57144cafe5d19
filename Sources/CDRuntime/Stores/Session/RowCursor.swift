import CSQLite

/// A cursor over the rows of one query of a store.
///
/// The cursor reads the rows of SQLite directly from the statement. Another engine gives a source of rows. The caller
/// must close the cursor.
package struct RowCursor {
  /// Nil if the rows come from `source`.
  private let statement: SQLiteStatement?
  /// The handle of `statement`; nil if `feed` passes the rows. To read it from the statement would retain and release the
  /// statement for each row.
  private let handle: OpaquePointer?
  private let source: (any RowSource)?
  /// Passes the rows of `statement`; nil if they are not passed to a function.
  private let feed: RowFeed?
  /// The row that `feed` passes.
  private let passed: UnsafePointer<RowFeed.Row>?
  /// The column with the name of the row's entity; negative if all rows are of one entity.
  private let entityColumn: Int32
  /// The SELECT that has the statement's columns for each entity; nil if all rows are of one entity. The columns themselves
  /// are a dictionary. To destroy a copy of it, the first fetch would search the conformances of the whole program.
  private let select: EntitySelect?

  /// A cursor over the rows of a statement whose parameters are bound.
  ///
  /// - Parameters:
  ///   - select: The SELECT of the statement. May be nil if all rows are of one entity.
  ///   - feed: The function to which SQLite passes the rows while it runs the statement; nil if the statement returns
  ///     them.
  init(_ statement: SQLiteStatement, _ select: EntitySelect? = nil, passedBy feed: RowFeed? = nil) {
    self.statement = statement
    handle = feed == nil ? statement.handle : nil
    source = nil
    self.feed = feed
    passed = feed.map { UnsafePointer($0.row) }
    entityColumn = select?.entityColumn ?? -1
    self.select = select?.entityColumn == nil ? nil : select
  }

  /// A cursor over the rows of another engine.
  package init(_ source: any RowSource) {
    statement = nil
    handle = nil
    feed = nil
    passed = nil
    self.source = source
    entityColumn = source.isMixed ? 0 : -1
    select = nil
  }

  /// Calls a body for each row, which is then the current one. This is the way to read the rows of queries: SQLite may pass
  /// them to a function while it runs a statement.
  @inline(__always) func read(_ body: () throws -> Void) throws {
    if let feed, let statement { return try feed.run(statement, body) }
    while try next() { try body() }
  }

  /// Whether ``read(_:)`` may call its body in an order other than that of insertion.
  var isUnordered: Bool { feed != nil }

  /// Moves to the next row. Returns false if there is none.
  @inline(__always) package func next() throws -> Bool {
    assert(feed == nil, "the rows are to be read by 'read'")
    if let handle {
      switch sqlite3_step(handle) {
      case SQLITE_ROW: return true
      case SQLITE_DONE: return false
      default: return try statement?.stepAfterFailure() ?? false
      }
    }
    return try source?.next() ?? false
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
    if let handle { return sqlite3_column_int64(handle, 0) }
    if let passed { return passed.pointee[0].map(sqlite3_value_int64) ?? 0 }
    return source?.key ?? 0
  }

  /// The version of the row.
  @inline(__always) package var version: Int64 {
    if let handle { return sqlite3_column_int64(handle, 1) }
    if let passed { return passed.pointee[1].map(sqlite3_value_int64) ?? 0 }
    return source?.version ?? 0
  }

  /// Whether the rows may be of several entities. If so, ``entityName`` says the entity of each row.
  @inline(__always) package var isMixed: Bool { entityColumn >= 0 }

  /// The name of the row's entity. Valid only if ``isMixed`` is true.
  package var entityName: String {
    if let passed {
      let value = passed.pointee[entityColumn]
      guard let text = sqlite3_value_text(value) else { return "" }
      // Another program's text may contain the character zero.
      let bytes = UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
      return String(decoding: bytes, as: UTF8.self)
    }
    if let statement { return statement.string(entityColumn) ?? "" }
    return source?.entityName ?? ""
  }

  /// Returns a reader for the rows of an entity, which is valid now and after each ``next()``. Returns nil if the rows
  /// cannot be of that entity.
  package func reader(of entity: EntityPlan, _ report: RowReport?) -> RowReader? {
    // Another program can write such a row. No object is made of it.
    if entity.description.isAbstract { return nil }
    if let source { return source.values(of: entity).map { RowReader(values: $0, report: report) } }
    guard isMixed else { return RowReader(statement: handle, passed: passed, map: nil, report: report) }
    return select?.maps[entity.index].map {
      RowReader(statement: handle, passed: passed, map: $0, report: report)
    }
  }

  /// The key of the object that the row is related to. Valid only for a query with several owners.
  package var owner: ObjectKey {
    if let statement { return statement.int64(statement.columnCount - 2) }
    return source?.owner ?? 0
  }

  /// The position of the row in the owner's relationship. Valid only for a query with several owners.
  package var position: Int64? {
    guard let statement else { return source?.position }
    let column = statement.columnCount - 1
    return statement.isNull(column) ? nil : statement.int64(column)
  }
}

/// The rows that an engine other than SQLite found for one query, in the engine's own form.
package protocol RowSource: AnyObject {
  /// Whether the rows may be of several entities.
  var isMixed: Bool { get }
  /// Moves to the next row. Returns false if there is none.
  func next() throws -> Bool
  /// The key of the current row's object.
  var key: ObjectKey { get }
  /// The version of the current row.
  var version: Int64 { get }
  /// The name of the current row's entity.
  var entityName: String { get }
  /// The key of the current row's owner in a query with several owners.
  var owner: ObjectKey { get }
  /// The current row's position in the owner's relationship.
  var position: Int64? { get }
  /// Returns the values of the current row, which change with each ``next()``. Returns nil if the rows cannot be of the
  /// entity.
  func values(of entity: EntityPlan) -> ValueRow?
}

/// The rows of an engine that has them as lists of values.
package final class RowList: RowSource {
  /// A row with its values.
  package struct Row {
    package var key: ObjectKey
    package var version: Int64
    /// The name of the row's entity.
    package var entity: String
    /// The values by the numbers of the entity's columns.
    package var values: [AttributeValue]
    /// The numbers of the columns whose values the row leaves out: see ``LargeValue``.
    package var unread: [Int] = []
    /// The key of the owner in a query with several owners. `position` is the row's position in the owner's
    /// relationship.
    package var owner: ObjectKey = 0
    package var position: Int64?

    /// Creates a row.
    package init(
      key: ObjectKey, version: Int64, entity: String, values: [AttributeValue], unread: [Int] = [],
      owner: ObjectKey = 0, position: Int64? = nil
    ) {
      self.key = key
      self.version = version
      self.entity = entity
      self.values = values
      self.unread = unread
      self.owner = owner
      self.position = position
    }
  }

  private var rest: ArraySlice<Row>
  private var current = Row(key: 0, version: 0, entity: "", values: [])
  private let values = ValueRow([])
  package let isMixed: Bool

  /// Creates a list of rows.
  ///
  /// - Parameter isMixed: Whether the rows may be of several entities.
  package init(_ rows: [Row], isMixed: Bool = false) {
    rest = rows[...]
    self.isMixed = isMixed
  }

  package func next() -> Bool {
    guard let row = rest.popFirst() else { return false }
    values.values = row.values
    values.unread = row.unread
    current = row
    return true
  }

  package var key: ObjectKey { current.key }
  package var version: Int64 { current.version }
  package var entityName: String { current.entity }
  package var owner: ObjectKey { current.owner }
  package var position: Int64? { current.position }
  package func values(of entity: EntityPlan) -> ValueRow? { values }
}
