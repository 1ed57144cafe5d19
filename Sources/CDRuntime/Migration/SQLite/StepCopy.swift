import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Creates a new store from an old one, one source mapping at a time. The old store is the connection's main database;
/// the new one is attached as `fresh`.
struct StepCopy {
  let plan: StepPlan
  let session: MigrationSession
  let metadata: StoreMetadata
  let policies: [MigrationPolicies.Key: any EntityMigrationPolicy]
  /// The file of the new store.
  let target: String
  /// The files of large values that the step writes.
  let files: NewExternalFiles

  private var schema: String { StepPlan.schema }

  private var broken: BrokenReferences { BrokenReferences(plan: plan, session: session, schema: schema) }

  @inline(never)
  private func newTable(_ table: String) -> String { "\(schema).\(SQLText.quoted(table))" }

  /// Creates everything except the derived values, and the unique indexes and rules for duplicates that need them.
  /// ``StepDerivation`` does both with the finished store.
  ///
  /// - Parameter read: Opens the old store, to be read as objects.
  @_optimize(none)
  func run(reading read: () throws -> PersistentStoreCoordinator) throws {
    try plan.checkLeaving(session)
    try checkRows()
    try session.log?.noteForeignTables(plan.source, session)
    let layout = SQLSchema(plan.destination, store: 0)
    for sql in SQLSchema.systemTables {
      try session.execute(sql.replacing("CREATE TABLE ", with: "CREATE TABLE \(schema)."))
    }
    for table in layout.layouts { try session.execute(table.sql(schema: schema)) }
    let nextKeys = try copySystemTables()
    try evaluate(read)
    // The app's own code takes most of the time of a step that has some.
    let share = plan.hasCustom ? 0.1 : 0.9
    let mapped = plan.sourceMappings.filter { !$0.isCustom }
    let total = try mapped.reduce(Int64(1)) { try $0 + count($1) }
    var done: Int64 = 0
    for sourceMapping in mapped {
      session.entity = sourceMapping.destination.name
      session.report(share * Double(done) / Double(total))
      done += try insert(sourceMapping)
    }
    // After this, a failing statement is no longer the failure of a rule's calculation.
    plan.mayFail = false
    let madeCount = try plan.hasCustom ? runPolicies(nextKeys, read) : relate()
    session.report(0.9)
    let uniqueness = StepUniqueness(plan: plan, session: session, schema: schema)
    let derivation = StepDerivation(plan: plan)
    let laterRules = derivation.laterRules
    try uniqueness.deduplicate(by: plan.mapping.duplicates.filter { !laterRules.contains($0) })
    let later = Set(derivation.laterIndexes.map(\.name))
    try uniqueness.makeIndexes(layout.indexes.filter { !later.contains($0.name) })
    session.report(0.95)
    // A rehearsal leaves out the rows that could not be created, and has reported them.
    if session.log?.hasProblems != true { try verify(madeCount) }
    // The metadata make the file a valid store, so they are written last.
    try MigrationFaults.reach("metadata")
    do { try metadata.write(to: session.connection, schema: schema) } catch { throw session.wrapped(error) }
  }

  // MARK: Before

  /// Refuses rows whose entity is not in the model, or is abstract: the step would lose them silently.
  @_optimize(none)
  private func checkRows() throws {
    for root in plan.source.entities where root.root == root.index && root.storeIndex == 0 {
      guard let strange = plan.source.strangeRows(of: root, table: "main.\(SQLText.quoted(root.table))"),
        let key = try session.key(SQLText(text: strange + " LIMIT 1"))
      else { continue }
      session.entity = root.name
      throw session.error(
        .verificationFailed("a row has an entity that is unknown to the model or abstract"), key: key)
    }
  }

  @_optimize(none)
  private func count(_ sourceMapping: StepPlan.SourceMapping) throws -> Int64 {
    let condition = plan.condition(sourceMapping, "t0").map { " WHERE \($0)" } ?? ""
    return try session.number(
      "SELECT count(*) FROM main.\(SQLText.quoted(sourceMapping.source.table)) AS t0\(condition)")
  }

