// Conflicts of deleted objects that others have related one of theirs to.
extension ManagedObjectContext {
  /// Takes the deletion of an object back, or applies its delete rules to what others have related to it.
  ///
  /// A rule of `deny` is no matter of policies: were the others known before the save, it would be refused for them.
  ///
  /// - Returns: The rules that deny the deletion.
  func resolveReferrers(of object: ManagedObject, _ conflict: SaveConflict) throws -> [ValidationError] {
    guard object.flags.contains(.deleted) else { return [] }
    let related = object.scope.plan.relationships.compactMap { relationship in
      relationship.flatMap { ruled in (ruled, addedByOthers(to: object, ruled)) }
    }
    let denying = related.filter { $0.0.description.deleteRule == .deny && !$0.1.isEmpty }
    if !denying.isEmpty {
      return denying.map { relationship, _ in
        ValidationError(
          reason: .deleteDenied, entity: object.scope.plan.name, property: relationship.name,
          objectID: object.objectID)
      }
    }
    switch try resolution(of: conflict) {
    case .storeWins, .rollback:
      refresh(object, mergeChanges: true)
      if !object.flags.contains(.inaccessible) { takeBackDeletion(of: object) }
    case .objectWins, .overwrite, .values:
      for (relationship, others) in related { applyDeleteRule(relationship, to: others) }
    }
    return []
  }

  /// Applies the delete rule of a deleted object's relationship to the objects that others have added to it.
  private func applyDeleteRule(_ relationship: RelationshipPlan, to others: [ManagedObject]) {
    if let inverse = inverse(of: relationship), !inverse.isToMany {
      for other in others { setReference(of: other, inverse, to: nil) }
    }
    if relationship.description.deleteRule == .cascade { for other in others { delete(other) } }
  }

  /// The objects that the store relates to a deleted one, and that this context has neither deleted nor taken from it.
  private func addedByOthers(
    to object: ManagedObject, _ relationship: RelationshipPlan
  ) -> [ManagedObject] {
    if relationship.description.deleteRule == .noAction { return [] }
    // What the object's own row refers to has been added by nobody else.
    if case .reference = relationship.storage, !relationship.isSymmetric { return [] }
    let stored = ToManyState()
    load(object, relationship, stored)
    var removed = object.extras?.toManyState(relationship.slot)?.removed
    let others = (stored.keys?.keys ?? []).compactMap { self.object($0, relationship) }
    return others.filter { other in
      if other.isPending { refresh(other, mergeChanges: true) }
      other._willRead()
      guard let inverse = inverse(of: relationship), !inverse.isToMany else {
        return removed?.contains(other.key) != true
      }
      return other.referenceKey(inverse.slot) == object.key
    }
  }
}
