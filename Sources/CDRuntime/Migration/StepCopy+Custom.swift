import CDModel

// What the app's own code has a part in: rules give the relationships when all objects are there.
extension StepCopy {
  @inline(never)
  private func fresh(_ table: String) -> String { "\(Self.schema).\(SQLite.quoted(table))" }

  /// Lets the app's own code make its objects, and gives all relationships that rules give.
  ///
  /// - Parameter nextKeys: The key after the last that is taken, by the place of the destination's root.
  /// - Returns: How many objects there are more than rules have made.
  func runPolicies(
    _ nextKeys: [Int: Int64], _ read: () throws -> PersistentStoreCoordinator
  ) throws -> Int64 {
    var nextKeys = nextKeys
    for root in plan.destination.entities where root.root == root.index && root.storeIndex == 0 {
      // An entity of this name may have given keys before.
      let before = try session.number(
        "SELECT next FROM main._cdgen_keys WHERE entity = \(SQLite.literal(root.name))")
      nextKeys[root.index] = max(nextKeys[root.index] ?? 1, before, 1)
    }
    // Two connections take turns with the new file: neither keeps it while the other one works.
    try session.execute("COMMIT")
    let database = try SQLiteDatabase(
      making: SQLiteStore(making: session.url, storeID: metadata.storeID), model: plan.destination)
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
    try session.execute("COMMIT")
    try work.relate()
    try session.execute("BEGIN")
    try settle(work)
    return store.madeCount
  }

  /// What stands in a reference of a mapped object until the app's own code has made what it leads to; nil where it
  /// need not wait.
  func placeholder(_ column: ColumnPlan, _ sourceMapping: StepPlan.SourceMapping) -> SQLText? {
    guard plan.hasCustom, column.isReference,
      let relationship = sourceMapping.destination.slots[column.slot].relationship,
      plan.followsCustom(relationship, for: sourceMapping)
    else { return nil }
    return "\(raw: "\(DestinationStore.placeholder)")"
  }

