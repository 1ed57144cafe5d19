import CDMapping
import CDModel

/// Makes the objects of a step's result unique: deletes duplicates and creates the indexes.
struct StepUniqueness {
  let plan: StepPlan
  let session: MigrationSession
  /// The schema of the new store in the session's connection.
  let schema: String

  @inline(never)
  private func newTable(_ table: String) -> String { "\(schema).\(SQLText.quoted(table))" }

  /// Applies rules for duplicates. A constraint may contain a reference, and a rule changes the references to deleted
  /// objects, which can make further objects equal. The rules are then applied again.
  ///
  /// - Parameter counted: The rules that a rehearsal reports even if they delete nothing; nil for all.
  /// - Returns: Whether objects were deleted.
  @_optimize(none)
  @discardableResult
  func deduplicate(by rules: [DuplicateRule], counting counted: [DuplicateRule]? = nil) throws -> Bool {
    let readsReferences = rules.contains { rule in
      rule.properties.contains { plan.destination.entity(rule.entity)?.slot($0)?.relationship != nil }
    }
    var isFirst = true
    var hasDeleted = true
    var hasDeletedAny = false
    while hasDeleted, isFirst || readsReferences {
      hasDeleted = false
      for rule in rules {
        let isCounted = isFirst && counted?.contains(rule) != false
        if try deduplicate(by: rule, isCounted: isCounted) { hasDeleted = true }
      }
      if hasDeleted { hasDeletedAny = true }
      isFirst = false
    }
    return hasDeletedAny
  }

  /// Deletes objects that have the same values of a new constraint's properties, except one. References to the deleted
  /// objects are changed to the one that stays.
  ///
  /// - Returns: Whether objects were deleted.
  @_optimize(none)
  private func deduplicate(by rule: DuplicateRule, isCounted: Bool) throws -> Bool {
    guard let entity = plan.destination.entity(rule.entity), entity.storeIndex == 0 else { return false }
    session.entity = entity.name
    defer { session.entity = nil }
    let columns = entity.columnNames(ofUnique: rule.properties).map(SQLText.quoted)
    guard !columns.isEmpty else { return false }
    var conditions = columns.map { "\($0) IS NOT NULL" }
    if entity.root != entity.index {
      let names = entity.subtree.map { SQLText.literal(plan.destination.entities[$0].name) }
      conditions.append("_entity IN (\(names.joined(separator: ", ")))")
    }
    let survivor = rule.survivor == .keepFirst ? "min" : "max"
    try session.execute("DROP TABLE IF EXISTS temp.gone")
    try session.execute("CREATE TEMP TABLE gone (pk INTEGER PRIMARY KEY, kept INTEGER NOT NULL)")
    try session.execute(
      "INSERT INTO temp.gone SELECT _pk, kept FROM (SELECT _pk, \(survivor)(_pk) OVER "
        + "(PARTITION BY \(columns.joined(separator: ", "))) AS kept FROM \(newTable(entity.table)) "
        + "WHERE \(conditions.joined(separator: " AND "))) WHERE _pk <> kept")
    let hasDeleted = try session.number("SELECT count(*) FROM temp.gone") > 0
    if isCounted || hasDeleted { try session.log?.countDuplicates(rule, session) }
    if hasDeleted {
      let key = try session.key("SELECT min(pk) FROM temp.gone")
      try plan.checkDuplicates(of: entity, deleting: key)
      try redirect(to: entity)
      try session.execute("DELETE FROM \(newTable(entity.table)) WHERE _pk IN (SELECT pk FROM temp.gone)")
    }
    try session.execute("DROP TABLE temp.gone")
    return hasDeleted
  }

