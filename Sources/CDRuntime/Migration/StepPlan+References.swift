import CDModel

// Where the objects of relationships come from.
extension StepPlan {
  /// Pairs of source keys: rows of `owner`, `target`, `position` and `inverse_position`.
  struct Pairs {
    let sql: String
    /// The entity of the source that the targets are of.
    let target: EntityPlan
    /// Whether a position can be other than NULL.
    var isOrdered = true
  }

  /// The rows that hold a relationship of a source mapping's objects; nil if the relationship has no rows of its own.
  func pairs(of sourceMapping: SourceMapping, _ name: String) -> Pairs? {
    guard case .objects(let value)? = objects(of: sourceMapping, name) else { return nil }
    if let relationship = plainRelationship(value, of: sourceMapping.source) {
      return pairs(relationship, of: sourceMapping.source)
    }
    // Targets of an evaluated expression are of one table, that of the mapped relationship's sources.
    guard let relationship = sourceMapping.destination.slot(name)?.relationship,
      let target = evaluatedTarget(of: relationship)
    else { return nil }
    return Pairs(
      sql:
        "SELECT owner, target, position, NULL AS inverse_position FROM temp.\"pairs_\(sourceMapping.number)_\(name)\"",
      target: target)
  }

  /// The root of the source whose objects become those that a relationship leads to.
  private func evaluatedTarget(of relationship: RelationshipPlan) -> EntityPlan? {
    let kinds = destination.entities[relationship.destination].subtree
    return sourceMappings.first { kinds.contains($0.destination.index) }.map {
      source.entities[$0.source.root]
    }
  }

  /// The pairs of a relationship of the source.
  func pairs(_ relationship: RelationshipPlan, of entity: EntityPlan) -> Pairs {
    let other = source.entities[relationship.destination]
    let (own, theirs) = (SQLite.quoted(entity.table), SQLite.quoted(other.table))
    let sql: String
    var isOrdered = relationship.isOrdered
    switch relationship.storage {
    case .reference(let column):
      let name = SQLite.quoted(entity.columns[column].name)
      sql =
        "SELECT _pk AS owner, \(name) AS target, NULL AS position, NULL AS inverse_position FROM \(own) "
        + "WHERE \(name) IS NOT NULL"
    case .inverseReference, .referencesOfOthers:
      let name = SQLite.quoted(source.referenceColumn(behind: relationship)?.name ?? "_pk")
      let position = source.positionColumn(of: relationship).map(SQLite.quoted) ?? "NULL"
      sql =
        "SELECT \(name) AS owner, _pk AS target, \(position) AS position, NULL AS inverse_position "
        + "FROM \(theirs) WHERE \(name) IS NOT NULL"
    case .join(let number, let isSource):
      isOrdered = true
      let join = source.joins[number]
      let first = join.isOrdered ? "_position" : "NULL"
      let second = join.isInverseOrdered ? "_inverse_position" : "NULL"
      sql =
        isSource
        ? "SELECT _source AS owner, _target AS target, \(first) AS position, \(second) AS inverse_position "
          + "FROM \(SQLite.quoted(join.table))"
        : "SELECT _target AS owner, _source AS target, \(second) AS position, \(first) AS inverse_position "
          + "FROM \(SQLite.quoted(join.table))"
    }
    return Pairs(sql: sql, target: other, isOrdered: isOrdered)
  }

  /// Whether all objects of a source entity become ones of a destination entity with the keys that they have.
  func keepsAll(_ old: EntityPlan, as new: EntityPlan) -> Bool {
    guard old.storeIndex == 0, new.storeIndex == 0 else { return true }
    return old.subtree.allSatisfy { kind in
      source.entities[kind].description.isAbstract
        || sourceMappings.contains {
          $0.source.index == kind && new.subtree.contains($0.destination.index) && $0.isUnrestricted
            && $0.group == 0
        }
    }
  }

