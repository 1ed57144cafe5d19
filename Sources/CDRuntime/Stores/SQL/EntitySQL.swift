/// The SQL statements on a model's rows, by the indexes of the entities.
package struct ModelSQL: Sendable {
  package let dialect: any SQLDialect
  /// The statements on single rows.
  package let rows: [EntitySQL]
  /// The SELECT of each entity, which includes the rows of its subentities.
  package let selects: [EntitySelect]

  /// Makes the statements on all entities of a model.
  package init(_ model: ModelPlan, _ dialect: any SQLDialect) {
    self.dialect = dialect
    rows = model.entities.map { EntitySQL($0, dialect) }
    selects = model.entities.map { EntitySelect($0, entities: model.entities, dialect) }
  }
}

/// The SQL statements on an entity's single rows.
package struct EntitySQL: Sendable {
  /// Selects the row of a key. It may leave large values out: see ``SQLDialect/laterValue(_:)``.
  package let selectByKey: String
  /// Inserts a row with version 1. The parameters are the key and the values of the columns.
  package var insert: String { "INSERT INTO \(insertedColumns) VALUES \(insertedRow)" }
  /// The table and the columns of an INSERT.
  package let insertedColumns: String
  /// The values of one row of an INSERT. The parameters are those of ``insert``.
  package let insertedRow: String
  /// The number of parameters of a row.
  package let parameterCount: Int
  /// Deletes the row of a key and a version.
  package let delete: String

  /// Makes the statements on the rows of exactly this entity.
  package init(_ plan: EntityPlan, _ dialect: any SQLDialect) {
    let table = dialect.table(plan.table)
    let entity = plan.hasEntityColumn ? plan.name : nil
    let names = plan.columns.map { SQLText.quoted($0.name) }
    func select(_ values: [String]) -> String {
      "SELECT " + (["_pk", "_version"] + values).joined(separator: ", ") + " FROM \(table)"
    }
    var marked = names
    for column in plan.laterColumns { marked[column] = dialect.laterValue(names[column]) ?? names[column] }
    selectByKey = select(marked) + " WHERE _pk = ?"
    let system = entity == nil ? ["_pk", "_version"] : ["_pk", "_version", "_entity"]
    let parameters =
      ["?", "1"] + (entity.map { [SQLText.literal($0)] } ?? []) + names.map { _ in "?" }
    insertedColumns = "\(table) (\((system + names).joined(separator: ", ")))"
    insertedRow = "(\(parameters.joined(separator: ", ")))"
    parameterCount = names.count + 1
    delete = "DELETE FROM \(table) WHERE _pk = ? AND _version = ?"
  }
}

/// The SELECT for rows of an entity and its subentities: one statement with the columns of all of them. It is a class so
/// that passing it costs little: a lookup of one object passes it.
package final class EntitySelect: Sendable {
  /// `SELECT … FROM … AS t0`, without a condition.
  package let sql: String
  /// The columns of `sql`, for statements that add more columns.
  package let columns: String
  /// The number of ``columns``.
  package let columnCount: Int
  /// `FROM … AS t0`.
  package let source: String
  /// Like `sql`, but with only `_pk` and `_version`, for rows whose objects are already in memory.
  package let keysSQL: String
  /// The statement's column with the name of the row's entity; nil if all rows are of one entity.
  package let entityColumn: Int32?
  /// The statement's columns for each entity, by the entity's index. Empty if the columns are in the entity's own
  /// order.
  package let maps: [Int: [Int32]]
  /// The condition that a row is of the entity or a subentity; nil if this is so for all rows of the table.
  package let condition: String?

  /// The column of a statement's first value, after the key and the version.
  private static let firstColumn: Int32 = 2

  /// Makes the SELECT of an entity.
  package init(_ plan: EntityPlan, entities: [EntityPlan], _ dialect: any SQLDialect) {
    var names = plan.columns.map(\.name)
    var maps: [Int: [Int32]] = [:]
    if plan.isPolymorphic {
      var columnIndices = Dictionary(
        names.enumerated().map { ($0.element, $0.offset) }, uniquingKeysWith: { first, _ in first })
      for kind in plan.subtree.map({ entities[$0] }) {
        maps[kind.index] = kind.columns.map { column in
          if let index = columnIndices[column.name] { return Int32(index) + Self.firstColumn }
          columnIndices[column.name] = names.count
          names.append(column.name)
          return Int32(names.count - 1) + Self.firstColumn
        }
      }
      entityColumn = Int32(names.count) + Self.firstColumn
    } else {
      entityColumn = nil
    }
    self.maps = maps
    let later = Set(
      plan.subtree.map { entities[$0] }.flatMap { kind in kind.laterColumns.map { kind.columns[$0].name } })
    var columns =
      ["t0._pk", "t0._version"]
      + names.map { name in
        let column = "t0." + SQLText.quoted(name)
        return later.contains(name) ? dialect.laterValue(column) ?? column : column
      }
    if entityColumn != nil { columns.append("t0._entity") }
    source = "FROM \(dialect.table(plan.table)) AS t0"
    self.columns = columns.joined(separator: ", ")
    columnCount = columns.count
    keysSQL = "SELECT t0._pk, t0._version " + source
    sql = "SELECT \(self.columns) \(source)"
    condition =
      plan.root == plan.index
      ? nil
      : "t0._entity IN ("
        + plan.subtree.map { SQLText.literal(entities[$0].name) }.joined(separator: ", ") + ")"
  }
}

