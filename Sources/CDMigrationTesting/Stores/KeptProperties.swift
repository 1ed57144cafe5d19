import CDRuntime

/// The properties of one version's objects that another version keeps unchanged, according to the mappings of all steps
/// between.
struct KeptProperties {
  /// A destination entity of objects, with the properties that stay unchanged.
  struct Goal: Hashable {
    var entity: String
    /// The new names of properties, by their old names.
    var properties: [String: String]
    /// Whether the app's own code creates the objects in one of the steps.
    var isCustom: Bool
    /// Whether some objects may be left out, or merged with equal ones.
    var isPartial: Bool
    /// Whether an object may get the related objects of equal ones that were merged with it.
    var isMerged: Bool
  }

  private var goals: [String: [Goal]] = [:]

  init(_ old: VersionedStore, _ new: VersionedStore) {
    let graph = old.graph
    for entity in graph.version.entities where !entity.isAbstract {
      let names =
        graph.attributes(of: entity.name).filter { $0.isStored && $0.derivation == nil }.map(\.name)
        + graph.relationships(of: entity.name).map(\.name)
      let start = Goal(
        entity: entity.name, properties: Dictionary(uniqueKeysWithValues: Set(names).map { ($0, $0) }),
        isCustom: false, isPartial: false, isMerged: false)
      goals[entity.name] = [start]
    }
    for step in VersionPaths(new.model).steps(from: old.version.number, to: new.version.number) ?? [] {
      apply(step, EntityGraph(new.model.version(step.destination) ?? new.version))
    }
  }

  /// The entities of the new version that objects of an entity become, in the order of the mappings.
  func destinations(of entity: String) -> [String] { goals(of: entity).map(\.entity) }

  func goals(of entity: String) -> [Goal] { goals[entity] ?? [] }

  private mutating func apply(_ step: MigrationStep, _ graph: EntityGraph) {
    goals = goals.mapValues { goals in
      goals.flatMap { goal in
        step.mapping.entityMappings.compactMap { mapping in
          guard mapping.source == goal.entity, let destination = mapping.destination else { return nil }
          return next(goal, mapping, destination, step, graph)
        }
      }
    }
  }

  private func next(
    _ goal: Goal, _ mapping: EntityMapping, _ destination: String, _ step: MigrationStep, _ graph: EntityGraph
  ) -> Goal {
    var kept: [String: String] = [:]
    for (old, now) in goal.properties {
      if let name = Self.name(of: now, in: mapping, destination, graph) { kept[old] = name }
    }
    let isMerged = step.mapping.duplicates.contains { graph.isKind(destination, of: $0.entity) }
    let isOwned = step.changes.contains {
      if case .ownedObjectsLeft(goal.entity, _) = $0.kind { true } else { false }
    }
    return Goal(
      entity: destination, properties: kept, isCustom: goal.isCustom || mapping.kind == .custom,
      isPartial: goal.isPartial || mapping.filter != nil || isOwned || isMerged,
      isMerged: goal.isMerged || isMerged)
  }

  /// The property of a mapping's destination that copies a property of its source without a change; nil if there is
  /// none.
  private static func name(
    of old: String, in mapping: EntityMapping, _ destination: String, _ graph: EntityGraph
  ) -> String? {
    func isPlain(_ value: ValueExpression) -> Bool { value == .keyPath([old]) || value == .keyPath(old) }
    if let attribute = mapping.attributes.first(where: { isPlain($0.value) }) { return attribute.name }
    for relationship in mapping.relationships {
      if case .objects(let value) = relationship.value, isPlain(value) { return relationship.name }
    }
    // A composite is unchanged if each of its fields is.
    for attribute in graph.attributes(of: destination) {
      guard case .composite(let type) = attribute.type, let fields = graph.composite(type)?.fields else {
        continue
      }
      let isWhole = fields.filter(\.isStored).allSatisfy { field in
        mapping.attributes.contains {
          $0.name == "\(attribute.name).\(field.name)" && $0.value == .keyPath([old, field.name])
        }
      }
      if isWhole { return attribute.name }
    }
    return nil
  }
}
