// Reading objects again from the store, with or without their changes.
extension ManagedObjectContext {
  /// Makes an object read its row again when it is next used.
  ///
  /// If the row of an object with changes is gone, or if the store cannot be read, an object that keeps its changes keeps its
  /// other values too. If the row is gone, the next save finds the conflict ``SaveConflict/Reason-swift.enum/deleted``. Delete
  /// the object, or refresh it without its changes, to save the rest.
  ///
  /// - Parameters:
  ///   - object: An object of the context. An object of another context and a new object are left as they are.
  ///   - mergeChanges: True keeps the object's changes and reads its other values again. A value that was set back to
  ///     the store's value is not a change. False discards the changes, on the other sides of relationships too.
  ///     Objects that were related by a change of their own stay related, and a deleted object stays deleted: a
  ///     rollback brings it back.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    let isDropping = !mergeChanges && !children.isEmpty && object.scope.context === self && object.isPending
    let hasValues = object.flags.isDisjoint(with: [.fault, .inaccessible])
    refresh(object, mergeChanges: mergeChanges, keepsReferencesToDeleted: false)
    if hasValues, object.isPending, object.flags.contains(.inaccessible) {
      object.flags.remove(.inaccessible)
      noteContestedReferences(of: object)
    }
    // A child may have read relationships with these changes, of which the versions of its objects do not tell.
    if isDropping {
      invalidateChildren()
      notifyObservers()
    }
  }

  /// Refreshes an object for a merge policy, and keeps its changes. If its row is gone, or if the store cannot be read, it is
  /// inaccessible afterwards.
  func refreshKeepingChanges(of object: ManagedObject) {
    refresh(object, mergeChanges: true, keepsReferencesToDeleted: false)
  }

  /// Drops an object's changes for a merge policy. References to objects that are deleted here are read from the row
  /// as well: the store refuses these deletions, and the merge policy decides each of them.
  func dropContestedChanges(of object: ManagedObject) {
    refresh(object, mergeChanges: false, keepsReferencesToDeleted: true)
  }

  @_optimize(none)
  private func refresh(_ object: ManagedObject, mergeChanges: Bool, keepsReferencesToDeleted: Bool) {
    guard object.scope.context === self else { return }
    if object.flags.contains(.inserted) {
      try? becomeUpdate(object)
    } else if mergeChanges {
      forgetEqualChanges(of: object)
    }
    guard object.flags.isDisjoint(with: [.inserted, .deletionSaved]) else { return }
    pendingChanges.countChange()
    endReading()
    object.willChange { _ in true }
    defer { object.didChange { _ in true } }
    // Reading a row again is not a change that undo takes back.
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    let isDropping = !mergeChanges && !object.flags.contains(.deleted)
    if isDropping { dropChanges(of: object, keepsReferencesToDeleted) }
    let former = object.extras?.old ?? []
    let changes = Dictionary(
      former.map { ($0.slot, object.storedValue($0.slot)) }, uniquingKeysWith: { first, _ in first })
    let unencodable = object.unencodableStorages(among: changes)
    let pairs = pendingChanges.addingPairsOfLostRow(of: object, to: knownPairs(of: object))
    if let extras = object.extras { forgetRelationships(extras, of: object) { _ in true } }
    defer { if !object.isPending { readContestedRelationships() } }
    if !object.isPending, object.flags.contains(.rowDeletedElsewhere) { return applyExternalChanges(object) }
    if !object.flags.isDisjoint(with: [.outdated, .rowDeletedElsewhere]) {
      pendingChanges.noteContested(root: object.scope.plan.root)
    }
    let known = object.flags.intersection([.outdated, .rowDeletedElsewhere])
    let failures = readFailures.count
    object.flags.subtract([.inaccessible, .outdated, .rowDeletedElsewhere])
    object.flags.insert(.fault)
    // The save needs the row's version, even if the object has no changed values.
    guard object.isPending else { return }
    object.fireFault()
    if object.flags.contains(.inaccessible) {
      // If the store cannot be read, nothing new is known of the row.
      object.flags.formUnion(readFailure(since: failures) == nil ? .rowDeletedElsewhere : known)
      pendingChanges.notePairsOfLostRow(of: object, pairs)
      return
    }
    guard !changes.isEmpty else { return }
    object.extras?.old = former.map { old -> (slot: Int, value: AttributeValue) in
      let read = object.storedValue(old.slot)
      // No row has a transient attribute: unless the app's code has set it anew, its value is still the change.
      let isUnread = !object.scope.plan.slots[old.slot].isStored && read == changes[old.slot]
      return (old.slot, isUnread ? old.value : read)
    }
    object.setStoredValues(changes, unencodable: unencodable)
  }

  /// Reads an object's relationships again, and one reference that its row has.
  ///
  /// An object with values of its own keeps its other values, and its version unless only the reference has changed in
  /// the store. Its save then still finds what another context has changed, and nothing decides about that conflict
  /// before. Any other object is refreshed as a whole.
  ///
  /// - Parameter reference: The reference, which is read unless it has been changed here.
  @_optimize(none)
  func refreshRelationships(of object: ManagedObject, reading reference: RelationshipPlan?) {
    forgetEqualChanges(of: object)
    forgetDerivedChanges(of: object)
    guard object.hasOwnChanges, !object.flags.contains(.inserted) else {
      return refreshKeepingChanges(of: object)
    }
    object._willRead()
    if let slot = reference?.slot, object.extras?.changed.contains(slot) != true {
      // Only the refresh handles a row that is gone, or that cannot be read.
      guard let newest = try? newestReference(of: object, slot) else {
        return refreshKeepingChanges(of: object)
      }
      object._setReference(slot, newest.key)
      if let version = newest.version {
        object.version = version
        object.flags.remove(.outdated)
      }
    }
    noteChange(of: object)
    if let extras = object.extras { forgetRelationships(extras, of: object) { _ in true } }
  }

  /// A reference in the object's row or in its parent's instance, which the object itself may not have read.
  ///
  /// - Returns: The key, and the row's version if the row has no other news for the object: then a save of the object
  ///   overwrites nothing that it does not know. Nil if there is no row. Also nil if the parent cannot read its instance,
  ///   which is reported.
  /// - Throws: The error of a store that cannot be read.
  func newestReference(of object: ManagedObject, _ slot: Int) throws -> (key: ObjectKey, version: Int64?)? {
    func key(_ value: AttributeValue) -> ObjectKey {
      if case .int(let key) = value { key } else { 0 }
    }
    if parent != nil {
      return parentInstance(of: object).map { (key($0.comparableValue(slot)), nil) }
    }
    let plan = object.scope.plan
    let rows = try reader().row(object.key, of: plan)
    defer { rows.close() }
    guard try rows.next(), let row = rows.reader(of: plan, nil) else { return nil }
    let isKnown = plan.slots.indices.allSatisfy { other in
      let property = plan.slots[other]
      guard other != slot, property.isStored, !property.isDerived else { return true }
      // A value that is read later could be another one unseen.
      guard !property.mayNameFile else { return false }
      let known = object.extras?.oldValue(other) ?? object.storedValue(other)
      return ManagedObject.storedValue(of: row, property) == known
    }
    return (key(ManagedObject.storedValue(of: row, plan.slots[slot])), isKnown ? rows.version : nil)
  }

  /// Turns an insertion of a row again into an update of the row that another context has inserted meanwhile: all of
  /// the object's values and pairs become changes. Does nothing to other new objects.
  ///
  /// In a child, this is an update of the parent's object: see ``parentInstance(ofNew:)``.
  ///
  /// - Throws: The error of a store that cannot be read. The object is still new then.
  func becomeUpdate(_ object: ManagedObject) throws {
    guard object.flags.isDisjoint(with: [.deleted, .deletionSaved]), try !isNewBelow(object) else { return }
    let plan = object.scope.plan
    // Only a child's object gives its transient values to another one.
    let transient = parent == nil ? [] : plan.transientSlots
    let changed = (plan.storedSlots + transient).filter { !object.isUnreadable($0) }
    object.flags.subtract([.inserted, .draft, .tracked, .reinserted])
    object.flags.formUnion(transient.isEmpty ? .updated : [.updated, .changedOutsideRow])
    let extras = object.requireExtras()
    for slot in changed where !extras.changed.contains(slot) {
      extras.changed.insert(slot)
      extras.old.append((slot, object.storedValue(slot)))
    }
    for (slot, state) in extras.toMany where state.isChanged {
      extras.changed.insert(slot)
      if parent == nil { state.unload() }
    }
    for (slot, key) in extras.partners where parent == nil || key != 0 { extras.changed.insert(slot) }
    // The child may have read relationships while the parent did not have the object.
    if parent != nil { forgetRelationships(extras, of: object) { _ in true } }
  }

  /// Whether neither the store nor the parent has a new object.
  private func isNewBelow(_ object: ManagedObject) throws -> Bool {
    if parent != nil { return try parentInstance(ofNew: object) == nil }
    return try object.version == 0 || !hasRow(object)
  }

  /// Whether the store has an object's row.
  func hasRow(_ object: ManagedObject) throws -> Bool {
    try reader().hasRow(object.key, of: object.scope.plan)
  }

  /// Makes all objects without changes read their rows again when they are next used.
  public func refreshAllObjects() {
    endReading()
    for object in registeredObjects where !object.isPending { refresh(object, mergeChanges: false) }
  }

  private func dropChanges(of object: ManagedObject, _ keepsReferencesToDeleted: Bool) {
    guard let extras = object.extras else { return }
    let lost = unrelate(object, extras)
    forgetValues(of: object, extras)
    if keepsReferencesToDeleted { return }
    for slot in lost {
      object.writeReference(0, slot)
    }
  }

  /// Takes back the changes of an object's own references and pairs, on both sides.
  ///
  /// - Returns: The references that cannot be taken back, because their objects are deleted.
  @_optimize(none)
  private func unrelate(_ object: ManagedObject, _ extras: ObjectExtras) -> [Int] {
    var lost: [Int] = []
    for case let relationship? in object.scope.plan.relationships
    where extras.changed.contains(relationship.slot) {
      switch relationship.storage {
      case .reference:
        guard let old = extras.oldValue(relationship.slot) else { continue }
        var former: ManagedObject?
        if case .int(let key) = old {
          former = self.object(key, relationship)
          if former == nil { lost.append(relationship.slot) }
        }
        setReference(of: object, relationship, to: former)
      case .join:
        guard let state = extras.toManyState(relationship.slot), state.isChanged else { continue }
        // Loading computes the difference to the store: another context may have made the same pairs since.
        if state.isOutdated { state.unload() }
        _ = objects(of: object, relationship)
        guard state.keys != nil else { continue }
        for key in state.shared { forgetChange(of: key, in: object, relationship) }
        for key in state.added.keys {
          // The delete rule of a deleted member applies to the relationships that it keeps.
          if let member = referent(key, relationship) { remove(member, from: object, relationship) }
        }
        for key in state.removed.keys {
          if let member = self.object(key, relationship) {
            add(member, to: object, relationship, at: nil)
          } else {
            // The member is deleted here. Derived attributes of the objects that it leaves are computed again.
            forgetChange(of: key, in: object, relationship)
          }
        }
        state.didSave()
      case .inverseReference, .referencesOfOthers: break
      }
    }
    return lost
  }

  /// Forgets, on both sides, that a pair was added or removed here. The side of a deleted member is read again.
  private func forgetChange(
    of key: ObjectKey, in object: ManagedObject, _ relationship: RelationshipPlan
  ) {
    object.toManyState(relationship.slot).forgetChange(of: key)
    guard let inverse = relationship.inverseSlot else { return }
    let member = registered(key, root: model.entities[relationship.destination].root)
    guard let other = member?.extras?.toManyState(inverse) else { return }
    other.forgetChange(of: object.key)
    if member?.flags.contains(.deleted) == true { other.unload() }
  }

  /// Makes relationships be read again. Changes are kept.
  func forgetRelationships(
    _ extras: ObjectExtras, of object: ManagedObject, where isIncluded: (RelationshipPlan) -> Bool
  ) {
    for (slot, state) in extras.toMany {
      guard let relationship = object.scope.plan.relationships[slot], isIncluded(relationship) else {
        continue
      }
      if !state.isChanged {
        state.forget()
      } else if !relationship.isOrdered {
        state.unload()
      } else {
        state.becomeOutdated()
      }
    }
    // No row refers to a new object: its partners are all changes, which are not recorded one by one.
    if extras.partners.isEmpty || object.flags.contains(.inserted) { return }
    extras.partners = extras.partners.filter { extras.changed.contains($0.key) }
    extras.hasOutdatedPartners = !extras.partners.isEmpty
  }

  /// Takes back the changes of an object's values. Changes of relationships that other objects store stay with these
  /// objects.
  @_optimize(none)
  private func forgetValues(of object: ManagedObject, _ extras: ObjectExtras) {
    if !extras.old.isEmpty {
      object.setStoredValues(
        Dictionary(extras.old.map { ($0.slot, $0.value) }, uniquingKeysWith: { first, _ in first }),
        unencodable: pendingChanges.formerStorages(of: object))
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
    object.flags.remove(.changedOutsideRow)
    pendingChanges.remove(object)
  }
}

