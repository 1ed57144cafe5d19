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

  @_optimize(none)
  private func count(
    _ change: ModelChange, _ owned: [String: Int]?
  ) throws -> (Int?, MigrationReport.Loss.Unit) {
    switch change.kind {
    case .entityRemoved(let name), .entityBecameAbstract(let name), .entityUnmapped(let name):
      (try objects(name), .objects)
    case .entityLeftConfiguration(let name, _):
      // If this store still holds the entity, nothing is lost.
      (plan.destination.entity(name)?.storeIndex == 0 ? 0 : try leaving(change), .objects)
    case .objectsFiltered(let name): (try filtered(name), .objects)
    case .ownedObjectsLeft(let name, _): (owned?[name], .objects)
    case .attributeRemoved(let name), .attributeBecameTransient(let name):
      (try values(removed(name, by: change)), .values)
    case .attributeTypeChanged(let name, _, _, _), .attributeBecameDerived(let name):
      (try values(origins(of: name, in: change)), .values)
    case .relationshipRemoved(let name, losesOnlyOrder: true, isDeclared: _):
      (try pairs(removed(name, by: change), where: "p.position IS NOT NULL"), .relations)
    case .relationshipRemoved(let name, _, _): (try pairs(removed(name, by: change)), .relations)
    case .relationshipDestinationChanged(let name, _, _, let lost):
      (try pairs(origins(of: name, in: change), to: lost), .relations)
    case .relationshipBecameUnordered(let name):
      (try pairs(origins(of: name, in: change), where: "p.position IS NOT NULL"), .relations)
    default: (nil, .objects)
    }
  }

  // MARK: Objects

  private func objects(_ name: String) throws -> Int {
    guard let entity = plan.source.entity(name), entity.storeIndex == 0 else { return 0 }
    return try Self.count(entity, session)
  }

  /// The number of objects of the source entities that a change affects.
  private func leaving(_ change: ModelChange) throws -> Int {
    let names = Set(change.mappings.compactMap { plan.mapping.entityMapping(named: $0)?.source })
    return try names.reduce(0) { sum, name in try sum + objects(name) }
  }

  /// The number of objects of an entity, without those of its subentities.
  @_optimize(none)
  static func count(_ entity: EntityPlan, _ session: MigrationSession) throws -> Int {
    let condition = entity.hasEntityColumn ? " WHERE _entity = \(SQLText.literal(entity.name))" : ""
    return Int(try session.number("SELECT count(*) FROM \(SQLText.quoted(entity.table))\(condition)"))
  }

  /// The number of objects of an entity that no mapping's filter accepts; nil if a filter has no result for some object.
  /// Then the step itself names the object.
  @_optimize(none)
  private func filtered(_ name: String) throws -> Int? {
    let mappings = plan.mapping.entityMappings(from: name).filter { $0.destination != nil }
    let filters = mappings.compactMap(\.filter)
    guard filters.count == mappings.count, let first = filters.first else { return 0 }
    let context = ManagedObjectContext(try read())
    var request = FetchRequest<ManagedObject>(
      entityName: name, where: filters.dropFirst().reduce(first) { $0 || $1 })
    request.includesSubentities = false
    do {
      return try objects(name) - context.count(for: request)
    } catch is FetchError {
      return nil
    }
  }

  // MARK: Properties

  /// A property of a source entity.
  private struct SourceProperty {
    let entity: EntityPlan
    /// The property's name, or `attribute.field`.
    let path: String
  }

  /// The source properties that a change removes. Such a change names the property as the source does.
  private func removed(_ name: PropertyName, by change: ModelChange) -> [SourceProperty] {
    properties(of: change) { _ in name.name }
  }

  /// The source properties that a property of the destination was before a change. `renamedFrom` does not give their names:
  /// if the step spans several versions, it is a name of a version in between.
  private func origins(of name: PropertyName, in change: ModelChange) -> [SourceProperty] {
    properties(of: change) { plan.step.propertyOrigins[$0]?[name.name] }
  }

  /// Returns a property of each source entity that a change affects.
  ///
  /// - Parameter pathInSource: Returns the property's path in the source of the mapping with a name.
  @_optimize(none)
  private func properties(of change: ModelChange, _ pathInSource: (String) -> String?) -> [SourceProperty] {
    var result: [SourceProperty] = []
    for mapping in change.mappings {
      guard let source = plan.mapping.entityMapping(named: mapping)?.source,
        let entity = plan.source.entity(source), let path = pathInSource(mapping)
      else { continue }
      // Several mappings may use the objects of one entity.
      if result.contains(where: { $0.entity === entity && $0.path == path }) { continue }
      if entity.storeIndex == 0 { result.append(SourceProperty(entity: entity, path: path)) }
    }
    return result
  }

  // MARK: Values

  @_optimize(none)
  private func values(_ properties: [SourceProperty]) throws -> Int {
    try properties.reduce(0) { sum, property in
      let entity = property.entity
      let columns = entity.columns.filter {
        let path = plan.path(of: $0, in: entity)
        return path == property.path || path.hasPrefix(property.path + ".")
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
    _ properties: [SourceProperty], to lost: [String]? = nil, where condition: String? = nil
  ) throws -> Int {
    try properties.reduce(0) { sum, property in
      let entity = property.entity
      guard let relationship = entity.slot(property.path)?.relationship else { return sum }
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
