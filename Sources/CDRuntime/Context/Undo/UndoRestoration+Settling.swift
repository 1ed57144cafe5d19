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
      context.followWithDerivedChanges()
      context.readContestedRelationships()
    }
    for object in changed { context.forgetEqualChanges(of: object) }
    var contested: Set<OneToOnePartner>?
    for object in changed {
      guard let extras = object.extras else { continue }
      for case let relationship? in object.scope.plan.relationships
      where extras.changed.contains(relationship.slot) {
        switch relationship.storage {
        case .reference: continue
        case .inverseReference:
          let known = contested ?? context.contestedPartners()
          contested = known
          if known.contains(OneToOnePartner(relationship, object.key, context.model)) { continue }
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
}
