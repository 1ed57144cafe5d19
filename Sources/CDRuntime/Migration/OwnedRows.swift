import CDModel

/// The rows that go with those that a mapping's filter leaves behind: what relationships of the source lead to whose
/// delete rule is `cascade`, and what these own in turn.
///
/// A temporary table for each table of the source has the keys of all that is left behind, with the round in which each
/// was found: those of round 0 are the filters'. What goes with an owner is then taken out of the tables of what is chosen.
struct OwnedRows {
  private let plan: StepPlan
  /// The entities whose filters leave objects behind.
  private let filtered: [EntityPlan]
  /// The relationships by which objects go with their owners, each with the entity of the owners.
  private let ways: [(owner: EntityPlan, relationship: RelationshipPlan)]
  /// The same whose mappings refuse that.
  private let refused: [(owner: EntityPlan, relationship: RelationshipPlan)]
  private let reached: Set<Int>

  init(_ plan: StepPlan) {
    self.plan = plan
    var filtered: [EntityPlan] = []
    var ways: [(owner: EntityPlan, relationship: RelationshipPlan)] = []
    var refused = ways
    var reached: Set<Int> = []
    var waiting: [Int] = []
    for entity in plan.source.entities where entity.home == 0 {
      let takers = plan.takers.filter { $0.source.index == entity.index }
      if !takers.isEmpty, takers.allSatisfy({ $0.mapping.filter != nil && !$0.isCustom }) {
        filtered.append(entity)
        waiting.append(entity.index)
      }
    }
    var seen = Set(waiting)
    while let place = waiting.popLast() {
      let owner = plan.source.entities[place]
      let rules = Set(plan.takers.filter { $0.source.index == place }.map(\.mapping.owned))
      if rules.contains(.keep), !rules.contains(.refuse) { continue }
      for case let relationship? in owner.relationships where relationship.description.deleteRule == .cascade
      {
        let target = plan.source.entities[relationship.destination]
        guard target.home == 0 else { continue }
        if rules.contains(.refuse) {
          refused.append((owner, relationship))
          continue
        }
        ways.append((owner, relationship))
        for kind in target.kinds
        where !plan.takers.contains(where: { $0.source.index == kind && $0.isCustom }) {
          reached.insert(kind)
          if seen.insert(kind).inserted { waiting.append(kind) }
        }
      }
    }
    (self.filtered, self.ways, self.refused, self.reached) = (filtered, ways, refused, reached)
  }

  /// Whether objects of a source entity may go with their owners.
  func reaches(_ entity: EntityPlan) -> Bool { reached.contains(entity.index) }

  private func gone(_ entity: EntityPlan) -> String { "temp.\"gone_\(entity.root)\"" }

  /// The condition that a row `x` is of an entity of some.
  private func isOf(_ kinds: some Sequence<Int>, _ entity: EntityPlan, _ alias: String) -> String {
    guard plan.source.entities[entity.root].hasEntityColumn else { return "1" }
    let names = kinds.map { SQLite.literal(plan.source.entities[$0].name) }.joined(separator: ", ")
    return "\(alias)._entity IN (\(names))"
  }

  /// Takes what goes with its owner out of what is chosen.
  ///
  /// - Throws: ``MigrationError`` with the reason ``MigrationError/Reason-swift.enum/ownsObjects(relationship:)`` where a
  ///   mapping refuses that.
  func leave(_ session: MigrationSession) throws {
    guard !ways.isEmpty || !refused.isEmpty else { return }
    var roots: Set<Int> = []
    for entity in plan.source.entities where entity.home == 0 && roots.insert(entity.root).inserted {
      try session.execute(
        "CREATE TEMP TABLE \(gone(entity).dropFirst(5)) (pk INTEGER PRIMARY KEY, turn INTEGER NOT NULL)")
    }
    for entity in filtered {
      let chosen = plan.takers.filter { $0.source.index == entity.index }.compactMap(\.chosen)
        .map { " AND x._pk NOT IN (SELECT pk FROM \($0))" }.joined()
      try session.execute(
        "INSERT INTO \(gone(entity)) SELECT x._pk, 0 FROM main.\(SQLite.quoted(entity.table)) AS x "
          + "WHERE \(isOf([entity.index], entity, "x"))\(chosen)")
    }
    try follow(session)
    for taker in plan.takers where taker.mayFollowOwner {
      guard let chosen = taker.chosen else { continue }
      try session.execute("DELETE FROM \(chosen) WHERE pk IN (SELECT pk FROM \(gone(taker.source)))")
    }
    for (owner, relationship) in refused { try refuse(owner, relationship, session) }
  }

  private func follow(_ session: MigrationSession) throws {
    var turn = 0
    var isDone = ways.isEmpty
    while !isDone {
      isDone = true
      for (owner, relationship) in ways {
        let pairs = plan.pairs(relationship, of: owner)
        let kinds = pairs.target.kinds.filter(reached.contains)
        let table = SQLite.quoted(pairs.target.table)
        let count = try session.run(
          SQLText(
            text:
              "INSERT OR IGNORE INTO \(gone(pairs.target)) SELECT t._pk, \(turn + 1) FROM (\(pairs.sql)) AS p "
              + "JOIN \(gone(owner)) AS g ON g.pk = p.owner AND g.turn = \(turn) "
              + "JOIN main.\(SQLite.quoted(owner.table)) AS o ON o._pk = p.owner AND \(isOf([owner.index], owner, "o")) "
              + "JOIN main.\(table) AS t ON t._pk = p.target AND \(isOf(kinds, pairs.target, "t"))"))
        if count > 0 { isDone = false }
      }
      turn += 1
    }
  }

  /// Refuses to part objects from an owner that is left behind.
  private func refuse(
    _ owner: EntityPlan, _ relationship: RelationshipPlan, _ session: MigrationSession
  ) throws {
    let pairs = plan.pairs(relationship, of: owner)
    for taker in plan.takers where pairs.target.kinds.contains(taker.source.index) {
      let condition = plan.condition(taker, "t").map { " AND \($0)" } ?? ""
      let key = try session.key(
        SQLText(
          text: "SELECT p.owner FROM (\(pairs.sql)) AS p "
            + "JOIN \(gone(owner)) AS g ON g.pk = p.owner "
            + "JOIN main.\(SQLite.quoted(owner.table)) AS o ON o._pk = p.owner AND \(isOf([owner.index], owner, "o")) "
            + "JOIN main.\(SQLite.quoted(taker.source.table)) AS t ON t._pk = p.target\(condition) "
            + "ORDER BY p.owner LIMIT 1"))
      if let key { throw plan.error(.ownsObjects(relationship: relationship.name), owner.name, key) }
    }
  }

  /// How many objects of each entity go with their owners; nil where that cannot be told.
  func counts(
    _ session: MigrationSession, reading read: () throws -> PersistentStoreCoordinator
  ) -> [String: Int]? {
    do {
      try EvaluatedRows(plan: plan, session: session, coordinator: read()).makeAll()
      try leave(session)
      var result: [String: Int] = [:]
      for place in reached {
        let entity = plan.source.entities[place]
        result[entity.name] = Int(
          try session.number(
            "SELECT count(*) FROM \(gone(entity)) AS g JOIN main.\(SQLite.quoted(entity.table)) AS x "
              + "ON x._pk = g.pk AND \(isOf([place], entity, "x")) WHERE g.turn > 0"))
      }
      return result
    } catch {
      // What stands in the way is told where the step is made.
      return nil
    }
  }
}
