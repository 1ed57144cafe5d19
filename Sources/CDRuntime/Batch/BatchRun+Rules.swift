#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What holds between rows: orders, counts, files.
extension BatchRun {
  /// The relationship at the other side.
  func inverse(of relationship: RelationshipPlan) -> RelationshipPlan? {
    relationship.inverseSlot.flatMap { model.entities[relationship.destination].relationship($0) }
  }

  /// Puts rows that a reference was set of behind those that the other side's ordered relationship has.
  ///
  /// - Parameter moved: Rows that may have a position from before.
  func place(_ relationship: RelationshipPlan, _ rows: RowChoice, moved: [ObjectKey] = []) throws {
    guard let inverse = inverse(of: relationship), let position = model.positionColumn(of: inverse),
      let column = model.referenceColumn(behind: inverse)
    else { return }
    let table = SQLite.quoted(entity.table)
    let (reference, place) = (SQLite.quoted(column.name), SQLite.quoted(position))
    if !moved.isEmpty {
      try execute(
        "UPDATE \(table) SET \(place) = NULL WHERE _pk IN \(SQLite.boundKeys)", [SQLite.list(moved)])
    }
    try execute(
      "UPDATE \(table) SET \(place) = _n.last + _n.place * \(Positions.gap) FROM ("
        + "SELECT t0._pk AS key, row_number() OVER (PARTITION BY t0.\(reference) ORDER BY t0._pk) AS place, "
        + "(SELECT coalesce(max(o.\(place)), 0) FROM \(table) AS o WHERE o.\(reference) = t0.\(reference)) AS last "
        + "FROM \(table) AS t0 WHERE t0.\(reference) IS NOT NULL AND t0.\(place) IS NULL AND \(rows.sql)) AS _n "
        + "WHERE \(table)._pk = _n.key", rows.bindings)
  }

  /// The objects that the references of rows lead to and whose side has a rule on how many there may be.
  func counted(behind relationship: RelationshipPlan, _ rows: RowChoice) throws -> [ObjectKey] {
    guard let inverse = inverse(of: relationship), Self.hasCountRule(inverse),
      case .reference(let column) = relationship.storage,
      let owner = model.entity(relationship.owner)
    else { return [] }
    let name = SQLite.quoted(owner.columns[column].name)
    return try keys(
      "SELECT DISTINCT t0.\(name) FROM \(SQLite.quoted(owner.table)) AS t0 WHERE t0.\(name) IS NOT NULL AND \(rows.sql)",
      rows.bindings, of: model.entities[relationship.destination]
    ).map(\.key)
  }

  func checkCounts(behind relationship: RelationshipPlan, _ rows: RowChoice) throws {
    guard let inverse = inverse(of: relationship) else { return }
    try checkCounts(of: inverse, of: try counted(behind: relationship, rows))
  }

  static func hasCountRule(_ relationship: RelationshipPlan) -> Bool {
    let description = relationship.description
    return !description.isOptional || description.minimumCount != nil || description.maximumCount != nil
  }

  /// Refuses objects that have too few or too many others.
  func checkCounts(of relationship: RelationshipPlan, of keys: [ObjectKey]) throws {
    guard !keys.isEmpty, let owner = model.entity(relationship.owner) else { return }
    let description = relationship.description
    let least = max(description.minimumCount ?? 0, description.isOptional ? 0 : 1)
    let most = description.isToMany ? description.maximumCount ?? Int.max : 1
    let count: String
    switch relationship.storage {
    case .reference: return
    case .inverseReference, .referencesOfOthers:
      guard let column = model.referenceColumn(behind: relationship) else { return }
      let table = SQLite.quoted(model.entities[relationship.destination].table)
      count = "SELECT count(*) FROM \(table) AS o WHERE o.\(SQLite.quoted(column.name)) = t0._pk"
    case .join(let place, let isSource):
      let table = SQLite.quoted(model.joins[place].table)
      count = "SELECT count(*) FROM \(table) AS o WHERE o.\(isSource ? "_source" : "_target") = t0._pk"
    }
    let statement = try connection.statement(
      // A name that no attribute can have: an attribute's would count instead.
      "SELECT t0._pk, (\(count)) AS _count FROM \(SQLite.quoted(owner.table)) AS t0 "
        + "WHERE t0._pk IN \(SQLite.boundKeys) AND NOT _count BETWEEN ? AND ? LIMIT \(BatchRowWriter.mostMistakes)"
    )
    defer { statement.reset() }
    statement.bind([SQLite.list(keys), .int(Int64(least)), .int(Int64(most))])
    var mistakes: [BatchMistake] = []
    while try statement.step() {
      mistakes.append(
        BatchMistake(
          entity: owner.name, property: relationship.name,
          reason: relationship.isToMany ? .wrongCount(Int(statement.int64(1))) : .missingValue,
          objectID: id(statement.int64(0), owner)))
    }
    if !mistakes.isEmpty { throw BatchError.invalid(mistakes) }
  }

  func id(_ key: ObjectKey, _ entity: EntityPlan) -> ManagedObjectID {
    ManagedObjectID(storeID: context.scopes[entity.index].storeID, entityName: entity.name, key: key)
  }

  /// Lists the files that rows refer to, for a later collection.
  func listFiles(_ slots: [PropertyPlan], of entity: EntityPlan, _ rows: RowChoice) throws {
    guard let store = stores.store(of: entity), store.files != nil else { return }
    for slot in slots where slot.attribute?.storesExternally == true {
      for column in slot.columns.map({ SQLite.quoted(entity.columns[$0].name) }) {
        try execute(
          "INSERT OR REPLACE INTO \(stores.schema(of: store)).\"_cdgen_files\" (\"name\", \"time\") "
            + "SELECT t0.\(column), \(now.timeIntervalSinceReferenceDate) FROM \(SQLite.quoted(entity.table)) AS t0 "
            + "WHERE typeof(t0.\(column)) = 'text' AND \(rows.sql)", rows.bindings)
      }
    }
  }
}