  /// The key of what became of a source object; NULL where nothing did.
  ///
  /// - Parameter key: SQL of a key of the source.
  func resolved(_ key: String, _ old: EntityPlan, as new: EntityPlan) -> String {
    if keepsAll(old, as: new) { return key }
    let parts = sourceMappings.filter {
      old.subtree.contains($0.source.index) && new.subtree.contains($0.destination.index)
    }
    .flatMap { sourceMapping in
      let offset = sourceMapping.offset == 0 ? "" : " + \(sourceMapping.offset)"
      let condition = condition(sourceMapping, "s").map { " AND \($0)" } ?? ""
      let own =
        "(SELECT s._pk\(offset) FROM main.\(SQLite.quoted(sourceMapping.source.table)) AS s WHERE s._pk = \(key)\(condition))"
      guard let number = further(sourceMapping) else { return [own] }
      let kinds = new.subtree.map(String.init).joined(separator: ", ")
      return [
        own,
        "(SELECT f.destination FROM \(Associations.table) AS f WHERE f.source = \(key) AND f.mapping = \(number) "
          + "AND f.root = \(sourceMapping.source.root) AND f.entity IN (\(kinds)) ORDER BY f.id LIMIT 1)",
      ]
    }
    return switch parts.count {
    case 0: "NULL"
    case 1: parts[0]
    default: "coalesce(\(parts.joined(separator: ", ")))"
    }
  }

