import CDModel

extension StepBuilder {
  /// Whether both versions keep the objects of an entity in the same columns of the same table, and mean the
  /// same by them.
  func storesSame(_ entity: String) -> Bool {
    let (old, new) = (source.lineage(of: entity), destination.lineage(of: entity))
    guard old.map(\.name) == new.map(\.name), old.map(\.hashModifier) == new.map(\.hashModifier) else {
      return false
    }
    return !isThinnedOut(entity) && hasSameLeaves(entity) && hasSameRelationships(entity)
  }

  private func hasSameLeaves(_ entity: String) -> Bool {
    let before = Dictionary(
      source.leaves(of: entity).map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    let after = destination.leaves(of: entity)
    return before.count == after.count
      && after.allSatisfy { leaf in before[leaf.path].map { isSame($0, leaf) } ?? false }
  }

  private func isSame(_ old: StoredLeaf, _ new: StoredLeaf) -> Bool {
    TypeConversion(from: old.type, in: source, to: new.type, in: destination) == .identical
      && old.owner == new.owner && old.isOptional == new.isOptional
      && old.storesExternally == new.storesExternally && old.hashModifier == new.hashModifier
      && old.attribute.derivation == new.attribute.derivation
  }

  private func hasSameRelationships(_ entity: String) -> Bool {
    let before = Dictionary(
      source.relationships(of: entity).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let after = destination.relationships(of: entity)
    return before.count == after.count
      && after.allSatisfy { new in
        guard let old = before[new.name] else { return false }
        return isSame(old, new) && isSamePair(old, new, of: entity) && keepsAll(of: new.destination)
      }
  }

  /// Whether every object that a relationship to an entity can lead to goes on: a reference to one that does
  /// not has to go or to change.
  private func keepsAll(of entity: String) -> Bool {
    concrete(entity).allSatisfy { name in
      ownership.reached[name] == nil
        && (takers[name] ?? []).contains {
          mappings[$0].mapping.filter == nil && mappings[$0].destinationName == name && !isThinnedOut(name)
        }
    }
  }

  /// Whether a rule deletes objects of an entity that are equal to others.
  private func isThinnedOut(_ entity: String) -> Bool {
    rules.duplicates.contains { destination.isKind(entity, of: $0.entity) }
  }

  private func isSame(_ old: RelationshipDescription, _ new: RelationshipDescription) -> Bool {
    old.destination == new.destination && match.entities[new.destination] == old.destination
      && old.isToMany == new.isToMany && old.isOrdered == new.isOrdered
      && old.isOptional == new.isOptional && old.hashModifier == new.hashModifier
  }

  /// Whether the other side is the same: it has a part in where references stand, and in whether a store sees
  /// to it that they lead somewhere.
  private func isSamePair(
    _ old: RelationshipDescription, _ new: RelationshipDescription, of entity: String
  ) -> Bool {
    switch (source.inverse(of: old, in: entity), destination.inverse(of: new, in: entity)) {
    case (nil, nil): (old.deleteRule == .noAction) == (new.deleteRule == .noAction)
    case (let before?, let after?):
      before.name == after.name && isSame(before, after)
        && [old, before].contains { $0.deleteRule == .noAction }
          == [new, after].contains { $0.deleteRule == .noAction }
    default: false
    }
  }
}