  /// - Returns: The next free key, by the index of the destination's root.
  @_optimize(none)
  private func copySystemTables() throws -> [Int: Int64] {
    let nextKeys = try session.nextKeys(of: plan)
    let origins = try session.insertionOrigins()
    var next = try plan.assignOffsets(nextKeys: nextKeys)
    for root in plan.destination.entities where root.root == root.index && root.storeIndex == 0 {
      let first = plan.firstKey(of: root, origins, nextKeys: nextKeys)
      if first > 1 { next[root.index] = max(next[root.index] ?? 1, first) }
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
    try session.write(origins, nextKeys: nextKeys, after: plan, to: schema)
    return next
  }

  /// Records which keys change in this step, and keeps the records of earlier steps.
  @_optimize(none)
  private func keepMovedKeys() throws {
    let key = MovedKeys.metadataKey
    let list = plan.movedKeys(after: MovedKeys.list(try session.metadata(key) ?? ""))
    guard !list.isEmpty else { return }
    try session.run(
      "INSERT INTO fresh._cdgen_metadata (key, value) VALUES (\(bind: .string(key)), \(bind: .string(MovedKeys.text(list))))"
    )
  }

  @_optimize(none)
  private func evaluate(_ read: () throws -> PersistentStoreCoordinator) throws {
    guard plan.sourceMappings.contains(where: { $0.selectionTable != nil || !$0.evaluations.isEmpty }) else {
      return
    }
    try EvaluatedRows(plan: plan, session: session, coordinator: try read()).makeAll()
    try OwnedRows(plan).excludeOwnedRows(session)
  }

  // MARK: Rows

  @_optimize(none)
  private func insert(_ sourceMapping: StepPlan.SourceMapping) throws -> Int64 {
    let entity = sourceMapping.destination
    let offset = sourceMapping.offset == 0 ? "" : " + \(sourceMapping.offset)"
    var names = ["_pk", "_version"]
    var values: [SQLText] = ["t0._pk\(raw: offset)", "t0._version"]
    if entity.hasEntityColumn {
      names.append("_entity")
      values.append("\(raw: SQLText.literal(entity.name))")
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
    let list = names.map(SQLText.quoted).joined(separator: ", ")
    let rows = self.rows(sourceMapping)
    let lacksValues =
      try session.log?.findMissingValues(of: sourceMapping, plan, from: rows, session) {
        placeholder($0, sourceMapping) != nil
      } ?? false
    let insert = lacksValues ? "INSERT OR IGNORE" : "INSERT"
    do {
      return try session.run(
        "\(raw: insert) INTO \(raw: newTable(entity.table)) (\(raw: list)) SELECT \(SQLText.joined(values, ", ")) \(raw: rows)"
      )
    } catch {
      throw try explained(error, sourceMapping)
    }
  }

  /// The `FROM …` clause for the rows of a source mapping.
  @_optimize(none)
  private func rows(_ sourceMapping: StepPlan.SourceMapping) -> String {
    var sql = "FROM main.\(SQLText.quoted(sourceMapping.source.table)) AS t0"
    if let chosen = sourceMapping.selectionTable { sql += " JOIN \(chosen) AS e ON e.pk = t0._pk" }
    if sourceMapping.source.hasEntityColumn {
      sql += " WHERE t0._entity = \(SQLText.literal(sourceMapping.source.name))"
    }
    return sql
  }

  /// Explains a constraint violation: if a mandatory value is missing, the returned error names the row and the
  /// property. Other errors are returned unchanged.
  @_optimize(none)
  private func explained(_ error: any Error, _ sourceMapping: StepPlan.SourceMapping) throws -> any Error {
    guard case .store(let reason)? = (error as? MigrationError)?.reason,
      case .engine(_, let engineError) = reason, reason.isConstraintViolation
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
    return plan.error(.verificationFailed(engineError.message), sourceMapping.destination.name)
  }

  /// The reason of an error that names the object which a row's relationship leads to and which stays behind; nil if
  /// there is no such object.
  @_optimize(none)
  private func leftBehind(
    _ property: String, of sourceMapping: StepPlan.SourceMapping, _ key: Int64
  ) throws -> MigrationError.Reason? {
    guard let relationship = sourceMapping.destination.slot(property)?.relationship else { return nil }
    var former = sourceMapping.source.slot(property)?.relationship
    if case .objects(let value)? = plan.objects(of: sourceMapping, property) {
      former = plan.plainRelationship(value, of: sourceMapping.source) ?? former
    }
    guard let former else { return nil }
    let pairs = plan.pairs(former, of: sourceMapping.source)
    // This store cannot read objects of another one.
    guard pairs.target.storeIndex == 0 else { return nil }
    let new = plan.destination.entities[relationship.destination]
    let found = try session.key(
      SQLText(
        text: "SELECT p.target FROM (\(pairs.sql)) AS p WHERE p.owner = \(key) "
          + "AND \(plan.resolved("p.target", pairs.target, as: new)) IS NULL LIMIT 1"))
    guard let found else { return nil }
    var owner = pairs.target.name
    if plan.source.entities[pairs.target.root].hasEntityColumn {
      let rows = try session.rows(
        "SELECT _entity FROM main.\(SQLText.quoted(pairs.target.table)) WHERE _pk = \(found)")
      owner = rows.first?.first.flatMap(\.self) ?? owner
    }
    return .leftBehind(property: property, owner: owner, ownerKey: found)
  }

  // MARK: Pairs

  /// Fills the join tables.
  @_optimize(none)
  @discardableResult private func relate() throws -> Int64 {
    for join in plan.destination.joins where plan.destination.entities[join.source].storeIndex == 0 {
      session.entity = plan.destination.entities[join.source].name
      try fill(join)
    }
    session.entity = nil
    return 0
  }

  @_optimize(none)
  private func fill(_ join: JoinPlan) throws {
    // They are added last, so that they replace no pair that has a position.
    var reversedPairs: [String] = []
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
        let list = names.map(SQLText.quoted).joined(separator: ", ")
        for rows in joined(sourceMapping, pairs, relationship) {
          let found = "FROM (\(rows)) WHERE t IS NOT NULL\(notReplacedCondition(relationship))"
          try session.execute(
            "INSERT OR IGNORE INTO \(newTable(join.table)) (\(list)) SELECT \(values.joined(separator: ", ")) "
              + "\(found) ORDER BY \(isSource ? "o, t" : "t, o")")
          guard relationship.isSymmetric else { continue }
          reversedPairs.append(
            "INSERT OR IGNORE INTO \(newTable(join.table)) (\"_source\", \"_target\") SELECT t, o "
              + "\(found) ORDER BY t, o")
        }
      }
    }
    for sql in reversedPairs { try session.execute(sql) }
  }
}

