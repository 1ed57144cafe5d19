/// The model, and the version of it, that a store's metadata name.
struct StoreSource: Sendable {
  let model: ManagedObjectModel
  let version: ModelVersion
  fileprivate let versionHashes: VersionHashes

  var hashes: ModelHashes { versionHashes.value }
}

/// A model's current version with everything resolved that objects and stores need. Immutable and shared.
final class ModelPlan: Sendable {
  let model: ManagedObjectModel
  let version: ModelVersion
  let graph: EntityGraph
  let entities: [EntityPlan]
  let places: [String: Int]
  let joins: [JoinPlan]
  private let versionHashes: VersionHashes
  /// The current versions of a merged model's parts.
  private let parts: [StoreSource]
  /// Which store holds which entities.
  private let assignment: StoreAssignment
  /// What makes derived attributes of other objects change.
  let triggers: [DerivationTrigger]
  /// The names of derived attributes, of any entity.
  let derivedNames: Set<String>
  /// The one-sided references that the store clears when the row goes to which they lead, by that row's root. Nobody
  /// writes down that they have been cleared.
  let clearedReferences: [Int: [(entity: EntityPlan, slot: Int)]]
  /// The relationships without an inverse that may not be without objects. The deletion of such an object changes them,
  /// though nothing leads from it to the objects that have them.
  let oneSidedMinimums: [RelationshipPlan]
  /// Whether there are many-to-many relationships that may not be without objects, or have a minimum count.
  let hasPairMinimums: Bool
  /// Whether an entity has values that may be files.
  let hasExternalSlots: Bool

  /// Whether values of entities of one store may be files beside it.
  func hasExternalSlots(ofStore store: Int) -> Bool {
    entities.contains { $0.storeIndex == store && !$0.externalSlots.isEmpty }
  }

  /// Whether a class is asked at the turns of its objects' lives.
  let hasLifecycle: Bool

  /// Resolves the model's current version.
  ///
  /// - Parameters:
  ///   - configurations: That of each store; nil for what no other store's names.
  ///   - assignment: Which store holds what, where no configurations say so.
  ///   - traits: What the generated classes mean, by the entities' names.
  /// - Throws: ``ModelError`` if the model has no current version, or one with a mistake; and what `traits` throws.
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
    // A version that a file carries may be anybody's.
    let deep = zip(version.entities, graph.depths).first { $0.1 > EntityGraph.mostAncestors }
    if let deep { throw ModelError.tooManyAncestors(entity: deep.0.name) }
    versionHashes = VersionHashes(graph)
    parts = model.parts.compactMap { part in
      part.currentVersion.map {
        StoreSource(model: part, version: $0, versionHashes: VersionHashes(EntityGraph($0)))
      }
    }
    assignment =
      try given
      ?? (configurations.isEmpty ? .single(graph) : StoreAssignment(graph, configurations: configurations))
    var builder = ModelPlanBuilder(graph: graph, traits: try traits(graph), assignment: assignment)
    let (entities, joins) = try builder.build()
    self.entities = entities
    self.joins = joins
    derivedNames = Set(entities.flatMap { plan in plan.derivedSlots.map { plan.slots[$0].name } })
    triggers = DerivationTrigger.all(in: entities)
    hasLifecycle = entities.contains(where: \.hasLifecycle)
    hasExternalSlots = entities.contains { !$0.externalSlots.isEmpty }
    var cleared: [Int: [(entity: EntityPlan, slot: Int)]] = [:]
    for entity in entities {
      for slot in entity.clearableSlots {
        guard let relationship = entity.relationships[slot], relationship.inverse == nil else { continue }
        cleared[entities[relationship.destination].root, default: []].append((entity, slot))
      }
    }
    clearedReferences = cleared
    oneSidedMinimums = entities.flatMap { entity in
      entity.relationships.compactMap(\.self).filter {
        $0.owner == entity.name && $0.inverse == nil && $0.isToMany && $0.hasMinimum
      }
    }
    hasPairMinimums = entities.contains { entity in
      entity.relationships.contains { relationship in
        guard let relationship, case .join = relationship.storage else { return false }
        return relationship.hasMinimum
      }
    }
    places = Dictionary(
      entities.map { ($0.name, $0.index) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether a save has anything to derive.
  var hasDerivedSlots: Bool { !derivedNames.isEmpty }

  /// The data hash of the entities that a store holds: the whole version's where it holds all.
  func dataHash(ofStore place: Int) -> Digest {
    let names = entities.filter { $0.storeIndex == place }.map(\.name)
    let hashes = source(ofStore: place).hashes
    return names.count == hashes.entities.count ? hashes.data : hashes.data(of: names)
  }

  /// Whether a store has all entities of the model.
  func isWhole(store place: Int) -> Bool { parts.isEmpty && entities.allSatisfy { $0.storeIndex == place } }

  /// What a store is a store of, by which it is known again.
  func source(ofStore place: Int) -> StoreSource {
    let names = Set(entities.filter { $0.storeIndex == place }.map(\.name))
    return parts.first { !names.isEmpty && names.isSubset(of: $0.hashes.entities.keys) }
      ?? StoreSource(model: model, version: version, versionHashes: versionHashes)
  }

  func entity(_ name: String) -> EntityPlan? { places[name].map { entities[$0] } }
}

// The columns that a relationship's references stand in.
extension ModelPlan {
  /// The column that keeps the order of a to-many relationship, in the table where its references stand;
  /// nil for a relationship that is not ordered or whose order a table of pairs keeps.
  func positionColumn(of relationship: RelationshipPlan) -> String? {
    guard relationship.isOrdered, case .referencesOfOthers = relationship.storage,
      let column = referenceColumn(behind: relationship)
    else { return nil }
    return column.name + ".position"
  }

  /// The column of the destination that holds the references of a relationship's inverse.
  func referenceColumn(behind relationship: RelationshipPlan) -> ColumnPlan? {
    let destination = entities[relationship.destination]
    guard let slot = relationship.inverseSlot, let column = destination.slots[slot].columns.first
    else { return nil }
    return destination.columns[column]
  }
}