// Going back to the state of the store.
extension ManagedObjectContext {
  /// Discards all changes since the last save: new objects are gone, the other objects get their former values back.
  @_optimize(none)
  public func rollback() {
    let objects = pendingChanges.revert()
    historyPosition.forgetUnfinishedSave()
    undoManager?.removeAllActions()
    let followed = objects.filter { $0.flags.contains(.observed) }.map { ($0, Self.revertedSlots(of: $0)) }
    for (object, slots) in followed { object.willChange { slots.contains($0.number) } }
    let insertedOrDeleted = objects.filter { !$0.flags.isDisjoint(with: [.deleted, .inserted]) }
    for object in objects {
      object.flags.remove(.listed)
      revert(object)
    }
    if let parent { followAfterRollback(parent) }
    // The deleted objects are back in the relationships of other objects.
    registry.dropCaches()
    readContestedRelationships()
    pendingChanges.forgetFormerStorages()
    for (object, slots) in followed { object.didChange { slots.contains($0.number) } }
    noteDeletionsUnnotified(to: Set(insertedOrDeleted.map(\.scope.plan.root)))
    endReading()
    if !children.isEmpty {
      invalidateChildren()
      notifyObservers()
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
      registry.remove(object)
      object.flags.become(.inaccessible)
      object.extras?.toMany.removeAll()
      return
    }
    object.flags.subtract([.updated, .changedOutsideRow, .deleted])
    defer { applyExternalChanges(object) }
    guard let extras = object.extras else { return }
    if !extras.old.isEmpty {
      object.setStoredValues(
        Dictionary(extras.old.map { ($0.slot, $0.value) }, uniquingKeysWith: { first, _ in first }),
        unencodable: pendingChanges.formerStorages(of: object))
    }
    forgetChanges(of: extras)
    extras.toMany.removeAll()
    extras.partners.removeAll()
  }