/// The parts of a statement that selects the objects of a to-many relationship as `t0`.
package struct RelatedSQL {
  /// The JOIN clause; empty if the objects' own rows contain the references.
  package let join: String
  /// The column with the key of the owner of the relationship.
  package let owner: String
  /// The terms of ORDER BY that give the relationship's order.
  package let order: String
  /// The column with an object's position; nil if the relationship is not ordered.
  package let position: String?

  /// Makes the parts for a to-many relationship.
  package init(_ relationship: RelationshipPlan, _ model: ModelPlan, _ dialect: any SQLDialect) {
    switch relationship.storage {
    case .join(let index, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      join = " JOIN \(dialect.table(model.joins[index].table)) AS j ON j.\(other) = t0._pk"
      owner = "j.\(own)"
      position = relationship.isOrdered ? (isSource ? "j._position" : "j._inverse_position") : nil
    case .referencesOfOthers, .reference, .inverseReference:
      let column = model.inverseReferenceColumn(of: relationship).map { SQLText.quoted($0.name) } ?? "_pk"
      join = ""
      owner = "t0.\(column)"
      position = model.positionColumn(of: relationship).map { "t0." + SQLText.quoted($0) }
    }
    let direction = dialect.direction(.int(.min...(.max)), [], isAscending: true) ?? ""
    order = (position.map { $0 + direction + ", " } ?? "") + "t0._pk"
  }
}

/// The statement that selects the pairs of a join table that have any of many objects on one side.
package struct PairSQL {
  /// Selects the objects on that side, those on the other side, and the positions on both sides. It ends before the list
  /// of keys.
  package let select: String

  /// - Parameter isSource: Whether the objects are the source of the pairs.
  package init(ofJoin index: Int, isSource: Bool, _ model: ModelPlan, _ dialect: any SQLDialect) {
    let join = model.joins[index]
    let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
    let positions = [
      join.isOrdered ? "j._position" : "NULL", join.isInverseOrdered ? "j._inverse_position" : "NULL",
    ]
    let columns = ["j.\(own)", "j.\(other)"] + (isSource ? positions : positions.reversed())
    select =
      "SELECT \(columns.joined(separator: ", ")) FROM \(dialect.table(join.table)) AS j WHERE j.\(own)"
  }
}

/// The statements on the positions of a relationship's objects.
package struct PositionSQL {
  /// Selects the greatest position among the related objects.
  package let maximum: String
  /// Selects the related objects that have a position, in the order of the positions.
  package let others: String
  /// Sets a position. The parameters are the position, the owner and the related object.
  package let update: String
  /// Sets the position of an object that was just added to the relationship. A pair of a join table may have existed
  /// before; it then keeps its position.
  package let updateNew: String

  /// Returns nil for a relationship without positions.
  package init?(_ relationship: RelationshipPlan, in model: ModelPlan, _ dialect: any SQLDialect) {
    switch relationship.storage {
    case .join(let index, let isSource):
      let table = dialect.table(model.joins[index].table)
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      let position = isSource ? "_position" : "_inverse_position"
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(own) = ?"
      others =
        "SELECT \(other) FROM \(table) WHERE \(own) = ? AND \(position) IS NOT NULL ORDER BY \(position), \(other)"
      update = "UPDATE \(table) SET \(position) = ? WHERE \(own) = ? AND \(other) = ?"
      updateNew = update + " AND \(position) IS NULL"
    case .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship).map({ SQLText.quoted($0.name) }),
        let position = model.positionColumn(of: relationship).map(SQLText.quoted)
      else { return nil }
      let table = dialect.table(model.entities[relationship.destination].table)
      maximum = "SELECT coalesce(max(\(position)), 0) FROM \(table) WHERE \(column) = ?"
      others =
        "SELECT _pk FROM \(table) WHERE \(column) = ? AND \(position) IS NOT NULL ORDER BY \(position), _pk"
      update = "UPDATE \(table) SET \(position) = ? WHERE \(column) = ? AND _pk = ?"
      // The reference has just been written, so an old position belongs to another owner.
      updateNew = update
    case .reference, .inverseReference: return nil
    }
  }
}