// The parts of a step with custom mappings: the app's own code creates objects first, then the rules create the
// relationships.
extension StepCopy {
  /// Runs the app's own code, which creates its objects, and sets all relationships that rules define.
  ///
  /// - Parameter nextKeys: The next free key, by the index of the destination's root.
  /// - Returns: The number of objects beyond those that rules have created.
  @_optimize(none)
  private func runPolicies(
    _ nextKeys: [Int: Int64], _ read: () throws -> PersistentStoreCoordinator
  ) throws -> Int64 {
    // Two connections use the new file in turn, so neither keeps a transaction open while the other one works.
    try session.execute("COMMIT")
    let database = try SQLiteDatabase(
      creating: SQLiteStore(creating: session.url, storeID: metadata.storeID), model: plan.destination)
    let coordinator = PersistentStoreCoordinator(plan: plan.destination, engine: database)
    let store = try DestinationStore(
      path: target, of: database, nextKeys: nextKeys, files: files, url: session.url)
    let work = try CustomWork(
      plan, session, policies: policies, source: read(), destination: coordinator, store: store)
    defer { work.finish() }
    try work.create()
    try session.execute("BEGIN")
    try resolveReferences(work)
    try relate()
    try removePairsOfDeletedObjects(work)
    try session.execute("COMMIT")
    try work.relate()
    try session.execute("BEGIN")
    try removePairsOfDeletedObjects(work)
    try findReferencesToDeletedObjects(work)
    try resolvePlaceholders(work)
    try checkMandatoryInverses()
    return store.createdCount
  }

