// Going back to what the store has.
extension ManagedObjectContext {
  /// Undoes all changes since the last save: new objects are gone, the others have their values again.
  public func rollback() {
    revertCount &+= 1
    changeCount &+= 1
    let objects = pending
    pending.removeAll()
    insertionErrors.removeAll()
    lostChanges.removeAll()
    currentUndoManager?.removeAllActions()
    let followed = objects.filter { $0.flags.contains(.observed) }.map { ($0, Self.revertedSlots(of: $0)) }
    for (object, slots) in followed { object.willChange { slots.contains($0.number) } }
    let comeAndGone = objects.filter { !$0.flags.isDisjoint(with: [.deleted, .inserted]) }
    for object in objects {
      object.flags.remove(.listed)
      revert(object)
    }
    if let parent { followAfterRollback(parent) }
    // Relationships of other objects have those that were deleted again.
    dropCaches()
    readContestedRelationships()
    for (object, slots) in followed { object.didChange { slots.contains($0.number) } }
    noteLoose(to: Set(comeAndGone.map(\.scope.plan.root)))
    endReading()
    if !children.isEmpty {
      tellChildren()
      tellObservers()
    }
  }

  /// The slots whose values a rollback changes.
  private static func revertedSlots(of object: ManagedObject) -> SlotSet {
    guard object.flags.contains(.inserted) else { return object.extras?.changed ?? SlotSet() }
    var slots = SlotSet()
    for case let relationship? in object.scope.plan.relationships { slots.insert(relationship.slot) }
    return slots
  }

  private func revert(_ object: ManagedObject) {
    if object.flags.contains(.inserted) {
      maps[object.scope.plan.root]?.remove(object.key)
      object.flags.become(.inaccessible)
      object.extras?.toMany.removeAll()
      return
    }
    object.flags.subtract([.updated, .touched, .deleted])
    defer { takeOver(object) }
    guard let extras = object.extras else { return }
    if !extras.old.isEmpty {
      object.setStoredValues(
        Dictionary(extras.old.map { ($0.slot, $0.value) }, uniquingKeysWith: { first, _ in first }))
    }
    forgetChanges(of: extras)
    extras.toMany.removeAll()
    extras.partners.removeAll()
  }

  func forgetChanges(of extras: ObjectExtras) {
    extras.changed = SlotSet()
    if !extras.old.isEmpty { extras.old.removeAll() }
    if !extras.faults.isEmpty { extras.faults.removeAll() }
  }

  /// Forgets all objects and all changes. Objects that somebody still holds are inaccessible from now on.
  public func reset() {
    revertCount &+= 1
    changeCount &+= 1
    currentUndoManager?.removeAllActions()
    for scope in scopes {
      scope.live = nil
      scope.remains = nil
      scope.formerContext = self
    }
    scopes = model.entities.map { ObjectScope(plan: $0, context: self) }
    insertionScope = nil
    lookupScope = nil
    let objects = pending
    pending.removeAll()
    insertionErrors.removeAll()
    lostChanges.removeAll()
    cachingStates.removeAll()
    contestedHolders.removeAll()
    for object in objects {
      object.flags.subtract([
        .listed, .inserted, .draft, .tracked, .revived, .updated, .touched, .deleted, .outdated, .vanished,
      ])
    }
    for map in maps {
      for object in map?.objects ?? [] {
        noteChange(of: object)
        object.extras?.toMany.removeAll()
      }
      map?.removeAll()
    }
    if !children.isEmpty { tellChildren() }
    endReading()
  }
}
