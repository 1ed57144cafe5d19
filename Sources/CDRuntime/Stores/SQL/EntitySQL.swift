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
  private static let firstColumn: Int32 = 2

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

/// Where the rows of a to-many relationship are, for a statement that selects its objects as `t0`.
struct RelatedSQL {
  /// What is joined; empty for references in the objects' own rows.
  let join: String
  /// The column with the key of the object that has the relationship.
  let owner: String
  /// The terms of ORDER BY that give the relationship's order.
  let order: String
  /// The column with an object's position; nil for a relationship that is not ordered.
  let position: String?

  init(_ relationship: RelationshipPlan, _ model: ModelPlan) {
    switch relationship.storage {
    case .join(let place, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      join = " JOIN \(SQLite.quoted(model.joins[place].table)) AS j ON j.\(other) = t0._pk"
      owner = "j.\(own)"
      position = relationship.isOrdered ? (isSource ? "j._position" : "j._inverse_position") : nil
    case .referencesOfOthers, .reference, .inverseReference:
      let column = model.referenceColumn(behind: relationship).map { SQLite.quoted($0.name) } ?? "_pk"
      join = ""
      owner = "t0.\(column)"
      position = model.positionColumn(of: relationship).map { "t0." + SQLite.quoted($0) }
    }
    order = (position.map { $0 + ", " } ?? "") + "t0._pk"
  }
}

/// The statements on the positions of a relationship's objects.
struct PositionSQL {
  /// The greatest position of an object's related ones.
  let maximum: String
  /// The related objects that have a position, in their order.
  let others: String
  /// Sets a position: parameters are the position, the object and the related one.
  let update: String
  /// The same for an object that was related just now, of which nobody knows whether it was so before: one that
  /// has a position keeps it.
  let updateNew: String

  /// Nil for a relationship without positions.
  init?(_ relationship: RelationshipPlan, in model: ModelPlan) {
    switch relationship.storage {
    case .join(let place, let isSource):
      let table = SQLite.quoted(model.joins[place].table)
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      let position = isSource ? "_position" : "_inverse_position"
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(own) = ?1"
      others =
        "SELECT \(other) FROM \(table) WHERE \(own) = ?1 AND \(position) IS NOT NULL ORDER BY \(position), \(other)"
      update = "UPDATE \(table) SET \(position) = ?1 WHERE \(own) = ?2 AND \(other) = ?3"
      updateNew = update + " AND \(position) IS NULL"
    case .referencesOfOthers:
      guard let column = model.referenceColumn(behind: relationship).map({ SQLite.quoted($0.name) }),
        let position = model.positionColumn(of: relationship).map(SQLite.quoted)
      else { return nil }
      let table = SQLite.quoted(model.entities[relationship.destination].table)
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(column) = ?1"
      others =
        "SELECT _pk FROM \(table) WHERE \(column) = ?1 AND \(position) IS NOT NULL ORDER BY \(position), _pk"
      update = "UPDATE \(table) SET \(position) = ?1 WHERE \(column) = ?2 AND _pk = ?3"
      // Its reference was written just now: a position would be that among the objects of another.
      updateNew = update
    case .reference, .inverseReference: return nil
    }
  }
}

// What statements about unique constraints are made of.
extension EntityPlan {
  /// The columns of some properties.
  func columnNames(of properties: [String]) -> [String] {
    properties.flatMap { key in slot(key).map { slot in slot.columns.map { columns[$0].name } } ?? [] }
  }
}

extension ModelPlan {
  /// The condition that a row is of an entity or of those below it; none where all rows of its table are.
  func isPart(_ entity: EntityPlan, _ alias: String = "") -> [String] {
    guard entity.root != entity.index else { return [] }
    let names = entity.subtree.map { SQLite.literal(entities[$0].name) }
    return ["\(alias)_entity IN (\(names.joined(separator: ", ")))"]
  }

  /// The constraint that a unique index keeps, by the index's name.
  func uniqueConstraint(ofIndex index: String) -> (entity: EntityPlan, properties: [String])? {
    for entity in entities {
      for constraint in entity.description.uniquenessConstraints
      where index == "\(entity.name).unique.\(constraint.joined(separator: "."))" {
        return (entity, constraint)
      }
    }
    return nil
  }
}
