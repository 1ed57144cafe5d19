import Synchronization

/// The model that a store's metadata name, and the version of it.
struct StoreSource: Sendable {
  let model: ManagedObjectModel
  let version: ModelVersion
  fileprivate let versionHashes: VersionHashes

  var hashes: ModelHashes { versionHashes.value }
}

/// A model's current version with all information that objects and stores need. It is immutable and shared.
package final class ModelPlan: Sendable {
  package let model: ManagedObjectModel
  /// The current version of the model.
  package let version: ModelVersion
  package let graph: EntityGraph
  /// The entities by their indexes.
  package let entities: [EntityPlan]
  /// The indexes of the entities by their names.
  package let entityIndices: [String: Int]
  /// The join tables by their indexes.
  package let joins: [JoinPlan]
  private let versionHashes: VersionHashes
  /// The current versions of the models that a merged model consists of.
  private let parts: [StoreSource]
  /// The rules that say when derived attributes change because other objects do.
  let triggers: [DerivationTrigger]
  /// The names of derived attributes, of any entity.
  let derivedNames: Set<String>
  /// The number of derived attributes. An inherited one counts once. No value depends on a longer chain of others, because
  /// the schema allows no circles.
  let derivedCount: Int
  /// The references without an inverse that the store clears when the row that they lead to is deleted, by the root of
  /// that row. The history does not record that they were cleared.
  package let clearedReferences: [Int: [(entity: EntityPlan, slot: Int)]]
  /// The relationships without an inverse that need a minimum number of objects. Deleting such an object changes them,
  /// although no relationship leads from it to their owners.
  let oneSidedMinimums: [RelationshipPlan]
  /// Whether many-to-many relationships need a minimum number of objects.
  let hasPairMinimums: Bool
  /// Whether an entity has values that may be stored in files.
  package let hasExternalSlots: Bool

  /// Whether entities of one store have values that may be stored in files beside it.
  package func hasExternalSlots(ofStore store: Int) -> Bool {
    entities.contains { $0.storeIndex == store && !$0.externalSlots.isEmpty }
  }

  /// The indexes of the stores in which derived attributes and delete rules can read or change objects when an object of the
  /// entity changes: those that relationships lead to, from one object to the next and in both directions.
  @_optimize(none)
  func connectedStores(of entity: EntityPlan) -> Set<Int> {
    // A root stands for all entities of its hierarchy.
    var neighbors: [Int: Set<Int>] = [:]
    for entity in entities {
      for case let relationship? in entity.relationships {
        let other = entities[relationship.destination].root
        neighbors[entity.root, default: []].insert(other)
        neighbors[other, default: []].insert(entity.root)
      }
    }
    var found: Set<Int> = [entity.root]
    var waiting = [entity.root]
    while let root = waiting.popLast() {
      for other in neighbors[root] ?? [] where found.insert(other).inserted { waiting.append(other) }
    }
    return Set(found.compactMap { entities[$0].storeIndex })
  }

  /// Whether the class of an entity conforms to ``ManagedObjectLifecycle``.
  var hasLifecycle: Bool { entities.contains { $0.hasLifecycle } }

  /// Resolves the model's current version, for a store of all entities.
  package convenience init(ofAllEntitiesIn model: ManagedObjectModel) throws { try self.init(model) }

  /// Resolves the model's current version.
  ///
  /// - Parameters:
  ///   - configurations: The configuration of each store; nil for a store of all entities that no other configuration
  ///     names.
  ///   - assignment: The assignment of entities to stores, if the configurations do not determine it.
  ///   - traits: Returns the traits of the generated classes, by the entities' names.
  /// - Throws: ``ModelError`` if the model has no current version, or if that version has a mistake; and the errors of
  ///   `traits`.
  init(
    _ model: ManagedObjectModel, configurations: [String?] = [], assignment given: StoreAssignment? = nil,
    traits: (EntityGraph) throws -> [String: EntityTraits] = { _ in [:] }
  ) throws {
    guard let version = model.currentVersion else {
      throw ModelError.noCurrentVersion(model: model.name, number: model.currentVersionNumber)
    }
    self.model = model
    self.version = version
    graph = EntityGraph(version)
    // The version may come from a file, which can contain anything.
    let deep = zip(version.entities, graph.depths).first { $0.1 > EntityGraph.mostAncestors }
    if let deep { throw ModelError.tooManyAncestors(entity: deep.0.name) }
    versionHashes = VersionHashes(graph)
    parts = model.parts.compactMap { part in
      part.currentVersion.map {
        StoreSource(model: part, version: $0, versionHashes: VersionHashes(EntityGraph($0)))
      }
    }
    let assignment =
      try given ?? StoreAssignment(graph, configurations: configurations.isEmpty ? [nil] : configurations)
    var builder = ModelPlanBuilder(graph: graph, traits: try traits(graph), assignment: assignment)
    let (entities, joins) = try builder.build()
    self.entities = entities
    self.joins = joins
    derivedNames = Set(entities.flatMap { plan in plan.derivedSlots.map { plan.slots[$0].name } })
    derivedCount = entities.reduce(0) { count, plan in
      count + plan.derivedSlots.count(where: { plan.slots[$0].owner == plan.name })
    }
    triggers = derivedNames.isEmpty ? [] : DerivationTrigger.all(in: entities)
    hasExternalSlots = entities.contains { !$0.externalSlots.isEmpty }
    var cleared: [Int: [(entity: EntityPlan, slot: Int)]] = [:]
    for entity in entities {
      for slot in entity.clearableSlots {
        guard let relationship = entity.relationships[slot], !relationship.hasInverse else { continue }
        cleared[entities[relationship.destination].root, default: []].append((entity, slot))
      }
    }
    clearedReferences = cleared
    oneSidedMinimums = entities.flatMap { entity in
      entity.relationships.compactMap(\.self).filter {
        $0.owner == entity.name && !$0.hasInverse && $0.isToMany && $0.hasMinimum
      }
    }
    hasPairMinimums = entities.contains { entity in
      entity.relationships.contains { relationship in
        guard let relationship, case .join = relationship.storage else { return false }
        return relationship.hasMinimum
      }
    }
    entityIndices = Dictionary(
      entities.map { ($0.name, $0.index) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether derived attributes read objects through a relationship.
  func hasDerivation(through relationship: RelationshipPlan) -> Bool {
    triggers.contains { trigger in
      trigger.path.contains { $0.owner == relationship.owner && $0.slot == relationship.slot }
    }
  }

  /// Whether a save has to compute derived attributes.
  var hasDerivedSlots: Bool { !derivedNames.isEmpty }

  /// The data hash of the entities that a store holds. It is the version's own hash if the store holds all entities.
  @_optimize(none)
  package func dataHash(ofStore storeIndex: Int) -> Digest {
    let names = entities.filter { $0.storeIndex == storeIndex }.map(\.name)
    let hashes = source(ofStore: storeIndex).hashes
    return names.count == hashes.entities.count ? hashes.data : hashes.data(of: names)
  }

  /// Whether a store has all entities of the model.
  package func isWhole(store storeIndex: Int) -> Bool {
    parts.isEmpty && entities.allSatisfy { $0.storeIndex == storeIndex }
  }

  /// The model and version that identify a store.
  func source(ofStore storeIndex: Int) -> StoreSource {
    let names = Set(entities.filter { $0.storeIndex == storeIndex }.map(\.name))
    return parts.first { !names.isEmpty && names.isSubset(of: $0.hashes.entities.keys) }
      ?? StoreSource(model: model, version: version, versionHashes: versionHashes)
  }

  /// Returns the entity with a name; nil if the model has none.
  package func entity(_ name: String) -> EntityPlan? { entityIndices[name].map { entities[$0] } }
}

// The columns that hold the references of a relationship.
extension ModelPlan {
  /// The column that holds the order of a to-many relationship, in the table that holds its references; nil if the
  /// relationship is not ordered, or if a join table holds the order.
  package func positionColumn(of relationship: RelationshipPlan) -> String? {
    guard relationship.isOrdered, case .referencesOfOthers = relationship.storage,
      let column = inverseReferenceColumn(of: relationship)
    else { return nil }
    return column.name + ".position"
  }

  /// The entity in whose store a relationship's references, pairs and positions are.
  package func owner(ofRowsOf relationship: RelationshipPlan) -> EntityPlan {
    switch relationship.storage {
    case .reference: entity(relationship.owner) ?? entities[relationship.destination]
    case .inverseReference, .referencesOfOthers: entities[relationship.destination]
    case .join(let index, _): entities[joins[index].source]
    }
  }

  /// The column of the destination that holds the references of a relationship's inverse.
  package func inverseReferenceColumn(of relationship: RelationshipPlan) -> ColumnPlan? {
    let destination = entities[relationship.destination]
    guard let slot = relationship.inverseSlot, let column = destination.slots[slot].columns.first
    else { return nil }
    return destination.columns[column]
  }
}

/// The hashes of a model version, computed at their first use. Most stores carry exactly the version of the model, and
/// opening them needs no hashes.
private final class VersionHashes: Sendable {
  private let graph: EntityGraph
  private let made = Mutex<ModelHashes?>(nil)

  init(_ graph: EntityGraph) { self.graph = graph }

  var value: ModelHashes {
    made.withLock { made in
      if let made { return made }
      let hashes = ModelHashes(graph)
      made = hashes
      return hashes
    }
  }
}