  /// The value that a reference of a mapped object has until the app's own code has created the object that it refers
  /// to; nil if the reference need not wait.
  @_optimize(none)
  private func placeholder(_ column: ColumnPlan, _ sourceMapping: StepPlan.SourceMapping) -> SQLText? {
    guard plan.hasCustom, column.isReference,
      let relationship = sourceMapping.destination.slots[column.slot].relationship,
      plan.dependsOnCustomCode(relationship, for: sourceMapping)
    else { return nil }
    return "\(raw: "\(DestinationStore.placeholder)")"
  }

  /// `SELECT` statements that turn pairs into rows of owner `o` and target `t`, with positions `a` and `b`.
  @_optimize(none)
  private func joined(
    _ sourceMapping: StepPlan.SourceMapping, _ pairs: StepPlan.Pairs, _ relationship: RelationshipPlan
  ) -> [String] {
    let new = plan.destination.entities[relationship.destination]
    let condition = plan.condition(sourceMapping, "t0").map { " AND \($0)" } ?? ""
    let offset = sourceMapping.offset == 0 ? "" : " + \(sourceMapping.offset)"
    var owners = [
      (
        "t0._pk\(offset)",
        "JOIN main.\(SQLText.quoted(sourceMapping.source.table)) AS t0 ON t0._pk = p.owner\(condition)"
      )
    ]
    if let number = plan.associationIndex(sourceMapping) {
      owners.append(
        (
          "t0.destination",
          "JOIN \(StepPlan.associations) AS t0 ON t0.source = p.owner AND t0.mapping = \(number) "
            + "AND t0.root = \(sourceMapping.source.root)"
        ))
    }
    let others = plan.mappings(from: pairs.target, to: new)
    // A to-many relationship contains all objects that were created from one.
    let isShared = Set(others.map { $0.source.index }).count < others.count
    var targets: [(String, String)] =
      isShared
      ? others.map { (plan.resolved("p.target", as: new, by: [$0]), "") }
      : [(plan.resolved("p.target", pairs.target, as: new), "")]
    for other in others {
      guard let number = plan.associationIndex(other) else { continue }
      targets.append(
        (
          "g.destination",
          " JOIN \(StepPlan.associations) AS g ON g.source = p.target AND g.mapping = \(number) "
            + "AND g.root = \(other.source.root)"
        ))
    }
    return owners.flatMap { owner in
      targets.map { target in
        "SELECT \(owner.0) AS o, \(target.0) AS t, p.position AS a, p.inverse_position AS b "
          + "FROM (\(pairs.sql)) AS p \(owner.1)\(target.1)"
      }
    }
  }

  /// The condition that the app's own code has not replaced the relationship of a pair, on either side.
  @_optimize(none)
  private func notReplacedCondition(_ relationship: RelationshipPlan) -> String {
    guard plan.hasReplacedRelationships else { return "" }
    @_optimize(none)
    func condition(_ relationship: RelationshipPlan, _ key: String) -> String {
      " AND NOT EXISTS (SELECT 1 FROM \(Associations.replaced) AS r "
        + "WHERE r.name = \(SQLText.literal(relationship.path)) AND r.pk = \(key))"
    }
    var result = condition(relationship, "o")
    if let slot = relationship.inverseSlot,
      let inverse = plan.destination.entities[relationship.destination].slots[slot].relationship
    {
      result += condition(inverse, "t")
    }
    return result
  }

  /// Sets the references that rules define and that had to wait for the app's own code.
  @_optimize(none)
  func resolveReferences(_ work: CustomWork) throws {
    try work.associations.removeDeleted(from: plan.destination)
    plan.mappingsWithAssociations = try work.associations.mappings()
    plan.hasReplacedRelationships = try work.associations.hasReplacedRelationships()
    for sourceMapping in plan.sourceMappings {
      let later = sourceMapping.isCustom ? work.deferredSlots(of: sourceMapping.mapping) : []
      session.entity = sourceMapping.destination.name
      for column in sourceMapping.destination.columns where column.isReference {
        guard let relationship = sourceMapping.destination.slots[column.slot].relationship,
          sourceMapping.isCustom
            ? later.contains(column.slot) : plan.dependsOnCustomCode(relationship, for: sourceMapping)
        else { continue }
        try resolve(column, relationship, sourceMapping)
      }
      guard sourceMapping.isCustom else { continue }
      for (column, relationship) in plan.positions(
        in: plan.destination.entities[sourceMapping.destination.root])
      {
        let position = plan.position(relationship, for: sourceMapping)
        guard position != "NULL", let inverse = relationship.inverseSlot,
          let reference = plan.destination.entities[relationship.destination].slots[inverse].columns.first
        else { continue }
        let name = SQLText.quoted(column)
        let owner = SQLText.quoted(
          plan.destination.entities[relationship.destination].columns[reference].name)
        try update(
          sourceMapping, name, "\(raw: position)", where: "d.\(name) IS NULL AND d.\(owner) IS NOT NULL")
      }
    }
    session.entity = nil
  }

