import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Makes a new store of an old one, set by set: the old one is the connection's main database, the new one is
/// attached as `fresh`.
struct StepCopy {
  let plan: StepPlan
  let session: MigrationSession
  let metadata: StoreMetadata
  let policies: [MigrationPolicies.Key: any EntityMigrationPolicy]
  /// The file of the new store.
  let target: String
  /// The large values that are written.
  let files: NewExternalFiles

  static let schema = "fresh"
  private var schema: String { Self.schema }

  @inline(never)
  private func fresh(_ table: String) -> String { "\(schema).\(SQLite.quoted(table))" }

  /// Makes everything but what only the finished store can derive.
  ///
  /// - Parameter read: Opens the old store to be read as objects.
  func run(reading read: () throws -> PersistentStoreCoordinator) throws {
    try checkRows()
    let layout = SQLiteSchema(plan.destination, store: 0)
    for sql in SQLiteSchema.systemTables {
      try session.execute(sql.replacing("CREATE TABLE ", with: "CREATE TABLE \(schema)."))
    }
    for table in layout.layouts { try session.execute(table.sql(schema: schema)) }
    let nextKeys = try copySystemTables()
    try evaluate(read)
    // What the app's own code makes takes longest.
    let share = plan.hasCustom ? 0.1 : 0.9
    let mapped = plan.sourceMappings.filter { !$0.isCustom }
    let total = try mapped.reduce(Int64(1)) { try $0 + count($1) }
    var done: Int64 = 0
    for sourceMapping in mapped {
      session.entity = sourceMapping.destination.name
      session.report(share * Double(done) / Double(total))
      done += try insert(sourceMapping)
    }
    // What fails from now on is no calculation of a rule's.
    plan.mayFail = false
    let madeCount = try plan.hasCustom ? runPolicies(nextKeys, read) : relate()
    session.report(0.9)
    for rule in plan.mapping.duplicates { try deduplicate(by: rule) }
    try makeIndexes(layout)
    session.report(0.95)
    // A rehearsal leaves out what could not be made, and says so.
    if session.log?.hasProblems != true { try verify(madeCount) }
    // What says that the store is one comes last.
    try MigrationFaults.reach("metadata")
    do { try metadata.write(to: session.connection, schema: schema) } catch { throw session.wrapped(error) }
  }

  // MARK: Before

  /// Rows that no entity of the model claims would be lost without a word.
  private func checkRows() throws {
    for root in plan.source.entities
    where root.root == root.index && root.storeIndex == 0 && root.hasEntityColumn {
      let names = root.subtree.map { SQLite.literal(plan.source.entities[$0].name) }.joined(separator: ", ")
      let strange = try session.key(
        SQLText(text: "SELECT _pk FROM \(SQLite.quoted(root.table)) WHERE _entity NOT IN (\(names)) LIMIT 1"))
      if let strange {
        session.entity = root.name
        throw session.error(.verificationFailed("a row is of an unknown entity"), key: strange)
      }
    }
  }

  private func count(_ sourceMapping: StepPlan.SourceMapping) throws -> Int64 {
    let condition = plan.condition(sourceMapping, "t0").map { " WHERE \($0)" } ?? ""
    return try session.number(
      "SELECT count(*) FROM \(SQLite.quoted(sourceMapping.source.table)) AS t0\(condition)")
  }

  /// - Returns: The key after the last that is taken, by the place of the destination's root.
  private func copySystemTables() throws -> [Int: Int64] {
    let next = try plan.assignOffsets { root in
      try session.number(
        "SELECT max(coalesce((SELECT next FROM main._cdgen_keys WHERE entity = \(SQLite.literal(root.name))), 1), "
          + "coalesce((SELECT max(_pk) + 1 FROM \(SQLite.quoted(root.table))), 1))")
    }
    try keepMovedKeys()
    for (root, key) in next {
      let name = plan.destination.entities[root].name
      try session.run(
        "INSERT INTO fresh._cdgen_keys (entity, next) VALUES (\(bind: .string(name)), \(bind: .int(key)))")
    }
    try session.execute("INSERT INTO fresh._cdgen_history SELECT * FROM main._cdgen_history")
    try session.execute(
      "INSERT OR REPLACE INTO fresh.sqlite_sequence (rowid, name, seq) "
        + "SELECT (SELECT rowid FROM fresh.sqlite_sequence WHERE name = '_cdgen_history'), name, seq "
        + "FROM main.sqlite_sequence WHERE name = '_cdgen_history'")
    try session.execute("INSERT INTO fresh._cdgen_files SELECT * FROM main._cdgen_files")
    try session.execute(
      "INSERT INTO fresh._cdgen_metadata SELECT * FROM main._cdgen_metadata WHERE \(StoreMetadata.areValues)")
    return next
  }

