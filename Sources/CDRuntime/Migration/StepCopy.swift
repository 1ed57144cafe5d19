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
    let mapped = plan.takers.filter { !$0.isCustom }
    let total = try mapped.reduce(Int64(1)) { try $0 + count($1) }
    var done: Int64 = 0
    for taker in mapped {
      session.entity = taker.destination.name
      session.report(share * Double(done) / Double(total))
      done += try insert(taker)
    }
    // What fails from now on is no calculation of a rule's.
    plan.mayFail = false
    let madeCount = try plan.hasCustom ? runPolicies(nextKeys, read) : relate()
    session.report(0.9)
    for rule in plan.mapping.duplicates { try thin(by: rule) }
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
    for root in plan.source.entities where root.root == root.index && root.home == 0 && root.hasEntityColumn {
      let names = root.kinds.map { SQLite.literal(plan.source.entities[$0].name) }.joined(separator: ", ")
      let strange = try session.key(
        SQLText(text: "SELECT _pk FROM \(SQLite.quoted(root.table)) WHERE _entity NOT IN (\(names)) LIMIT 1"))
      if let strange {
        session.entity = root.name
        throw session.error(.verificationFailed("a row is of an unknown entity"), key: strange)
      }
    }
  }

  private func count(_ taker: StepPlan.Taker) throws -> Int64 {
    let condition = plan.condition(taker, "t0").map { " WHERE \($0)" } ?? ""
    return try session.number("SELECT count(*) FROM \(SQLite.quoted(taker.source.table)) AS t0\(condition)")
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
    for taker in plan.takers where seen.insert(taker.source.index).inserted && taker.offset != 0 {
      for place in list.indices where list[place].entity == taker.source.name {
        list[place].entity = taker.destination.name
        list[place].offset += taker.offset
      }
      let root = plan.source.entities[taker.source.root]
      let below = try session.number(
        "SELECT max(coalesce((SELECT next FROM main._cdgen_keys WHERE entity = \(SQLite.literal(root.name))), 1), "
          + "coalesce((SELECT max(_pk) + 1 FROM \(SQLite.quoted(root.table))), 1))")
      list.append(MovedKeys(entity: taker.destination.name, below: below, offset: taker.offset))
    }
    guard !list.isEmpty else { return }
    try session.run(
      "INSERT INTO fresh._cdgen_metadata (key, value) VALUES (\(bind: .string(key)), \(bind: .string(MovedKeys.text(list))))"
    )
  }

  private func evaluate(_ read: () throws -> PersistentStoreCoordinator) throws {
    guard plan.takers.contains(where: { $0.chosen != nil || !$0.evaluations.isEmpty }) else { return }
    try EvaluatedRows(plan: plan, session: session, coordinator: try read()).makeAll()
    try OwnedRows(plan).leave(session)
  }

  // MARK: Rows

  private func insert(_ taker: StepPlan.Taker) throws -> Int64 {
    let entity = taker.destination
    let offset = taker.offset == 0 ? "" : " + \(taker.offset)"
    var names = ["_pk", "_version"]
    var values: [SQLText] = ["t0._pk\(raw: offset)", "t0._version"]
    if entity.hasEntityColumn {
      names.append("_entity")
      values.append("\(raw: SQLite.literal(entity.name))")
    }
    for column in entity.columns {
      names.append(column.name)
      values.append(placeholder(column, taker) ?? plan.value(of: column, for: taker))
    }
    for (column, relationship) in plan.positions(in: plan.destination.entities[entity.root]) {
      let position = plan.position(relationship, for: taker)
      guard position != "NULL", !names.contains(column) else { continue }
      names.append(column)
      values.append("\(raw: position)")
    }
    let list = names.map(SQLite.quoted).joined(separator: ", ")
    let rows = self.rows(taker)
    let lacksValues =
      try session.log?.findMissingValues(of: taker, plan, from: rows, session) {
        placeholder($0, taker) != nil
      } ?? false
    let insert = lacksValues ? "INSERT OR IGNORE" : "INSERT"
    do {
      return try session.run(
        "\(raw: insert) INTO \(raw: fresh(entity.table)) (\(raw: list)) SELECT \(SQLText.joined(values, ", ")) \(raw: rows)"
      )
    } catch {
      throw try explained(error, taker)
    }
  }

  /// `FROM …` for the rows of a taker.
  private func rows(_ taker: StepPlan.Taker) -> String {
    var sql = "FROM main.\(SQLite.quoted(taker.source.table)) AS t0"
    if let chosen = taker.chosen { sql += " JOIN \(chosen) AS e ON e.pk = t0._pk" }
    if taker.source.hasEntityColumn { sql += " WHERE t0._entity = \(SQLite.literal(taker.source.name))" }
    return sql
  }

  /// The same error with the row and the property, where a mandatory value is missing.
  private func explained(_ error: any Error, _ taker: StepPlan.Taker) throws -> any Error {
    guard case .store(.sqlite(_, let code, let message, _))? = (error as? MigrationError)?.reason,
      code & 0xFF == 19
    else { return error }
    for column in taker.destination.columns
    where column.isMandatory && !plan.isDerived(column, in: taker.destination) {
      let value = plan.value(of: column, for: taker)
      let key = try session.key(
        "SELECT k FROM (SELECT t0._pk AS k, \(value) AS v \(raw: rows(taker))) WHERE v IS NULL LIMIT 1")
      if let key {
        let property = taker.destination.slots[column.slot].name
        let reason = try leftBehind(property, of: taker, key) ?? .missingValue(property: property)
        return plan.error(reason, taker.destination.name, key)
      }
    }
    return plan.error(.verificationFailed(message), taker.destination.name)
  }

  /// The object that a row's relationship led to, where it is left behind; nil for what is no such relationship.
  func leftBehind(
    _ property: String, of taker: StepPlan.Taker, _ key: Int64
  ) throws -> MigrationError.Reason? {
    guard let relationship = taker.destination.slot(property)?.relationship else { return nil }
    var former = taker.source.slot(property)?.relationship
    if case .objects(let value)? = plan.objects(of: taker, property) {
      former = plan.plainRelationship(value, of: taker.source) ?? former
    }
    guard let former else { return nil }
    let pairs = plan.pairs(former, of: taker.source)
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
    for join in plan.destination.joins where plan.destination.entities[join.source].home == 0 {
      session.entity = plan.destination.entities[join.source].name
      try fill(join)
    }
    session.entity = nil
    return 0
  }

  private func fill(_ join: JoinPlan) throws {
    for taker in plan.takers {
      for slot in taker.destination.slots {
        guard let relationship = slot.relationship,
          case .join(let number, let isSource) = relationship.storage,
          plan.destination.joins[number].table == join.table,
          let pairs = plan.pairs(of: taker, relationship.name),
          pairs.target.home == 0 || !relationship.isWithinStore
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
        for rows in joined(taker, pairs, relationship) {
          try session.execute(
            "INSERT OR IGNORE INTO \(fresh(join.table)) (\(list)) SELECT \(values.joined(separator: ", ")) "
              + "FROM (\(rows)) WHERE t IS NOT NULL\(unreplaced(relationship)) ORDER BY \(isSource ? "o, t" : "t, o")"
          )
        }
      }
    }
  }
}
