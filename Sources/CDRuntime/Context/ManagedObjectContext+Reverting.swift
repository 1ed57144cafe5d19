// Going back to what the store has.
extension ManagedObjectContext {
  /// Undoes all changes since the last save: new objects are gone, the others have their values again.
  public func rollback() {
    let objects = pending
    pending.removeAll()
    insertionErrors.removeAll()
    for object in objects {
      object.flags.remove(.listed)
      revert(object)
    }
    // Relationships of other objects have those that were deleted again.
    dropCaches()
    endReading()
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

  /// Makes an object read its row again when it is next used.
  ///
  /// - Parameter mergeChanges: Whether the object's changes are kept and only its other values read again;
  ///   without, they are lost.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    guard object.scope.context === self, !object.flags.contains(.inserted) else { return }
    endReading()
    let changes = mergeChanges ? object.extras?.old.map { ($0.slot, object.storedValue($0.slot)) } ?? [] : []
    if !mergeChanges {
      let isListed = object.flags.contains(.listed)
      revert(object)
      if isListed {
        object.flags.remove(.listed)
        pending.removeAll { $0 === object }
      }
      object.extras?.toMany.removeAll()
      object.extras?.partners.removeAll()
    }
    object.flags.remove(.inaccessible)
    object.flags.insert(.fault)
    guard !changes.isEmpty else { return }
    object.fireFault()
    guard !object.flags.contains(.inaccessible) else { return }
    object.extras?.old = changes.map { ($0.0, object.storedValue($0.0)) }
    object.setStoredValues(Dictionary(changes, uniquingKeysWith: { first, _ in first }))
  }

  /// Makes all objects without changes read their rows again when they are next used.
  public func refreshAllObjects() {
    endReading()
    for object in registeredObjects where !object.isPending { refresh(object, mergeChanges: false) }
  }

  /// Forgets all objects and all changes. Objects that somebody still holds are inaccessible from now on.
  public func reset() {
    for scope in scopes { scope.context = nil }
    scopes = model.entities.map { ObjectScope(plan: $0, context: self) }
    insertionScope = nil
    lookupScope = nil
    let objects = pending
    pending.removeAll()
    insertionErrors.removeAll()
    cachingStates.removeAll()
    for object in objects {
      object.flags.subtract([.listed, .inserted, .draft, .updated, .touched, .deleted])
    }
    for map in maps {
      for object in map?.objects ?? [] { object.extras?.toMany.removeAll() }
      map?.removeAll()
    }
    endReading()
  }
}