  @_optimize(none)
  private func resolve(
    _ column: ColumnPlan, _ relationship: RelationshipPlan, _ sourceMapping: StepPlan.SourceMapping
  ) throws {
    var value = plan.reference(relationship, for: sourceMapping)
    if plan.hasReplacedRelationships, let inverse = relationship.inverseSlot,
      let path = plan.destination.entities[relationship.destination].slots[inverse].relationship?.path
    {
      let name = SQLText.literal(path)
      value =
        "(SELECT v FROM (SELECT \(value) AS v) WHERE NOT EXISTS (SELECT 1 FROM \(raw: Associations.replaced) AS r WHERE r.name = \(raw: name) AND r.pk = v))"
    }
    plan.placeholderColumns.insert(BrokenReferences.path(sourceMapping.destination, column))
    if column.isMandatory { value = "coalesce(\(value), \(raw: "\(DestinationStore.placeholder)"))" }
    let name = SQLText.quoted(column.name)
    try update(sourceMapping, name, value, where: "d.\(name) = \(DestinationStore.placeholder)")
  }

  /// Sets a column of a source mapping's objects, `d`, from their source rows, `t0`.
  @_optimize(none)
  private func update(
    _ sourceMapping: StepPlan.SourceMapping, _ column: String, _ value: SQLText, where condition: String
  ) throws {
    let old = SQLText.quoted(sourceMapping.source.table)
    var conditions = [condition]
    if sourceMapping.destination.hasEntityColumn {
      conditions.append("d._entity = \(SQLText.literal(sourceMapping.destination.name))")
    }
    if sourceMapping.source.hasEntityColumn {
      conditions.append("t0._entity = \(SQLText.literal(sourceMapping.source.name))")
    }
    let all = conditions.joined(separator: " AND ")
    let table = newTable(sourceMapping.destination.table)
    try session.run(
      "UPDATE \(raw: table) AS d SET \(raw: column) = \(value) FROM main.\(raw: old) AS t0 WHERE t0._pk = d._pk - \(raw: "\(sourceMapping.offset)") AND \(raw: all)"
    )
    guard let number = plan.associationIndex(sourceMapping) else { return }
    try session.run(
      "UPDATE \(raw: table) AS d SET \(raw: column) = \(value) FROM \(raw: StepPlan.associations) AS a, main.\(raw: old) AS t0 WHERE a.mapping = \(raw: "\(number)") AND a.root = \(raw: "\(sourceMapping.source.root)") AND a.destination = d._pk AND t0._pk = a.source AND \(raw: all)"
    )
  }

  /// Removes the pairs of objects that the app's own code has deleted.
  ///
  /// Foreign keys would do this, but they are off as long as the file may contain placeholders.
  private func removePairsOfDeletedObjects(_ work: CustomWork) throws {
    let roots = work.store.deletedRoots
    if !roots.isEmpty { try broken.removePairs { roots.contains($0.root) } }
  }

  /// Replaces the references to objects that the app's own code has deleted by placeholders.
  @_optimize(none)
  private func findReferencesToDeletedObjects(_ work: CustomWork) throws {
    let roots = work.store.deletedRoots
    // A rehearsal has reported the objects that it deletes because they break rules. It does not report what refers to
    // them.
    guard !roots.isEmpty, session.log?.hasProblems != true else { return }
    for (entity, column, other) in broken.guaranteed where roots.contains(other.root) {
      let name = SQLText.quoted(column.name)
      let placeholder = "\(DestinationStore.placeholder)"
      let count = try session.run(
        SQLText(
          text: "UPDATE \(newTable(entity.table)) AS r SET \(name) = \(placeholder) "
            + "WHERE r.\(name) <> \(placeholder) AND \(broken.isMissing(other, name))"))
      if count > 0 { plan.placeholderColumns.insert(BrokenReferences.path(entity, column)) }
    }
  }