  /// Notes which keys are others from now on, beside what earlier steps noted.
  private func keepMovedKeys() throws {
    let key = MovedKeys.metadataKey
    var list = MovedKeys.list(
      try session.rows(
        "SELECT value FROM main._cdgen_metadata WHERE key = \(SQLite.literal(key))"
      ).first?.first.flatMap(\.self) ?? "")
    var seen: Set<Int> = []
    // Identifiers lead on where the entity does. Those of any other entity name nothing any more, and what is kept for them
    // would lead identifiers of the destination's own objects astray.
    for sourceMapping in plan.sourceMappings where plan.goesOn(sourceMapping.mapping) {
      guard seen.insert(sourceMapping.source.index).inserted, sourceMapping.offset != 0 else { continue }
      for place in list.indices where list[place].entity == sourceMapping.source.name {
        list[place].entity = sourceMapping.destination.name
        list[place].offset += sourceMapping.offset
      }
      let root = plan.source.entities[sourceMapping.source.root]
      let below = try session.number(
        "SELECT max(coalesce((SELECT next FROM main._cdgen_keys WHERE entity = \(SQLite.literal(root.name))), 1), "
          + "coalesce((SELECT max(_pk) + 1 FROM \(SQLite.quoted(root.table))), 1))")
      list.append(
        MovedKeys(entity: sourceMapping.destination.name, below: below, offset: sourceMapping.offset))
    }
    guard !list.isEmpty else { return }
    try session.run(
      "INSERT INTO fresh._cdgen_metadata (key, value) VALUES (\(bind: .string(key)), \(bind: .string(MovedKeys.text(list))))"
    )
  }

  private func evaluate(_ read: () throws -> PersistentStoreCoordinator) throws {
    guard plan.sourceMappings.contains(where: { $0.chosen != nil || !$0.evaluations.isEmpty }) else { return }
    try EvaluatedRows(plan: plan, session: session, coordinator: try read()).makeAll()
    try OwnedRows(plan).leave(session)
  }

  // MARK: Rows

  private func insert(_ sourceMapping: StepPlan.SourceMapping) throws -> Int64 {
    let entity = sourceMapping.destination
    let offset = sourceMapping.offset == 0 ? "" : " + \(sourceMapping.offset)"
    var names = ["_pk", "_version"]
    var values: [SQLText] = ["t0._pk\(raw: offset)", "t0._version"]
    if entity.hasEntityColumn {
      names.append("_entity")
      values.append("\(raw: SQLite.literal(entity.name))")
    }
    for column in entity.columns {
      names.append(column.name)
      values.append(placeholder(column, sourceMapping) ?? plan.value(of: column, for: sourceMapping))
    }
    for (column, relationship) in plan.positions(in: plan.destination.entities[entity.root]) {
      let position = plan.position(relationship, for: sourceMapping)
      guard position != "NULL", !names.contains(column) else { continue }
      names.append(column)
      values.append("\(raw: position)")
    }
    let list = names.map(SQLite.quoted).joined(separator: ", ")
    let rows = self.rows(sourceMapping)
    let lacksValues =
      try session.log?.findMissingValues(of: sourceMapping, plan, from: rows, session) {
        placeholder($0, sourceMapping) != nil
      } ?? false
    let insert = lacksValues ? "INSERT OR IGNORE" : "INSERT"
    do {
      return try session.run(
        "\(raw: insert) INTO \(raw: fresh(entity.table)) (\(raw: list)) SELECT \(SQLText.joined(values, ", ")) \(raw: rows)"
      )
    } catch {
      throw try explained(error, sourceMapping)
    }
  }

  /// `FROM …` for the rows of a source mapping.
  private func rows(_ sourceMapping: StepPlan.SourceMapping) -> String {
    var sql = "FROM main.\(SQLite.quoted(sourceMapping.source.table)) AS t0"
    if let chosen = sourceMapping.chosen { sql += " JOIN \(chosen) AS e ON e.pk = t0._pk" }
    if sourceMapping.source.hasEntityColumn {
      sql += " WHERE t0._entity = \(SQLite.literal(sourceMapping.source.name))"
    }
    return sql
  }

