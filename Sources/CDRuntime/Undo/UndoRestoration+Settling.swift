// What is as the store has it is no change.
extension UndoRestoration {
  /// Forgets changes that are none any more.
  func forgetEqual() {
    var objects = touched
    for entry in group.entries { objects[ObjectIdentifier(entry.object)] = entry.object }
    if context.model.hasDerivedSlots {
      for object in context.pending { objects[ObjectIdentifier(object)] = object }
    }
    let changed = objects.values.filter {
      $0.exists && !$0.flags.contains(.inserted) && !$0.flags.isDisjoint(with: [.updated, .touched])
    }
    // What is no change any more is what others have made of it.
    defer {
      for object in objects.values { context.takeOver(object) }
      context.readContestedRelationships()
    }
    for object in changed { context.forgetEqualChanges(of: object) }
    var contested: Set<Partner>?
    for object in changed {
      guard let extras = object.extras else { continue }
      for case let relationship? in object.scope.plan.relationships
      where extras.changed.contains(relationship.slot) {
        switch relationship.storage {
        case .reference: continue
        case .inverseReference:
          let known = contested ?? contestedPartners()
          contested = known
          if known.contains(Partner(relationship, object.key, context.model)) { continue }
        case .referencesOfOthers, .join:
          guard let state = extras.toManyState(relationship.slot) else { break }
          if state.lacksPositions(relationship) {
            try? context.readPositions(object, relationship, state)
          }
          if !state.isSettled(relationship) { continue }
        }
        extras.changed.remove(relationship.slot)
      }
      if extras.changed.isEmpty, extras.faults.isEmpty { object.flags.subtract([.updated, .touched]) }
    }
  }

  /// An object as one that others may refer to by a one-to-one relationship.
  private struct Partner: Hashable {
    let root: Int
    let slot: Int
    let key: ObjectKey

    /// - Parameter relationship: The side that has no reference.
    init(_ relationship: RelationshipPlan, _ key: ObjectKey, _ model: ModelPlan) {
      root = model.entities[relationship.destination].root
      slot = relationship.inverseSlot ?? 0
      self.key = key
    }

    init(root: Int, slot: Int, key: ObjectKey) { (self.root, self.slot, self.key) = (root, slot, key) }
  }

  /// Those to which unsaved references lead by one-to-one relationships, or have led before.
  private func contestedPartners() -> Set<Partner> {
    var result: Set<Partner> = []
    for object in context.pending where object.isPending {
      let isWhole = !object.flags.isDisjoint(with: [.inserted, .deleted])
      for case let relationship? in object.scope.plan.relationships where relationship.isOneToOne {
        guard case .reference = relationship.storage else { continue }
        let slot = relationship.slot
        guard isWhole || object.extras?.changed.contains(slot) == true else { continue }
        let root = object.scope.plan.root
        result.insert(Partner(root: root, slot: slot, key: object.referenceKey(slot)))
        if case .int(let old)? = object.extras?.old.first(where: { $0.slot == slot })?.value {
          result.insert(Partner(root: root, slot: slot, key: old))
        }
      }
    }
    return result
  }
}