// The parts of statements for unique constraints.
extension EntityPlan {
  /// The names of the columns of a `unique:` list; empty if nothing can violate the list.
  package func columnNames(ofUnique properties: [String]) -> [String] {
    uniqueColumnNumbers(properties).map { columns[$0].name }
  }
}

extension ModelPlan {
  /// The condition that a row is of an entity or a subentity; empty if this is so for all rows of its table.
  package func isPart(_ entity: EntityPlan, _ alias: String = "") -> [String] {
    guard entity.root != entity.index else { return [] }
    let names = entity.subtree.map { SQLText.literal(entities[$0].name) }
    return ["\(alias)_entity IN (\(names.joined(separator: ", ")))"]
  }

  /// Selects the keys and the entities of the rows of a root's table that cannot be objects, in the order of the keys: the
  /// model does not have their entity, or the entity is abstract. Nil if all rows can be objects.
  ///
  /// - Parameter table: The form in which the statement finds the table.
  @_optimize(none)
  package func strangeRows(of root: EntityPlan, table: String) -> String? {
    let names = root.subtree.map { entities[$0] }.filter { !$0.description.isAbstract }.map {
      SQLText.literal($0.name)
    }
    guard root.hasEntityColumn else {
      return names.isEmpty ? "SELECT _pk, \(SQLText.literal(root.name)) FROM \(table) ORDER BY _pk" : nil
    }
    let condition = names.isEmpty ? "" : " WHERE _entity NOT IN (\(names.joined(separator: ", ")))"
    return "SELECT _pk, _entity FROM \(table)\(condition) ORDER BY _pk"
  }

  /// Select the keys and the entities of the rows of a root's table that have a reference although their entity does not
  /// have the relationship, by the column of the reference. Objects do not show such a reference, but joins and foreign keys
  /// follow it.
  ///
  /// - Parameter table: The form in which the statements find the table.
  @_optimize(none)
  package func strangeReferences(of root: EntityPlan, table: String) -> [(column: String, sql: String)] {
    guard root.hasEntityColumn else { return [] }
    let kinds = root.subtree.map { entities[$0] }.filter { !$0.description.isAbstract }
    let columns = Set(kinds.flatMap(\.columns).filter(\.isReference).map(\.name))
    return columns.ordered().compactMap { column -> (column: String, sql: String)? in
      let others = kinds.filter { kind in !kind.columns.contains { $0.name == column } }
      if others.isEmpty { return nil }
      let names = others.map { SQLText.literal($0.name) }.joined(separator: ", ")
      return (
        column,
        "SELECT _pk, _entity FROM \(table) WHERE \(SQLText.quoted(column)) IS NOT NULL "
          + "AND _entity IN (\(names)) ORDER BY _pk"
      )
    }
  }

  /// The unique constraint of a unique index, found by the index's name.
  package func uniqueConstraint(ofIndex index: String) -> (entity: EntityPlan, properties: [String])? {
    for entity in entities {
      for constraint in entity.description.uniquenessConstraints
      where index == "\(entity.name).unique.\(constraint.joined(separator: "."))"
        && !entity.uniqueColumnNumbers(constraint).isEmpty
      {
        return (entity, constraint)
      }
    }
    return nil
  }

  /// The one-to-one relationship whose references a unique index keeps different, found by the index's name.
  @_optimize(none)
  func oneToOneReference(ofIndex index: String) -> (entity: EntityPlan, properties: [String])? {
    for entity in entities {
      for column in entity.columns where column.isReference && index == "\(entity.table).\(column.name)" {
        guard let relationship = entity.slots[column.slot].relationship, relationship.isOneToOne else {
          continue
        }
        return (entity, [relationship.name])
      }
    }
    return nil
  }

  /// Selects the greatest key of a group of rows that have equal values in properties of an entity.
  ///
  /// - Parameter table: The form in which the statement finds the table.
  @_optimize(none)
  package func equalRows(of entity: EntityPlan, _ properties: [String], table: String) -> String {
    let columns = entity.columnNames(ofUnique: properties).map(SQLText.quoted)
    let conditions = isPart(entity) + columns.map { "\($0) IS NOT NULL" }
    return "SELECT max(_pk) FROM \(table) WHERE \(conditions.joined(separator: " AND ")) "
      + "GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 1"
  }
}