  /// The same error with the row and the property, where a mandatory value is missing.
  private func explained(_ error: any Error, _ sourceMapping: StepPlan.SourceMapping) throws -> any Error {
    guard case .store(.sqlite(_, let code, let message, _))? = (error as? MigrationError)?.reason,
      code & 0xFF == 19
    else { return error }
    for column in sourceMapping.destination.columns
    where column.isMandatory && !plan.isDerived(column, in: sourceMapping.destination) {
      let value = plan.value(of: column, for: sourceMapping)
      let key = try session.key(
        "SELECT k FROM (SELECT t0._pk AS k, \(value) AS v \(raw: rows(sourceMapping))) WHERE v IS NULL LIMIT 1"
      )
      if let key {
        let property = sourceMapping.destination.slots[column.slot].name
        let reason = try leftBehind(property, of: sourceMapping, key) ?? .missingValue(property: property)
        return plan.error(reason, sourceMapping.destination.name, key)
      }
    }
    return plan.error(.verificationFailed(message), sourceMapping.destination.name)
  }

  /// The object that a row's relationship led to, where it is left behind; nil for what is no such relationship.
  func leftBehind(
    _ property: String, of sourceMapping: StepPlan.SourceMapping, _ key: Int64
  ) throws -> MigrationError.Reason? {
    guard let relationship = sourceMapping.destination.slot(property)?.relationship else { return nil }
    var former = sourceMapping.source.slot(property)?.relationship
    if case .objects(let value)? = plan.objects(of: sourceMapping, property) {
      former = plan.plainRelationship(value, of: sourceMapping.source) ?? former
    }
    guard let former else { return nil }
    let pairs = plan.pairs(former, of: sourceMapping.source)
    let new = plan.destination.entities[relationship.destination]
    let found = try session.key(
      SQLText(
        text: "SELECT p.target FROM (\(pairs.sql)) AS p WHERE p.owner = \(key) "
          + "AND \(plan.resolved("p.target", pairs.target, as: new)) IS NULL LIMIT 1"))
    guard let found else { return nil }
    var owner = pairs.target.name
    if plan.source.entities[pairs.target.root].hasEntityColumn {
      let rows = try session.rows(
        "SELECT _entity FROM main.\(SQLite.quoted(pairs.target.table)) WHERE _pk = \(found)")
      owner = rows.first?.first.flatMap(\.self) ?? owner
    }
    return .leftBehind(property: property, owner: owner, ownerKey: found)
  }

  // MARK: Pairs

  /// Fills the tables of pairs.
  @discardableResult func relate() throws -> Int64 {
    for join in plan.destination.joins where plan.destination.entities[join.source].storeIndex == 0 {
      session.entity = plan.destination.entities[join.source].name
      try fill(join)
    }
    session.entity = nil
    return 0
  }

  private func fill(_ join: JoinPlan) throws {
    for sourceMapping in plan.sourceMappings {
      for slot in sourceMapping.destination.slots {
        guard let relationship = slot.relationship,
          case .join(let number, let isSource) = relationship.storage,
          plan.destination.joins[number].table == join.table,
          let pairs = plan.pairs(of: sourceMapping, relationship.name),
          pairs.target.storeIndex == 0 || !relationship.isWithinStore
        else { continue }
        var names = isSource ? ["_source", "_target"] : ["_target", "_source"]
        var values = ["o", "t"]
        if isSource ? join.isOrdered : join.isInverseOrdered {
          names.append(isSource ? "_position" : "_inverse_position")
          values.append("a")
        }
        if isSource ? join.isInverseOrdered : join.isOrdered {
          names.append(isSource ? "_inverse_position" : "_position")
          values.append("b")
        }
        let list = names.map(SQLite.quoted).joined(separator: ", ")
        for rows in joined(sourceMapping, pairs, relationship) {
          try session.execute(
            "INSERT OR IGNORE INTO \(fresh(join.table)) (\(list)) SELECT \(values.joined(separator: ", ")) "
              + "FROM (\(rows)) WHERE t IS NOT NULL\(unreplaced(relationship)) ORDER BY \(isSource ? "o, t" : "t, o")"
          )
        }
      }
    }
  }
}