  /// Forgets the changes of an object that keeps its values.
  func forgetChangesKeepingValues(of extras: ObjectExtras) {
    // The changed values have replaced those that could not be read.
    if !extras.unreadable.isEmpty { extras.unreadable.removeAll(where: extras.changed.contains) }
    forgetChanges(of: extras)
  }

  /// Forgets the changes of an object that gets its former values back.
  func forgetChanges(of extras: ObjectExtras) {
    extras.changed = SlotSet()
    if !extras.old.isEmpty { extras.old.removeAll() }
    if !extras.faults.isEmpty { extras.faults.removeAll() }
  }

  /// Forgets all objects and all changes. Objects that other code still holds become inaccessible.
  @_optimize(none)
  public func reset() {
    let objects = pendingChanges.reset()
    historyPosition.forgetUnfinishedSave()
    undoManager?.removeAllActions()
    registry.reset(of: self)
    for object in objects {
      object.flags.subtract([
        .listed, .inserted, .draft, .tracked, .reinserted, .updated, .changedOutsideRow, .deleted, .outdated,
        .rowDeletedElsewhere,
      ])
    }
    registry.removeAll { object in
      noteChange(of: object)
      object.extras?.toMany.removeAll()
    }
    if !children.isEmpty { invalidateChildren() }
    endReading()
  }
}
