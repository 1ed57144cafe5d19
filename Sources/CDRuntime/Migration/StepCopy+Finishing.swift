import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What comes when all rows are there: duplicates, indexes, and whether all is right.
extension StepCopy {
  @inline(never)
  private func fresh(_ table: String) -> String { "\(Self.schema).\(SQLite.quoted(table))" }

  /// Deletes objects that a new constraint does not allow beside each other; what refers to them refers to the one
  /// that stays.
  func deduplicate(by rule: DuplicateRule) throws {
    guard let entity = plan.destination.entity(rule.entity), entity.storeIndex == 0 else { return }
    session.entity = entity.name
    defer { session.entity = nil }
    let columns = rule.properties.flatMap { key -> [String] in
      entity.slot(key).map { slot in slot.columns.map { entity.columns[$0].name } } ?? []
    }.map(SQLite.quoted)
    guard !columns.isEmpty else { return }
    var conditions = columns.map { "\($0) IS NOT NULL" }
    if entity.root != entity.index {
      let names = entity.subtree.map { SQLite.literal(plan.destination.entities[$0].name) }
      conditions.append("_entity IN (\(names.joined(separator: ", ")))")
    }
    let survivor = rule.survivor == .keepFirst ? "min" : "max"
    try session.execute("DROP TABLE IF EXISTS temp.gone")
    try session.execute("CREATE TEMP TABLE gone (pk INTEGER PRIMARY KEY, kept INTEGER NOT NULL)")
    try session.execute(
      "INSERT INTO temp.gone SELECT _pk, kept FROM (SELECT _pk, \(survivor)(_pk) OVER "
        + "(PARTITION BY \(columns.joined(separator: ", "))) AS kept FROM \(fresh(entity.table)) "
        + "WHERE \(conditions.joined(separator: " AND "))) WHERE _pk <> kept")
    try session.log?.countDuplicates(rule, session)
    try redirect(to: entity)
    try session.execute("DELETE FROM \(fresh(entity.table)) WHERE _pk IN (SELECT pk FROM temp.gone)")
    try session.execute("DROP TABLE temp.gone")
  }

  private func redirect(to entity: EntityPlan) throws {
    let model = plan.destination
    var seen: Set<String> = []
    for plan in model.entities where plan.storeIndex == 0 {
      for column in plan.columns where column.isReference {
        guard let relationship = plan.slots[column.slot].relationship,
          model.entities[relationship.destination].root == entity.root,
          seen.insert("\(plan.table)\u{0}\(column.name)").inserted
        else { continue }
        let name = SQLite.quoted(column.name)
        try session.execute(
          "UPDATE \(fresh(plan.table)) SET \(name) = (SELECT kept FROM temp.gone WHERE pk = \(name)) "
            + "WHERE \(name) IN (SELECT pk FROM temp.gone)")
      }
    }
    for join in model.joins where model.entities[join.source].storeIndex == 0 {
      for (column, side) in [("_source", join.source), ("_target", join.target)]
      where model.entities[side].root == entity.root {
        let table = fresh(join.table)
        try session.execute(
          "UPDATE OR IGNORE \(table) SET \(column) = (SELECT kept FROM temp.gone WHERE pk = \(column)) "
            + "WHERE \(column) IN (SELECT pk FROM temp.gone)")
        try session.execute("DELETE FROM \(table) WHERE \(column) IN (SELECT pk FROM temp.gone)")
      }
    }
  }

  func makeIndexes(_ layout: SQLiteSchema) throws {
    let present = Set(
      try session.rows("SELECT name FROM \(Self.schema).sqlite_master WHERE type = 'index'").compactMap {
        $0[0]
      })
    for index in layout.indexes where !present.contains(index.name) {
      let unique = index.sql.hasPrefix("CREATE UNIQUE INDEX ")
      let start = unique ? "CREATE UNIQUE INDEX " : "CREATE INDEX "
      do {
        try session.execute(start + "\(Self.schema)." + index.sql.dropFirst(start.count))
      } catch {
        guard unique, (error as? MigrationError)?.isConstraintViolation == true else { throw error }
        if let log = session.log {
          try log.findDuplicates(index.name, of: plan, session, schema: Self.schema)
          continue
        }
        throw try plan.duplicate(index.name, session, schema: Self.schema)
      }
    }
  }

  /// Whether what was made is what it should be, as far as statements can tell.
  ///
  /// - Parameter madeCount: How many objects there are more than rules have made.
  func verify(_ madeCount: Int64) throws {
    try session.verifyReferences(Self.schema, routeStep: plan)
    var wanted = madeCount
    for sourceMapping in plan.sourceMappings where plan.mapping.duplicates.isEmpty && !sourceMapping.isCustom
    {
      let condition = plan.condition(sourceMapping, "t0").map { " WHERE \($0)" } ?? ""
      wanted += try session.number(
        "SELECT count(*) FROM main.\(SQLite.quoted(sourceMapping.source.table)) AS t0\(condition)")
    }
    var found = 0 as Int64
    for root in plan.destination.entities where root.root == root.index && root.storeIndex == 0 {
      found += try session.number("SELECT count(*) FROM \(fresh(root.table))")
    }
    guard !plan.mapping.duplicates.isEmpty || wanted == found else {
      throw session.error(.verificationFailed("\(found) rows were made of \(wanted)"))
    }
  }
}

extension MigrationError {
  /// Whether a statement is at fault, and not the store.
  var isOfStatement: Bool {
    if case .store(let error) = reason { error.isOfStatement } else { false }
  }

  /// Whether a statement or a rule does not suit some row.
  var isOfRows: Bool { isOfStatement || isConstraintViolation }

  var isConstraintViolation: Bool {
    if case .store(.sqlite(_, let code, _, _)) = reason { code & 0xFF == 19 } else { false }
  }
}

extension StepPlan {
  /// The error for a unique index that could not be made, with the greatest key of equal rows.
  func duplicate(_ index: String, _ session: MigrationSession, schema: String) throws -> MigrationError {
    guard let (entity, constraint) = destination.uniqueConstraint(ofIndex: index) else {
      return error(.duplicate(properties: [index]))
    }
    let columns = entity.columnNames(of: constraint).map(SQLite.quoted)
    let conditions = destination.isPart(entity) + columns.map { "\($0) IS NOT NULL" }
    let key = try session.key(
      SQLText(
        text: "SELECT max(_pk) FROM \(schema).\(SQLite.quoted(entity.table)) "
          + "WHERE \(conditions.joined(separator: " AND ")) "
          + "GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 1"))
    return error(.duplicate(properties: constraint), entity.name, key)
  }
}

extension MigrationSession {
  /// Refuses references that lead nowhere.
  func verifyReferences(_ schema: String, routeStep plan: StepPlan) throws {
    try MigrationFaults.reach("foreign_key_check")
    let rows = try rows(
      "SELECT \"table\", rowid FROM pragma_foreign_key_check WHERE schema = \(SQLite.literal(schema)) LIMIT 1"
    )
    guard let row = rows.first else { return }
    throw plan.error(.danglingReference(table: row[0] ?? ""), nil, row[1].flatMap { Int64($0) })
  }
}

extension StepCopy {
  /// Lists the files of large values that no row of the new store refers to, to be removed as those of deleted
  /// objects are.
  func listLostFiles() throws {
    try session.listFiles(of: plan.source.fileColumns(ofStore: 0), in: Self.schema, at: plan.now)
    try session.keepFiles(of: plan.destination.fileColumns(ofStore: 0), in: Self.schema)
  }
}