  /// The value of a reference column, for rows `t0` of a source mapping's source.
  func reference(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> SQLText {
    let new = destination.entities[relationship.destination]
    switch objects(of: sourceMapping, relationship.name) {
    case .objects(let value)?:
      if let plain = plainRelationship(value, of: sourceMapping.source),
        case .reference(let column) = plain.storage
      {
        var key = "t0." + SQLite.quoted(sourceMapping.source.columns[column].name)
        if relationship.isGuaranteed, !plain.isGuaranteed, plain.isWithinStore {
          // What nobody guaranteed before may lead nowhere.
          let table = SQLite.quoted(source.entities[plain.destination].table)
          key = "(SELECT x._pk FROM \(table) AS x WHERE x._pk = \(key))"
        }
        return SQLText(text: resolved(key, source.entities[plain.destination], as: new))
      }
      guard let pairs = pairs(of: sourceMapping, relationship.name) else { return "NULL" }
      return SQLText(
        text: "(SELECT r FROM (SELECT \(resolved("p.target", pairs.target, as: new)) AS r, p.position AS o "
          + "FROM (\(pairs.sql)) AS p WHERE p.owner = t0._pk) WHERE r IS NOT NULL ORDER BY o, r LIMIT 1)")
    case .none?: return "NULL"
    case .inverse?, nil: return inverseReference(relationship, for: sourceMapping)
    }
  }

  private func inverseReference(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> SQLText
  {
    guard let inverse = relationship.inverse else { return "NULL" }
    let kinds = destination.entities[relationship.destination].subtree
    var parts: [String] = []
    for owner in sourceMappings where kinds.contains(owner.destination.index) {
      guard let pairs = pairs(of: owner, inverse.name), pairs.target.root == sourceMapping.source.root else {
        continue
      }
      let condition = condition(owner, "o").map { " AND \($0)" } ?? ""
      parts.append(
        "(SELECT min(o._pk) + \(owner.offset) FROM (\(pairs.sql)) AS p JOIN main.\(SQLite.quoted(owner.source.table)) "
          + "AS o ON o._pk = p.owner WHERE p.target = t0._pk\(condition))")
      guard let number = further(owner) else { continue }
      parts.append(
        "(SELECT min(f.destination) FROM (\(pairs.sql)) AS p JOIN \(Associations.table) AS f "
          + "ON f.source = p.owner AND f.mapping = \(number) AND f.root = \(owner.source.root) "
          + "WHERE p.target = t0._pk)")
    }
    return switch parts.count {
    case 0: "NULL"
    case 1: SQLText(text: parts[0])
    default: SQLText(text: "coalesce(\(parts.joined(separator: ", ")))")
    }
  }

  // MARK: What the app's own code makes

  /// By which associations name a source mapping's mapping; nil where it has none.
  func further(_ sourceMapping: SourceMapping) -> Int? {
    guard sourceMapping.isCustom, !furtherMappings.isEmpty else { return nil }
    return mapping.entityMappings.firstIndex { $0.name == sourceMapping.mapping.name }.flatMap {
      furtherMappings.contains($0) ? $0 : nil
    }
  }

  /// Whether a reference leads to objects that are not there before the app's own code has made them.
  func followsCustom(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> Bool {
    let new = destination.entities[relationship.destination]
    let makers = sourceMappings.filter { $0.isCustom && new.subtree.contains($0.destination.index) }
    if makers.isEmpty { return false }
    switch objects(of: sourceMapping, relationship.name) {
    case .objects?:
      guard let old = pairs(of: sourceMapping, relationship.name)?.target else { return false }
      return makers.contains { old.subtree.contains($0.source.index) }
    case .none?: return false
    case .inverse?, nil: return hasInversePairs(relationship)
    }
  }

  /// Whether objects refer to those of a relationship by its inverse, as rules say.
  func hasInversePairs(_ relationship: RelationshipPlan) -> Bool {
    guard let inverse = relationship.inverse else { return false }
    let kinds = destination.entities[relationship.destination].subtree
    return sourceMappings.contains {
      kinds.contains($0.destination.index) && pairs(of: $0, inverse.name) != nil
    }
  }

  /// What is added to the keys of all objects of a source entity that become ones of a destination entity, where all
  /// do so by rules alone; nil otherwise.
  func commonOffset(of old: EntityPlan, as new: EntityPlan) -> Int64? {
    guard old.storeIndex == 0, new.storeIndex == 0 else { return 0 }
    var offsets: Set<Int64> = []
    for kind in old.subtree where !source.entities[kind].description.isAbstract {
      // The first is the one that a to-one leads to.
      guard
        let first = sourceMappings.first(where: {
          $0.source.index == kind && new.subtree.contains($0.destination.index)
        }), first.isUnrestricted
      else { return nil }
      offsets.insert(first.offset)
    }
    return offsets.count == 1 ? offsets.first : nil
  }

  // MARK: Positions

  /// The to-many relationships whose order stands in a table of the destination, with the columns.
  func positions(in root: EntityPlan) -> [(column: String, relationship: RelationshipPlan)] {
    var result: [(column: String, relationship: RelationshipPlan)] = []
    for plan in destination.entities {
      for case let relationship? in plan.relationships where relationship.owner == plan.name {
        guard let column = destination.positionColumn(of: relationship),
          destination.entities[relationship.destination].root == root.index,
          !result.contains(where: { $0.column == column })
        else { continue }
        result.append((column, relationship))
      }
    }
    return result
  }

  /// The column of a source mapping's source that keeps the order of what becomes a relationship.
  func copiedPosition(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> String? {
    guard let owner = destination.entity(relationship.owner) else { return nil }
    var found: Set<String?> = []
    for other in sourceMappings where owner.subtree.contains(other.destination.index) {
      guard case .objects(let value)? = objects(of: other, relationship.name),
        let plain = plainRelationship(value, of: other.source),
        source.entities[plain.destination].root == sourceMapping.source.root
      else { return nil }
      found.insert(source.positionColumn(of: plain))
    }
    return found.count == 1 ? found.first ?? nil : nil
  }

  /// The position of a row `t0` of a source mapping's source in a relationship that leads to it.
  func position(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> String {
    let new = destination.entities[relationship.destination]
    guard
      new.subtree.contains(sourceMapping.destination.index)
        || sourceMapping.destination.lineage.contains(new.index)
    else {
      return "NULL"
    }
    if let column = copiedPosition(relationship, for: sourceMapping) { return "t0." + SQLite.quoted(column) }
    guard let owner = destination.entity(relationship.owner) else { return "NULL" }
    let parts = sourceMappings.filter { owner.subtree.contains($0.destination.index) }.compactMap {
      other -> String? in
      guard let pairs = pairs(of: other, relationship.name), pairs.isOrdered,
        pairs.target.root == sourceMapping.source.root
      else {
        return nil
      }
      return "(SELECT p.position FROM (\(pairs.sql)) AS p WHERE p.target = t0._pk LIMIT 1)"
    }
    return switch parts.count {
    case 0: "NULL"
    case 1: parts[0]
    default: "coalesce(\(parts.joined(separator: ", ")))"
    }
  }
}
