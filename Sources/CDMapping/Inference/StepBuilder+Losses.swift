import CDModel

extension StepBuilder {
  /// Reports the stored values and relationships of each source entity of which no mapping makes anything.
  func findLostProperties() {
    for entity in source.version.entities {
      guard let places = takers[entity.name], !places.isEmpty else { continue }
      findLostAttributes(of: entity.name, places)
      findLostRelationships(of: entity.name, places)
    }
  }

  private func findLostAttributes(of entity: String, _ places: [Int]) {
    var kept: Set<String> = []
    for place in places {
      kept.formUnion(mappings[place].keptLeaves)
      if let filter = mappings[place].mapping.filter {
        // What chooses the objects is in the choice.
        kept.formUnion(readPaths(filter, in: entity))
      }
    }
    let lost = source.leaves(of: entity).filter {
      !kept.contains($0.path) && !kept.contains($0.attribute.name)
    }
    let lostPaths = Set(lost.map(\.path))
    var reported: Set<String> = []
    for leaf in lost {
      // Of a composite that is gone altogether, the composite is what is gone.
      let isWhole =
        leaf.field != nil
        && source.leaves(of: entity).allSatisfy {
          $0.attribute.name != leaf.attribute.name || lostPaths.contains($0.path)
        }
      let path = isWhole ? leaf.attribute.name : leaf.path
      guard reported.insert(path).inserted else { continue }
      reportLost(leaf, path, of: places)
    }
  }

  private func readPaths(_ predicate: FetchPredicate, in entity: String) -> Set<String> {
    // An expression with the predicate in it reads what the predicate does.
    readPaths(.ternary(predicate, .null, .null), in: entity)
  }

  private func reportLost(_ leaf: StoredLeaf, _ path: String, of places: [Int]) {
    let name = PropertyName(leaf.owner, path)
    guard let first = places.first else { return }
    if leaf.isDerived { return changes.add(.attributeRemoved(name), .automatic, .automatic) }
    // The attribute may still be there, and hold nothing that is stored.
    if case .attribute(let now)? = destination.property(
      leaf.attribute.name, of: mappings[first].destinationName), now.isTransient,
      let owner = destination.declaringEntity(
        of: leaf.attribute.name, in: mappings[first].destinationName)?.name
    {
      return add(.attributeBecameTransient(PropertyName(owner, leaf.attribute.name)), path, places)
    }
    add(.attributeRemoved(name), path, places, candidates: candidates(for: leaf, path, places))
  }

  /// Notes a loss: it is meant where one of the mappings of the objects says so.
  @inline(never)
  private func add(
    _ kind: ModelChange.Kind, _ path: String, _ places: [Int], candidates: [String] = [],
    isMeant: Bool = false
  ) {
    var resolution = ModelChange.Resolution.open
    if places.contains(where: { mappings[$0].isCustom }) { resolution = .custom }
    if isMeant { resolution = .confirmed }
    for place in places where isDropped(path, of: place) { resolution = .confirmed }
    for place in places {
      changes.add(kind, .losesData, resolution, mappings[place].mapping, candidates: candidates)
    }
  }

  /// New attributes that a removed one may have become.
  private func candidates(for leaf: StoredLeaf, _ path: String, _ places: [Int]) -> [String] {
    var same: [String] = []
    var fitting: [String] = []
    for place in places {
      for new in mappings[place].newLeaves where new.field == nil && leaf.field == nil {
        guard mayCompare() else { break }
        // Which values would be which cases nobody can say.
        if case .enumeration = new.type, leaf.type != new.type { continue }
        switch TypeConversion(from: leaf.type, in: source, to: new.type, in: destination) {
        case .identical: same.append(new.attribute.name)
        // Anything can be a text.
        case .lossless where new.type != .string: fitting.append(new.attribute.name)
        default: break
        }
      }
    }
    return same.isEmpty ? fitting : same
  }

  // MARK: Relationships

  private func findLostRelationships(of entity: String, _ places: [Int]) {
    for relationship in source.relationships(of: entity) {
      guard let owner = source.declaringEntity(of: relationship.name, in: entity)?.name else { continue }
      if places.contains(where: { mappings[$0].keptRelationships.contains(relationship.name) }) { continue }
      let name = PropertyName(owner, relationship.name)
      if isKeptByInverse(relationship, of: entity) {
        changes.add(.relationshipRemoved(name))
        continue
      }
      let candidates = places.flatMap { place in
        mappings[place].newRelationships.filter { new in
          mayCompare() && new.isToMany == relationship.isToMany
            && match.entities[new.destination] == relationship.destination
        }
        .map(\.name)
      }
      add(
        .relationshipRemoved(name), relationship.name, places, candidates: candidates,
        isMeant: isInverseDropped(relationship, of: entity))
    }
  }

  /// Whether the loss of who is related to whom is said to be meant on the other side.
  private func isInverseDropped(_ relationship: RelationshipDescription, of entity: String) -> Bool {
    guard let inverse = source.inverse(of: relationship, in: entity) else { return false }
    return takers(ofKind: relationship.destination).contains { isDropped(inverse.name, of: $0) }
  }

  /// Whether who is related to whom is still told by the other side.
  func isKeptByInverse(_ relationship: RelationshipDescription, of entity: String) -> Bool {
    guard let inverse = source.inverse(of: relationship, in: entity) else { return false }
    return takers(ofKind: relationship.destination).contains {
      mappings[$0].keptRelationships.contains(inverse.name)
    }
  }
}
