import CDMapping
import CDModel

/// Counts the data of the source store that a step loses.
struct LossCount {
  let plan: StepPlan
  /// A session on the file of the source.
  let session: MigrationSession
  /// Opens that file, to be read as objects.
  let read: () throws -> PersistentStoreCoordinator

  /// All losses of the step, confirmed or not.
  @_optimize(none)
  func losses() throws -> [MigrationReport.Loss] {
    let confirmed = Set(plan.step.losses)
    let isOwned = plan.step.changes.contains { if case .ownedObjectsLeft = $0.kind { true } else { false } }
    let owned = isOwned ? OwnedRows(plan).counts(session, reading: read) : nil
    return try plan.step.changes.filter { confirmed.contains($0) || $0.isOpen && $0.verdict == .losesData }
      .map { change in
        let (count, unit) = try count(change, owned)
        return MigrationReport.Loss(
          description: change.summary, count: count, unit: unit, isConfirmed: !change.isOpen)
      }
  }

  private func count(
    _ change: ModelChange, _ owned: [String: Int]?
  ) throws -> (Int?, MigrationReport.Loss.Unit) {
    switch change.kind {
    case .entityRemoved(let name), .entityBecameAbstract(let name), .entityUnmapped(let name):
      (try objects(name), .objects)
    case .entityLeftConfiguration(let name, _):
      // If this store still holds the entity, nothing is lost.
      (plan.destination.entity(name)?.storeIndex == 0 ? 0 : try objects(name), .objects)
    case .objectsFiltered(let name): (try filtered(name), .objects)
    case .ownedObjectsLeft(let name, _): (owned?[name], .objects)
    case .attributeRemoved(let name): (try values(name, of: change), .values)
    case .attributeTypeChanged(let name, _, _, _), .attributeBecameTransient(let name),
      .attributeBecameDerived(let name):
      (try values(sourceName(name), of: change), .values)
    case .relationshipRemoved(let name, losesOnlyOrder: true):
      (try pairs(name, of: change, where: "p.position IS NOT NULL"), .relations)
    case .relationshipRemoved(let name, _): (try pairs(name, of: change), .relations)
    case .relationshipDestinationChanged(let name, _, _, let lost):
      (try pairs(sourceName(name), of: change, to: lost), .relations)
    case .relationshipBecameUnordered(let name):
      (try pairs(sourceName(name), of: change, where: "p.position IS NOT NULL"), .relations)
    default: (nil, .objects)
    }
  }

  // MARK: Objects

  private func objects(_ name: String) throws -> Int {
    guard let entity = plan.source.entity(name), entity.storeIndex == 0 else { return 0 }
    return try Self.count(entity, session)
  }

  /// The number of objects of an entity, without those of its subentities.
  static func count(_ entity: EntityPlan, _ session: MigrationSession) throws -> Int {
    let condition = entity.hasEntityColumn ? " WHERE _entity = \(SQLText.literal(entity.name))" : ""
    return Int(try session.number("SELECT count(*) FROM \(SQLText.quoted(entity.table))\(condition)"))
  }

  /// The number of objects of an entity that no mapping's filter accepts.
  @_optimize(none)
  private func filtered(_ name: String) throws -> Int? {
    let mappings = plan.mapping.entityMappings(from: name).filter { $0.destination != nil }
    let filters = mappings.compactMap(\.filter)
    guard filters.count == mappings.count, let first = filters.first else { return 0 }
    let context = ManagedObjectContext(try read())
    var request = FetchRequest<ManagedObject>(
      entityName: name, where: filters.dropFirst().reduce(first) { $0 || $1 })
    request.includesSubentities = false
    return try objects(name) - context.count(for: request)
  }

  // MARK: Values

  /// The name that a property of the destination had in the source. Losses name a property by its destination name if
  /// it still exists there.
  @_optimize(none)
  private func sourceName(_ name: PropertyName) -> PropertyName {
    let parts = name.name.split(separator: ".", maxSplits: 1).map(String.init)
    guard let entity = plan.destination.entity(name.entity), let slot = entity.slot(parts[0]) else {
      return name
    }
    let old = slot.attribute?.renamedFrom ?? slot.relationship?.description.renamedFrom
    let first = old.flatMap { $0.split(separator: ".").last.map(String.init) } ?? parts[0]
    return PropertyName(name.entity, ([first] + parts.dropFirst()).joined(separator: "."))
  }

  /// The source entities whose objects a change concerns and that have the property.
  @_optimize(none)
  private func sources(_ name: PropertyName, of change: ModelChange) -> [EntityPlan] {
    let taken = change.mappings.compactMap { plan.mapping.entityMapping(named: $0)?.source }
    let names =
      taken.isEmpty
      ? plan.source.entity(name.entity)?.subtree.map { plan.source.entities[$0].name } ?? [] : taken
    var seen: Set<String> = []
    let first = name.name.prefix { $0 != "." }
    return names.filter { seen.insert($0).inserted }.compactMap(plan.source.entity)
      .filter { $0.storeIndex == 0 && !$0.description.isAbstract && $0.slot(String(first)) != nil }
  }

  @_optimize(none)
  private func values(_ name: PropertyName, of change: ModelChange) throws -> Int {
    try sources(name, of: change).reduce(0) { sum, entity in
      let columns = entity.columns.filter {
        let path = plan.path(of: $0, in: entity)
        return path == name.name || path.hasPrefix(name.name + ".")
      }
      guard !columns.isEmpty else { return sum }
      var conditions = [
        "(" + columns.map { "\(SQLText.quoted($0.name)) IS NOT NULL" }.joined(separator: " OR ") + ")"
      ]
      if entity.hasEntityColumn { conditions.append("_entity = \(SQLText.literal(entity.name))") }
      return sum
        + Int(
          try session.number(
            "SELECT count(*) FROM \(SQLText.quoted(entity.table)) WHERE \(conditions.joined(separator: " AND "))"
          ))
    }
  }

  // MARK: Relationships

  @_optimize(none)
  private func pairs(
    _ name: PropertyName, of change: ModelChange, to lost: [String]? = nil, where condition: String? = nil
  ) throws -> Int {
    try sources(name, of: change).reduce(0) { sum, entity in
      guard let relationship = entity.slot(name.name)?.relationship else { return sum }
      var conditions = [condition].compactMap(\.self)
      if entity.hasEntityColumn {
        conditions.append(
          "p.owner IN (SELECT _pk FROM \(SQLText.quoted(entity.table)) WHERE _entity = \(SQLText.literal(entity.name)))"
        )
      }
      if let lost {
        let targets = lost.compactMap(plan.source.entity).filter { $0.storeIndex == 0 }.map { target in
          let own = target.hasEntityColumn ? " WHERE _entity = \(SQLText.literal(target.name))" : ""
          return "p.target IN (SELECT _pk FROM \(SQLText.quoted(target.table))\(own))"
        }
        guard !targets.isEmpty else { return sum }
        conditions.append("(" + targets.joined(separator: " OR ") + ")")
      }
      let end = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
      let rows = plan.pairs(relationship, of: entity).sql
      return sum + Int(try session.number("SELECT count(*) FROM (\(rows)) AS p\(end)"))
    }
  }
}
