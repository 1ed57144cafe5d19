import CDMapping
import CDModel

/// The rows that are not migrated because their owners are not, according to the step's ``Ownership``.
///
/// For each table of the source, a temporary table holds the keys of all rows that stay behind, with the round in which
/// each key was found. Round 0 holds the rows that the filters exclude. The rows of later rounds are then removed from
/// the tables of chosen rows.
struct OwnedRows {
  private typealias Link = (owner: EntityPlan, relationship: RelationshipPlan)

  private let plan: StepPlan
  /// The entities whose filters exclude objects.
  private let filtered: [EntityPlan]
  private let links: [Link]
  /// The relationships whose mapping forbids that an owned object stays behind.
  private let refused: [Link]
  private let reached: Set<Int>

  @_optimize(none)
  init(_ plan: StepPlan) {
    self.plan = plan
    func resolve(_ link: Ownership.Link) -> Link? {
      guard let owner = plan.source.entity(link.owner),
        let slot = owner.slotNumbers[link.relationship.name], let relationship = owner.relationship(slot)
      else { return nil }
      return (owner, relationship)
    }
    filtered = plan.ownership.filtered.compactMap { plan.source.entity($0) }
    links = plan.ownership.links.compactMap(resolve)
    refused = plan.ownership.refused.compactMap(resolve)
    reached = Set(plan.ownership.excludedWithOwners.keys.compactMap { plan.source.entity($0)?.index })
  }

  @inline(never)
  private func exclusionTable(_ entity: EntityPlan) -> String { "temp.\"gone_\(entity.root)\"" }

  /// The condition that a row with the given alias is of one of some entities.
  @_optimize(none)
  private func isOf(_ subtree: some Sequence<Int>, _ entity: EntityPlan, _ alias: String) -> String {
    guard plan.source.entities[entity.root].hasEntityColumn else { return "1" }
    let names = subtree.map { SQLText.literal(plan.source.entities[$0].name) }.joined(separator: ", ")
    return "\(alias)._entity IN (\(names))"
  }

  /// Removes the rows that stay behind with their owners from the tables of chosen rows.
  ///
  /// - Throws: ``MigrationError`` with the reason ``MigrationError/Reason-swift.enum/ownsObjects(relationship:)`` if a
  ///   mapping does not allow that.
  @_optimize(none)
  func excludeOwnedRows(_ session: MigrationSession) throws {
    guard !links.isEmpty || !refused.isEmpty else { return }
    var roots: Set<Int> = []
    for entity in plan.source.entities where entity.storeIndex == 0 && roots.insert(entity.root).inserted {
      try session.execute(
        "CREATE TEMP TABLE \(exclusionTable(entity).dropFirst(5)) (pk INTEGER PRIMARY KEY, turn INTEGER NOT NULL)"
      )
    }
    for entity in filtered {
      let chosen = plan.sourceMappings.filter { $0.source.index == entity.index }.compactMap(\.selectionTable)
        .map { " AND x._pk NOT IN (SELECT pk FROM \($0))" }.joined()
      try session.execute(
        "INSERT INTO \(exclusionTable(entity)) SELECT x._pk, 0 FROM main.\(SQLText.quoted(entity.table)) AS x "
          + "WHERE \(isOf([entity.index], entity, "x"))\(chosen)")
    }
    try follow(session)
    for sourceMapping in plan.sourceMappings where sourceMapping.mayBeExcludedWithOwner {
      guard let chosen = sourceMapping.selectionTable else { continue }
      try session.execute(
        "DELETE FROM \(chosen) WHERE pk IN (SELECT pk FROM \(exclusionTable(sourceMapping.source)))")
    }
    for (owner, relationship) in refused { try refuse(owner, relationship, session) }
  }

  @_optimize(none)
  private func follow(_ session: MigrationSession) throws {
    var turn = 0
    var isDone = links.isEmpty
    while !isDone {
      isDone = true
      for (owner, relationship) in links {
        let pairs = plan.pairs(relationship, of: owner)
        let subtree = pairs.target.subtree.filter(reached.contains)
        let table = SQLText.quoted(pairs.target.table)
        let count = try session.run(
          SQLText(
            text:
              "INSERT OR IGNORE INTO \(exclusionTable(pairs.target)) SELECT t._pk, \(turn + 1) FROM (\(pairs.sql)) AS p "
              + "JOIN \(exclusionTable(owner)) AS g ON g.pk = p.owner AND g.turn = \(turn) "
              + "JOIN main.\(SQLText.quoted(owner.table)) AS o ON o._pk = p.owner AND \(isOf([owner.index], owner, "o")) "
              + "JOIN main.\(table) AS t ON t._pk = p.target AND \(isOf(subtree, pairs.target, "t"))"))
        if count > 0 { isDone = false }
      }
      turn += 1
    }
  }

  /// Throws if an object is migrated without its owner, which stays behind.
  @_optimize(none)
  private func refuse(
    _ owner: EntityPlan, _ relationship: RelationshipPlan, _ session: MigrationSession
  ) throws {
    let pairs = plan.pairs(relationship, of: owner)
    for sourceMapping in plan.sourceMappings where pairs.target.subtree.contains(sourceMapping.source.index) {
      let condition = plan.condition(sourceMapping, "t").map { " AND \($0)" } ?? ""
      let key = try session.key(
        SQLText(
          text: "SELECT p.owner FROM (\(pairs.sql)) AS p "
            + "JOIN \(exclusionTable(owner)) AS g ON g.pk = p.owner "
            + "JOIN main.\(SQLText.quoted(owner.table)) AS o ON o._pk = p.owner AND \(isOf([owner.index], owner, "o")) "
            + "JOIN main.\(SQLText.quoted(sourceMapping.source.table)) AS t ON t._pk = p.target\(condition) "
            + "ORDER BY p.owner LIMIT 1"))
      if let key { throw plan.error(.ownsObjects(relationship: relationship.name), owner.name, key) }
    }
  }

  /// The number of objects of each entity that stay behind with their owners; nil if it cannot be found out.
  @_optimize(none)
  func counts(
    _ session: MigrationSession, reading read: () throws -> PersistentStoreCoordinator
  ) -> [String: Int]? {
    do {
      try EvaluatedRows(plan: plan, session: session, coordinator: read()).makeAll()
      try excludeOwnedRows(session)
      var result: [String: Int] = [:]
      for index in reached {
        let entity = plan.source.entities[index]
        result[entity.name] = Int(
          try session.number(
            "SELECT count(*) FROM \(exclusionTable(entity)) AS g JOIN main.\(SQLText.quoted(entity.table)) AS x "
              + "ON x._pk = g.pk AND \(isOf([index], entity, "x")) WHERE g.turn > 0"))
      }
      return result
    } catch {
      // The step itself reports the error when it runs.
      return nil
    }
  }
}
