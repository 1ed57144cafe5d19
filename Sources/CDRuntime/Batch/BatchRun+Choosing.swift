/// Rows of an entity's table, as a condition on the alias `t0`.
struct RowChoice {
  let sql: String
  let bindings: [AttributeValue]
  /// The roots of the entities of other rows that the condition reads. A statement that changes such rows would be free
  /// to answer by what it has changed already: its rows are chosen by a statement before it.
  var readRoots: Set<Int> = []

  static func list(_ keys: [ObjectKey]) -> RowChoice {
    RowChoice(sql: "t0._pk IN \(SQLite.boundKeys)", bindings: [SQLite.list(keys)])
  }

  static func range(_ keys: Range<ObjectKey>, and others: [ObjectKey]) -> RowChoice {
    let range = "(t0._pk >= \(keys.lowerBound) AND t0._pk < \(keys.upperBound))"
    if others.isEmpty { return RowChoice(sql: range, bindings: []) }
    return RowChoice(
      sql: "(\(range) OR t0._pk IN \(SQLite.boundKeys))", bindings: [SQLite.list(others)])
  }
}

// Which rows a request is for.
extension BatchRun {
  /// The condition of a request where SQL has an exact form of it that cannot fail, and it has no window.
  func condition(_ run: FetchRun) throws -> RowChoice? {
    guard run.limit == nil, run.offset == 0 else { return nil }
    let query = try session.compile(run.query)
    let condition = query.condition
    guard condition.map({ $0.isExact && !$0.mayFail }) ?? true else { return nil }
    let text = query.restriction()
    return RowChoice(
      sql: text.isEmpty ? "1" : String(text.dropFirst(" WHERE ".count)), bindings: condition?.bindings ?? [],
      readRoots: condition?.readRoots ?? [])
  }

  func fetchRun<Object>(_ request: FetchRequest<Object>) throws -> FetchRun {
    try FetchRun(request, of: entity, in: reading)
  }

  // MARK: Related rows

  /// The objects that a relationship of some objects leads to.
  func related(_ relationship: RelationshipPlan, of keys: [ObjectKey]) throws -> [FetchedKey] {
    let destination = model.entities[relationship.destination]
    let start =
      "SELECT \(Self.keyColumns(of: destination, alias: "t0.")) FROM \(SQLite.quoted(destination.table)) AS t0 WHERE "
    let owner = model.entity(relationship.owner) ?? entity
    switch relationship.storage {
    case .reference(let column):
      let name = SQLite.quoted(owner.columns[column].name)
      return try self.keys(
        start
          + "t0._pk IN (SELECT \(name) FROM \(SQLite.quoted(owner.table)) WHERE _pk IN \(SQLite.boundKeys))",
        [SQLite.list(keys)], of: destination)
    case .inverseReference, .referencesOfOthers:
      guard let column = model.referenceColumn(behind: relationship) else { return [] }
      return try self.keys(
        start + "t0.\(SQLite.quoted(column.name)) IN \(SQLite.boundKeys)", [SQLite.list(keys)],
        of: destination)
    case .join(let place, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      return try self.keys(
        start
          + "t0._pk IN (SELECT \(other) FROM \(SQLite.quoted(model.joins[place].table)) WHERE \(own) IN \(SQLite.boundKeys))",
        [SQLite.list(keys)], of: destination)
    }
  }

  /// The objects that have a relationship which leads to some objects.
  func owners(of relationship: RelationshipPlan, to keys: [ObjectKey]) throws -> [FetchedKey] {
    guard let owner = model.entity(relationship.owner) else { return [] }
    let start =
      "SELECT \(Self.keyColumns(of: owner, alias: "t0.")) FROM \(SQLite.quoted(owner.table)) AS t0 WHERE "
    switch relationship.storage {
    case .reference(let column):
      return try self.keys(
        start + "t0.\(SQLite.quoted(owner.columns[column].name)) IN \(SQLite.boundKeys)", [SQLite.list(keys)],
        of: owner)
    case .inverseReference, .referencesOfOthers:
      guard let column = model.referenceColumn(behind: relationship) else { return [] }
      let table = SQLite.quoted(model.entities[relationship.destination].table)
      return try self.keys(
        start
          + "t0._pk IN (SELECT \(SQLite.quoted(column.name)) FROM \(table) WHERE _pk IN \(SQLite.boundKeys))",
        [SQLite.list(keys)], of: owner)
    case .join(let place, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      return try self.keys(
        start
          + "t0._pk IN (SELECT \(own) FROM \(SQLite.quoted(model.joins[place].table)) WHERE \(other) IN \(SQLite.boundKeys))",
        [SQLite.list(keys)], of: owner)
    }
  }
}
