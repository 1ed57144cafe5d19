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
  ///   without, they are lost, on the other sides of its relationships too. Objects that were related by a change of
  ///   their own stay so, and an object that was deleted stays deleted: a rollback brings it back.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    guard object.scope.context === self, !object.flags.contains(.inserted) else { return }
    endReading()
    let isDropping = !mergeChanges && !object.flags.contains(.deleted)
    if isDropping { dropChanges(of: object) }
    let changes = object.extras?.old.map { ($0.slot, object.storedValue($0.slot)) } ?? []
    if let extras = object.extras { forgetRelationships(extras, of: object) { _ in true } }
    object.flags.remove(.inaccessible)
    object.flags.insert(.fault)
    // The save needs the row's version, whatever else has changed.
    guard object.isPending else { return }
    object.fireFault()
    guard !object.flags.contains(.inaccessible), !changes.isEmpty else { return }
    object.extras?.old = changes.map { ($0.0, object.storedValue($0.0)) }
    object.setStoredValues(Dictionary(changes, uniquingKeysWith: { first, _ in first }))
  }

  private func dropChanges(of object: ManagedObject) {
    guard let extras = object.extras else { return }
    let lost = unrelate(object, extras)
    forgetValues(of: object, extras)
    for slot in lost {
      object._willWrite(slot)
      object._setReference(slot, 0)
    }
  }

  /// Takes the changes of an object's own references and pairs back, on both sides.
  ///
  /// - Returns: The references that cannot be taken back, since their objects are deleted.
  private func unrelate(_ object: ManagedObject, _ extras: ObjectExtras) -> [Int] {
    var lost: [Int] = []
    for case let relationship? in object.scope.plan.relationships
    where extras.changed.contains(relationship.slot) {
      switch relationship.storage {
      case .reference:
        guard let old = extras.old.first(where: { $0.slot == relationship.slot })?.value else { continue }
        var former: ManagedObject?
        if case .int(let key) = old {
          former = self.object(key, relationship)
          if former == nil { lost.append(relationship.slot) }
        }
        setReference(of: object, relationship, to: former)
      case .join:
        guard let state = extras.toManyState(relationship.slot), state.isChanged else { continue }
        // Once it is loaded the state has what makes the difference.
        _ = objects(of: object, relationship)
        guard state.keys != nil else { continue }
        for key in state.added.keys {
          if let member = self.object(key, relationship) { remove(member, from: object, relationship) }
        }
        for key in state.removed.keys {
          if let member = self.object(key, relationship) { add(member, to: object, relationship, at: nil) }
        }
        state.didSave()
      case .inverseReference, .referencesOfOthers: break
      }
    }
    return lost
  }

  /// Lets relationships be read again. What has been changed is kept.
  func forgetRelationships(
    _ extras: ObjectExtras, of object: ManagedObject, where isMeant: (RelationshipPlan) -> Bool
  ) {
    extras.toMany.removeAll { slot, state in
      guard let relationship = object.scope.plan.relationships[slot], isMeant(relationship) else {
        return false
      }
      if state.isChanged, !relationship.isOrdered {
        state.keys = nil
        state.cache = nil
      }
      return !state.isChanged
    }
    extras.partners = extras.partners.filter { extras.changed.contains($0.key) }
  }

  /// Takes the changes of an object's values back. Relationships whose data other objects have are theirs.
  private func forgetValues(of object: ManagedObject, _ extras: ObjectExtras) {
    if !extras.old.isEmpty {
      object.setStoredValues(
        Dictionary(extras.old.map { ($0.slot, $0.value) }, uniquingKeysWith: { first, _ in first }))
    }
    let kept = extras.changed
    forgetChanges(of: extras)
    object.flags.remove(.updated)
    for case let relationship? in object.scope.plan.relationships where kept.contains(relationship.slot) {
      switch relationship.storage {
      case .referencesOfOthers, .inverseReference: extras.changed.insert(relationship.slot)
      case .reference, .join: break
      }
    }
    extras.toMany.removeAll { $0.state.added.isEmpty && $0.state.removed.isEmpty }
    guard extras.changed.isEmpty else { return }
    object.flags.subtract([.touched, .listed])
    pending.removeAll { $0 === object }
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