  /// Throws if a mandatory reference is still a placeholder, clears the other placeholders, and stores the next free
  /// keys.
  @_optimize(none)
  func resolvePlaceholders(_ work: CustomWork) throws {
    for name in work.store.temporaryIndexes {
      try session.execute("DROP INDEX \(schema).\(SQLText.quoted(name))")
    }
    var seen: Set<String> = []
    for entity in plan.destination.entities where entity.storeIndex == 0 {
      for column in entity.columns where column.isReference {
        let path = BrokenReferences.path(entity, column)
        let isTouched = column.isMandatory && work.store.filledRoots.contains(entity.root)
        guard plan.placeholderColumns.contains(path) || isTouched, seen.insert(path).inserted else {
          continue
        }
        let name = SQLText.quoted(column.name)
        let isPlaceholder = "\(name) = \(DestinationStore.placeholder)"
        if column.isMandatory {
          try checkMissing(entity.slots[column.slot].name, of: entity, where: isPlaceholder)
          continue
        }
        try session.execute("UPDATE \(newTable(entity.table)) SET \(name) = NULL WHERE \(isPlaceholder)")
      }
    }
    for (root, next) in work.store.nextKeys {
      let name = plan.destination.entities[root].name
      try session.run(
        "INSERT OR REPLACE INTO fresh._cdgen_keys (entity, next) VALUES (\(bind: .string(name)), \(bind: .int(next)))"
      )
    }
  }

  /// Throws if an object lacks a mandatory object that stores the reference. The app's own code may have left this object
  /// out.
  @_optimize(none)
  private func checkMandatoryInverses() throws {
    guard session.log?.hasProblems != true else { return }
    for entity in plan.destination.entities
    where entity.storeIndex == 0 && !entity.description.isAbstract {
      for case let relationship? in entity.relationships {
        guard case .inverseReference = relationship.storage, !relationship.description.isOptional,
          relationship.isGuaranteed, let inverse = relationship.inverseSlot
        else { continue }
        let other = plan.destination.entities[relationship.destination]
        let isByCode = plan.sourceMappings.contains { each in
          each.isCustom
            && (each.destination.index == entity.index || other.subtree.contains(each.destination.index))
        }
        guard isByCode, let reference = other.slots[inverse].columns.first else { continue }
        let name = SQLText.quoted(other.columns[reference].name)
        var condition = "_pk NOT IN (SELECT \(name) FROM \(newTable(other.table)) WHERE \(name) IS NOT NULL)"
        if entity.hasEntityColumn { condition += " AND _entity = \(SQLText.literal(entity.name))" }
        try checkMissing(relationship.name, of: entity, where: condition)
      }
    }
  }

  /// Throws if a condition is true for a row of an entity, which then lacks a mandatory object. A rehearsal logs all of these
  /// rows.
  @_optimize(none)
  private func checkMissing(_ property: String, of entity: EntityPlan, where condition: String) throws {
    let rows = "SELECT _pk FROM \(newTable(entity.table)) WHERE \(condition)"
    guard let found = try session.key(SQLText(text: rows + " LIMIT 1")) else { return }
    let error = plan.error(.missingValue(property: property), entity.name, try sourceKey(found, entity))
    guard let log = session.log else { throw error }
    let keys = try session.keys(SQLText(text: rows + " ORDER BY _pk"))
    let origin = plan.sourceMappings.first { $0.destination === entity }?.source.name
    log.recordMissing(
      error, of: origin ?? entity.name, property, count: keys.count,
      keys: try keys.prefix(MigrationReport.Problem.namedObjects).compactMap { try sourceKey($0, entity) })
  }

  /// The key of the source row that a destination row was created from, as far as it can be found.
  private func sourceKey(_ key: ObjectKey, _ entity: EntityPlan) throws -> ObjectKey? {
    for sourceMapping in plan.sourceMappings where sourceMapping.destination.root == entity.root {
      let old = key - sourceMapping.offset
      if old > 0, old < plan.nextSourceKeys[sourceMapping.source.root] ?? 0 { return old }
    }
    return try session.key(
      SQLText(text: "SELECT source FROM \(StepPlan.associations) WHERE destination = \(key) LIMIT 1"))
  }
}

