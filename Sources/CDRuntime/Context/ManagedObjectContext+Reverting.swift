// Going back to what the store has.
extension ManagedObjectContext {
  /// Undoes all changes since the last save: new objects are gone, the others have their values again.
  public func rollback() {
    let objects = pending
    pending.removeAll()
    insertionErrors.removeAll()
    currentUndoManager?.removeAllActions()
    for object in objects {
      object.flags.remove(.listed)
      revert(object)
    }
    // Relationships of other objects have those that were deleted again.
    dropCaches()
    endReading()
    if !children.isEmpty { tellChildren() }
  }

  private func revert(_ object: ManagedObject) {
    if object.flags.contains(.inserted) {
      maps[object.scope.plan.root]?.remove(object.key)
      object.flags = .inaccessible
      object.extras?.toMany.removeAll()
      return
    }
    object.flags.subtract([.updated, .touched, .deleted])
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
    extras.old.removeAll()
    extras.faults.removeAll()
  }

  /// Forgets all objects and all changes. Objects that somebody still holds are inaccessible from now on.
  public func reset() {
    currentUndoManager?.removeAllActions()
    for scope in scopes { scope.context = nil }
    scopes = model.entities.map { ObjectScope(plan: $0, context: self) }
    insertionScope = nil
    lookupScope = nil
    let objects = pending
    pending.removeAll()
    insertionErrors.removeAll()
    cachingStates.removeAll()
    for object in objects {
      object.flags.subtract([
        .listed, .inserted, .draft, .tracked, .revived, .updated, .touched, .deleted,
      ])
    }
    for map in maps {
      for object in map?.objects ?? [] { object.extras?.toMany.removeAll() }
      map?.removeAll()
    }
    endReading()
  }
}
