/// The texts of a model's statements on rows, by the places of the entities.
struct ModelSQL: Sendable {
  /// The statements on single rows.
  let rows: [EntitySQL]
  /// How the rows of each entity are selected, with those of all below it.
  let selects: [EntitySelect]

  init(_ model: ModelPlan) {
    rows = model.entities.map { EntitySQL($0) }
    selects = model.entities.map { EntitySelect($0, entities: model.entities) }
  }
}

/// The texts of an entity's statements on single rows.
struct EntitySQL: Sendable {
  let select: String
  let selectByKey: String
  let insert: String
  let delete: String

  init(_ plan: EntityPlan) {
    let table = SQLite.quoted(plan.table)
    let entity = plan.hasEntityColumn ? plan.name : nil
    let names = plan.columns.map { SQLite.quoted($0.name) }
    select = "SELECT " + (["_pk", "_version"] + names).joined(separator: ", ") + " FROM \(table)"
    selectByKey = select + " WHERE _pk = ?1"
    let system = entity == nil ? ["_pk", "_version"] : ["_pk", "_version", "_entity"]
    let parameters =
      ["?", "1"] + (entity.map { [SQLite.literal($0)] } ?? []) + names.map { _ in "?" }
    insert =
      "INSERT INTO \(table) (\((system + names).joined(separator: ", "))) "
      + "VALUES (\(parameters.joined(separator: ", ")))"
    delete = "DELETE FROM \(table) WHERE _pk = ?1 AND _version = ?2"
  }
}

/// How rows of an entity and of all below it are selected: one statement, whose columns are those of all.
struct EntitySelect: Sendable {
  /// `SELECT … FROM … AS t0`, without a condition.
  let sql: String
  /// The columns of `sql`, for statements with further ones.
  let columns: String
  /// `FROM … AS t0`.
  let source: String
  /// The same of nothing but `_pk` and `_version`, for rows whose objects are in memory.
  let keysSQL: String
  /// The statement's column with the name of the row's entity; nil where all rows are of one.
  let entityColumn: Int32?
  /// Where the statement has the columns of an entity, by its place; empty where they stand in order.
  let maps: [Int: [Int32]]
  /// The condition that a row is of the entity or of one below it; nil where all rows of the table are.
  let condition: String?

  /// The column of a statement's first value, after the key and the version.
  static let firstColumn: Int32 = 2

  init(_ plan: EntityPlan, entities: [EntityPlan]) {
    var names = plan.columns.map(\.name)
    var maps: [Int: [Int32]] = [:]
    if plan.isPolymorphic {
      var places = Dictionary(
        names.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
      for kind in plan.subtree.map({ entities[$0] }) {
        maps[kind.index] = kind.columns.map { column in
          if let place = places[column.name] { return Int32(place) + Self.firstColumn }
          places[column.name] = names.count
          names.append(column.name)
          return Int32(names.count - 1) + Self.firstColumn
        }
      }
      entityColumn = Int32(names.count) + Self.firstColumn
    } else {
      entityColumn = nil
    }
    self.maps = maps
    var columns = ["t0._pk", "t0._version"] + names.map { "t0." + SQLite.quoted($0) }
    if entityColumn != nil { columns.append("t0._entity") }
    source = "FROM \(SQLite.quoted(plan.table)) AS t0"
    self.columns = columns.joined(separator: ", ")
    keysSQL = "SELECT t0._pk, t0._version " + source
    sql = "SELECT \(self.columns) \(source)"
    condition =
      plan.root == plan.index
      ? nil
      : "t0._entity IN ("
        + plan.subtree.map { SQLite.literal(entities[$0].name) }.joined(separator: ", ") + ")"
  }
}