  /// The rows of owner `o` and target `t`, with positions `a` and `b`, that pairs become.
  func joined(
    _ sourceMapping: StepPlan.SourceMapping, _ pairs: StepPlan.Pairs, _ relationship: RelationshipPlan
  ) -> [String] {
    let new = plan.destination.entities[relationship.destination]
    let condition = plan.condition(sourceMapping, "t0").map { " AND \($0)" } ?? ""
    let offset = sourceMapping.offset == 0 ? "" : " + \(sourceMapping.offset)"
    var owners = [
      (
        "t0._pk\(offset)",
        "JOIN main.\(SQLite.quoted(sourceMapping.source.table)) AS t0 ON t0._pk = p.owner\(condition)"
      )
    ]
    if let number = plan.further(sourceMapping) {
      owners.append(
        (
          "t0.destination",
          "JOIN \(Associations.table) AS t0 ON t0.source = p.owner AND t0.mapping = \(number) "
            + "AND t0.root = \(sourceMapping.source.root)"
        ))
    }
    var targets = [(plan.resolved("p.target", pairs.target, as: new), "")]
    for other in plan.sourceMappings
    where pairs.target.subtree.contains(other.source.index) && new.subtree.contains(other.destination.index) {
      guard let number = plan.further(other) else { continue }
      targets.append(
        (
          "g.destination",
          " JOIN \(Associations.table) AS g ON g.source = p.target AND g.mapping = \(number) "
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

  /// The condition that nobody has set the relationship of a pair as a whole, on either side.
  func unreplaced(_ relationship: RelationshipPlan) -> String {
    guard plan.hasReplaced else { return "" }
    func condition(_ relationship: RelationshipPlan, _ key: String) -> String {
      " AND NOT EXISTS (SELECT 1 FROM \(Associations.replaced) AS r "
        + "WHERE r.name = \(SQLite.literal(relationship.path)) AND r.pk = \(key))"
    }
    var result = condition(relationship, "o")
    if let slot = relationship.inverseSlot,
      let inverse = plan.destination.entities[relationship.destination].slots[slot].relationship
    {
      result += condition(inverse, "t")
    }
    return result
  }

  /// Gives references what rules say of them, where they wait for it.
  func resolveReferences(_ work: CustomWork) throws {
    plan.furtherMappings = try work.associations.mappings()
    plan.hasReplaced = try work.associations.hasReplaced()
    for sourceMapping in plan.sourceMappings {
      let later = sourceMapping.isCustom ? work.laterSlots(of: sourceMapping.mapping) : []
      session.entity = sourceMapping.destination.name
      for column in sourceMapping.destination.columns where column.isReference {
        guard let relationship = sourceMapping.destination.slots[column.slot].relationship,
          sourceMapping.isCustom
            ? later.contains(column.slot) : plan.followsCustom(relationship, for: sourceMapping)
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
        let name = SQLite.quoted(column)
        let owner = SQLite.quoted(
          plan.destination.entities[relationship.destination].columns[reference].name)
        try update(
          sourceMapping, name, "\(raw: position)", where: "d.\(name) IS NULL AND d.\(owner) IS NOT NULL")
      }
    }
    session.entity = nil
  }

  private func resolve(
    _ column: ColumnPlan, _ relationship: RelationshipPlan, _ sourceMapping: StepPlan.SourceMapping
  ) throws {
    var value = plan.reference(relationship, for: sourceMapping)
    if plan.hasReplaced, let inverse = relationship.inverseSlot,
      let path = plan.destination.entities[relationship.destination].slots[inverse].relationship?.path
    {
      let name = SQLite.literal(path)
      value =
        "(SELECT v FROM (SELECT \(value) AS v) WHERE NOT EXISTS (SELECT 1 FROM \(raw: Associations.replaced) AS r WHERE r.name = \(raw: name) AND r.pk = v))"
    }
    plan.waiting.insert(Self.path(sourceMapping.destination, column))
    if column.isMandatory { value = "coalesce(\(value), \(raw: "\(DestinationStore.placeholder)"))" }
    let name = SQLite.quoted(column.name)
    try update(sourceMapping, name, value, where: "d.\(name) = \(DestinationStore.placeholder)")
  }

  private static func path(_ entity: EntityPlan, _ column: ColumnPlan) -> String {
    "\(entity.table)\u{0}\(column.name)"
  }

  /// Sets a column of a source mapping's objects, `d`, by what their source rows, `t0`, have.
  private func update(
    _ sourceMapping: StepPlan.SourceMapping, _ column: String, _ value: SQLText, where condition: String
  ) throws {
    let old = SQLite.quoted(sourceMapping.source.table)
    var conditions = [condition]
    if sourceMapping.destination.hasEntityColumn {
      conditions.append("d._entity = \(SQLite.literal(sourceMapping.destination.name))")
    }
    if sourceMapping.source.hasEntityColumn {
      conditions.append("t0._entity = \(SQLite.literal(sourceMapping.source.name))")
    }
    let all = conditions.joined(separator: " AND ")
    let table = fresh(sourceMapping.destination.table)
    try session.run(
      "UPDATE \(raw: table) AS d SET \(raw: column) = \(value) FROM main.\(raw: old) AS t0 WHERE t0._pk = d._pk - \(raw: "\(sourceMapping.offset)") AND \(raw: all)"
    )
    guard let number = plan.further(sourceMapping) else { return }
    try session.run(
      "UPDATE \(raw: table) AS d SET \(raw: column) = \(value) FROM \(raw: Associations.table) AS a, main.\(raw: old) AS t0 WHERE a.mapping = \(raw: "\(number)") AND a.root = \(raw: "\(sourceMapping.source.root)") AND a.destination = d._pk AND t0._pk = a.source AND \(raw: all)"
    )
  }

  /// Refuses mandatory references that nobody has given, clears others, and notes which keys are taken.
  func settle(_ work: CustomWork) throws {
    for name in work.store.passingIndexes {
      try session.execute("DROP INDEX \(Self.schema).\(SQLite.quoted(name))")
    }
    var seen: Set<String> = []
    for entity in plan.destination.entities where entity.storeIndex == 0 {
      for column in entity.columns where column.isReference {
        let path = Self.path(entity, column)
        let isTouched = column.isMandatory && work.store.touchedRoots.contains(entity.root)
        guard plan.waiting.contains(path) || isTouched, seen.insert(path).inserted else { continue }
        let name = SQLite.quoted(column.name)
        let isPlaceholder = "\(name) = \(DestinationStore.placeholder)"
        if column.isMandatory {
          let found = try session.key(
            SQLText(text: "SELECT _pk FROM \(fresh(entity.table)) WHERE \(isPlaceholder) LIMIT 1"))
          guard let found else { continue }
          let property = entity.slots[column.slot].name
          let error = plan.error(
            .missingValue(property: property), entity.name, try sourceKey(found, entity))
          guard let log = session.log else { throw error }
          let keys = try session.keys(
            SQLText(text: "SELECT _pk FROM \(fresh(entity.table)) WHERE \(isPlaceholder) ORDER BY _pk"))
          let origin = plan.sourceMappings.first { $0.destination === entity }?.source.name
          log.takeMissing(
            error, of: origin ?? entity.name, property, count: keys.count,
            keys: try keys.prefix(MigrationReport.Problem.namedObjects).compactMap {
              try sourceKey($0, entity)
            })
          continue
        }
        try session.execute("UPDATE \(fresh(entity.table)) SET \(name) = NULL WHERE \(isPlaceholder)")
      }
    }
    for (root, next) in work.store.nextKeys {
      let name = plan.destination.entities[root].name
      try session.run(
        "INSERT OR REPLACE INTO fresh._cdgen_keys (entity, next) VALUES (\(bind: .string(name)), \(bind: .int(next)))"
      )
    }
  }

  /// The row that a row of the destination was made of, as far as keys tell.
  private func sourceKey(_ key: ObjectKey, _ entity: EntityPlan) throws -> ObjectKey? {
    for sourceMapping in plan.sourceMappings where sourceMapping.destination.root == entity.root {
      let old = key - sourceMapping.offset
      if old > 0, old < plan.nextSourceKeys[sourceMapping.source.root] ?? 0 { return old }
    }
    return try session.key(
      SQLText(text: "SELECT source FROM \(Associations.table) WHERE destination = \(key) LIMIT 1"))
  }
}