// The last part of a step, after all rows are written: the verification.
extension StepCopy {
  /// Verifies the references and the number of objects of the new store.
  ///
  /// - Parameter madeCount: The number of objects beyond those that rules have created.
  @_optimize(none)
  private func verify(_ madeCount: Int64) throws {
    do { try session.verifyReferences(schema, routeStep: plan) } catch let error as MigrationError {
      guard case .danglingReference = error.reason else { throw error }
      // The old store may have them, from a program that did not check references.
      try broken.clear()
      try session.verifyReferences(schema, routeStep: plan)
    }
    var wanted = madeCount
    for sourceMapping in plan.sourceMappings where plan.mapping.duplicates.isEmpty && !sourceMapping.isCustom
    {
      wanted += try count(sourceMapping)
    }
    var found = 0 as Int64
    for root in plan.destination.entities where root.root == root.index && root.storeIndex == 0 {
      found += try session.number("SELECT count(*) FROM \(newTable(root.table))")
    }
    guard !plan.mapping.duplicates.isEmpty || wanted == found else {
      throw session.error(.verificationFailed("\(found) rows were created instead of \(wanted)"))
    }
  }
}

extension MigrationError {
  /// Whether a statement caused the error, not the store.
  var isOfStatement: Bool {
    if case .store(let error) = reason { error.isOfStatement } else { false }
  }

  /// Whether a statement or a constraint failed for some row.
  var isOfRows: Bool { isOfStatement || isConstraintViolation }

  var isConstraintViolation: Bool {
    if case .store(let error) = reason { error.isConstraintViolation } else { false }
  }
}

extension StepPlan {
  /// Throws if the store has objects that the configurations of the new version give to another store. If a rule confirms
  /// their loss, throws only if another store would keep its references to them.
  @_optimize(none)
  func checkLeaving(_ session: MigrationSession) throws {
    @_optimize(none)
    func anyKey(of entity: EntityPlan) throws -> Int64? {
      let condition = entity.hasEntityColumn ? " WHERE _entity = \(SQLText.literal(entity.name))" : ""
      return try session.key(
        SQLText(text: "SELECT _pk FROM main.\(SQLText.quoted(entity.table))\(condition) LIMIT 1"))
    }
    for entity in leaving {
      if let key = try anyKey(of: entity) { throw error(.leavesStore, entity.name, key) }
    }
    for lost in lostTargets {
      if try anyKey(of: lost.entity) != nil { throw lost.error }
    }
  }

  /// The error for a unique index that could not be created. It names the greatest key of a group of equal rows.
  @_optimize(none)
  func duplicate(_ index: String, _ session: MigrationSession, schema: String) throws -> MigrationError {
    guard let (entity, constraint) = destination.uniqueConstraint(ofIndex: index) else {
      return error(.duplicate(properties: [index]))
    }
    let table = "\(schema).\(SQLText.quoted(entity.table))"
    let key = try session.key(SQLText(text: destination.equalRows(of: entity, constraint, table: table)))
    return error(.duplicate(properties: constraint), entity.name, key)
  }
}

extension MigrationSession {
  /// Throws if a reference leads to no row.
  @_optimize(none)
  func verifyReferences(_ schema: String, routeStep plan: StepPlan) throws {
    try MigrationFaults.reach("foreign_key_check")
    // SQLite reads the schema only if the first argument is there too, which is a table or NULL for all tables.
    let rows = try rows(
      "SELECT \"table\", rowid FROM pragma_foreign_key_check(NULL, \(SQLText.literal(schema))) LIMIT 1")
    guard let row = rows.first else { return }
    throw plan.error(.danglingReference(table: row[0] ?? ""), nil, row[1].flatMap { Int64($0) })
  }
}

extension StepCopy {
  /// Lists the files of large values that no row of the new store refers to. They are removed later, like the files of
  /// deleted objects.
  func listLostFiles() throws {
    try session.listFiles(of: plan.source.fileColumns(ofStore: 0), in: schema, at: plan.now)
    try session.keepFiles(of: plan.destination.fileColumns(ofStore: 0), in: schema)
  }
}