  @_optimize(none)
  private func redirect(to entity: EntityPlan) throws {
    let model = plan.destination
    var seen: Set<String> = []
    for plan in model.entities where plan.storeIndex == 0 {
      for column in plan.columns where column.isReference {
        guard let relationship = plan.slots[column.slot].relationship,
          model.entities[relationship.destination].root == entity.root,
          seen.insert("\(plan.table)\u{0}\(column.name)").inserted
        else { continue }
        let name = SQLText.quoted(column.name)
        let isCleared = relationship.isOneToOne && relationship.description.isOptional
        let isSymmetric = isCleared && relationship.isSymmetric
        if isSymmetric { try clearPairs(name, in: newTable(plan.table)) }
        if isCleared {
          try clearSurplus(name, in: newTable(plan.table), isOwn: plan.table == entity.table)
        }
        try session.execute(
          "UPDATE \(newTable(plan.table)) SET \(name) = (SELECT kept FROM temp.gone WHERE pk = \(name)) "
            + "WHERE \(name) IN (SELECT pk FROM temp.gone)")
        if isSymmetric { try repairPairs(name, in: newTable(plan.table)) }
      }
    }
    for join in model.joins where model.entities[join.source].storeIndex == 0 {
      for (column, side) in [("_source", join.source), ("_target", join.target)]
      where model.entities[side].root == entity.root {
        let table = newTable(join.table)
        try session.execute(
          "UPDATE OR IGNORE \(table) SET \(column) = (SELECT kept FROM temp.gone WHERE pk = \(column)) "
            + "WHERE \(column) IN (SELECT pk FROM temp.gone)")
        try session.execute("DELETE FROM \(table) WHERE \(column) IN (SELECT pk FROM temp.gone)")
      }
    }
  }

  /// Clears one-to-one references that would lead to the same object after duplicates are deleted, except one. The
  /// reference that led to this object before stays.
  ///
  /// - Parameter isOwn: Whether the table contains the duplicates.
  @_optimize(none)
  private func clearSurplus(_ column: String, in table: String, isOwn: Bool) throws {
    let condition = isOwn ? " AND o._pk NOT IN (SELECT pk FROM temp.gone)" : ""
    try session.execute(
      "UPDATE \(table) SET \(column) = NULL WHERE _pk IN (SELECT pk FROM (SELECT o._pk AS pk, "
        + "row_number() OVER (PARTITION BY coalesce(g.kept, o.\(column)) ORDER BY g.kept IS NOT NULL, o._pk) AS n "
        + "FROM \(table) AS o LEFT JOIN temp.gone AS g ON g.pk = o.\(column) "
        + "WHERE o.\(column) IS NOT NULL\(condition)) WHERE n > 1)")
  }

  /// Clears references of a symmetric relationship that would lead to their own object after duplicates are deleted.
  @_optimize(none)
  private func clearPairs(_ column: String, in table: String) throws {
    try session.execute(
      "UPDATE \(table) AS d SET \(column) = NULL "
        + "WHERE d.\(column) IN (SELECT pk FROM temp.gone WHERE kept = d._pk)")
  }

  /// Gives both objects of a symmetric relationship the same pair, after references to deleted objects were changed. The
  /// object that stays may have another partner, or it had none.
  @_optimize(none)
  private func repairPairs(_ column: String, in table: String) throws {
    try session.execute(
      "UPDATE \(table) SET \(column) = NULL WHERE _pk IN (SELECT o._pk FROM \(table) AS o "
        + "JOIN \(table) AS d ON d._pk = o.\(column) WHERE d.\(column) <> o._pk "
        + "AND d._pk IN (SELECT kept FROM temp.gone) AND o._pk NOT IN (SELECT pk FROM temp.gone))")
    try session.execute(
      "UPDATE \(table) AS d SET \(column) = o._pk FROM \(table) AS o WHERE o.\(column) = d._pk "
        + "AND d.\(column) IS NULL AND d._pk IN (SELECT kept FROM temp.gone) "
        + "AND o._pk NOT IN (SELECT pk FROM temp.gone)")
  }

  /// Creates the indexes that the store does not have yet.
  @_optimize(none)
  func makeIndexes(_ indexes: [IndexLayout]) throws {
    let present = Set(
      try session.rows("SELECT name FROM \(schema).sqlite_master WHERE type = 'index'").compactMap {
        $0[0]
      })
    for index in indexes where !present.contains(index.name) {
      let start = index.isUnique ? "CREATE UNIQUE INDEX " : "CREATE INDEX "
      do {
        try session.execute(start + "\(schema)." + index.sql.dropFirst(start.count))
      } catch {
        guard index.isUnique, (error as? MigrationError)?.isConstraintViolation == true else { throw error }
        if let log = session.log {
          try log.findDuplicates(index.name, of: plan, session, schema: schema)
          continue
        }
        throw try plan.duplicate(index.name, session, schema: schema)
      }
    }
  }
}
