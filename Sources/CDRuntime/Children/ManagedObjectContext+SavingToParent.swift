// A child's save: its changes become the parent's, which are unsaved there.
extension ManagedObjectContext {
  /// Gives the changes to the parent. They have been validated.
  func save(to parent: ManagedObjectContext, _ hooks: inout SaveHooks) throws {
    try settleConflicts(with: parent, &hooks)
    let reverts = revertCount
    let own = pending.filter { $0.isPending && !$0.flags.isSuperset(of: [.inserted, .deleted]) }
    let saved = model.hasLifecycle ? own.compactMap(\.lifecycle) : []
    let changes = self.changes(of: SavePlan(pending))
    parent.currentUndoManager?.beginUndoGrouping()
    give(own, to: parent)
    parent.currentUndoManager?.endUndoGrouping()
    finishSaveToParent()
    // Hooks of the parent's may have taken the changes back here, which the parent has all the same.
    if revertCount != reverts { parent.tellChildren() }
    parent.tellChildren(changes.asRefreshed, except: self)
    parent.changeObservers?.tell(changes.asRefreshed)
    changeObservers?.tell(changes)
    tellOfSave(saved)
    parent.tellObservers()
  }

  private func finishSaveToParent() {
    for object in pending {
      let isGone = object.flags.contains(.deleted)
      object.flags.subtract([.inserted, .draft, .tracked, .revived, .updated, .touched, .deleted, .listed])
      object.flags.insert(.mirrored)
      if isGone {
        forgetDeleted(object)
        object.flags.become([.gone, .inaccessible])
      }
      guard let extras = object.extras else { continue }
      forgetChanges(of: extras)
      // The parent's are the store's from now on.
      extras.toMany.removeAll()
      extras.partners.removeAll()
    }
    pending.removeAll()
    dropCaches()
  }

  // MARK: Conflicts

  private func settleConflicts(with parent: ManagedObjectContext, _ hooks: inout SaveHooks) throws {
    for attempt in 1... {
      let conflicts = pending.compactMap { conflict(of: $0) }
      if conflicts.isEmpty { return }
      let error = SaveError.conflict(conflicts)
      guard !mergePolicy.isError, attempt < 10 else { throw error }
      try unnoted { try resolve(conflicts, error) }
      pending.removeAll { $0.flags.contains(.gone) }
      hooks.validateAnew()
      try prepareToWrite(&hooks)
    }
  }

  /// What the parent has made of the same values since they were read; nil where that is nothing.
  private func conflict(of object: ManagedObject) -> SaveConflict? {
    guard !object.flags.contains(.inserted), object.needsRow || object.flags.contains(.deleted) else {
      return nil
    }
    guard let original = original(of: object) else {
      if object.flags.contains(.deleted) { return nil }
      return object.conflict(.deleted, snapshot: object.snapshotValues(), store: nil)
    }
    let (mine, snapshot, theirs) = (object.currentValues(), object.snapshotValues(), original.currentValues())
    let plan = object.scope.plan
    let isContested = plan.storedSlots.contains { slot in
      guard plan.slots[slot].attribute?.derivation == nil, theirs[slot] != snapshot[slot] else {
        return false
      }
      if object.flags.contains(.deleted) { return true }
      return mine[slot] != snapshot[slot] && mine[slot] != theirs[slot]
    }
    return isContested ? object.conflict(.changed, object: mine, snapshot: snapshot, store: theirs) : nil
  }

  // MARK: Giving

  /// References before pairs, and deletions last: what an object that goes had been told to let go of is not deleted
  /// with it. The parent follows its rules as for changes of its own.
  private func give(_ own: [ManagedObject], to parent: ManagedObjectContext) {
    var pairs: [(object: ManagedObject, original: ManagedObject)] = []
    for object in own {
      let original = object.flags.contains(.inserted) ? parent.adopt(object) : original(of: object)
      if let original { pairs.append((object, original)) }
    }
    let staying = pairs.filter { !$0.object.flags.contains(.deleted) }
    for (object, original) in staying { giveValues(of: object, to: original) }
    for (object, original) in staying { giveReferences(of: object, to: original, parent) }
    for (object, original) in staying { givePairs(of: object, to: original, parent) }
    for (object, original) in pairs where object.flags.contains(.deleted) { parent.delete(original) }
    for (object, original) in staying { giveOrders(of: object, to: original, parent) }
  }

  /// An instance of a child's new object, with the same identifier.
  private func adopt(_ object: ManagedObject) -> ManagedObject {
    let plan = object.scope.plan
    let original: ManagedObject
    if let known = registered(object.key, root: plan.root) {
      original = known
      if !known.exists { comeBack(known) }
    } else {
      original = makeObject(
        ObjectSeed(
          seedState, scope: scopes[plan.index], key: object.key, version: object.version, flags: .inserted))
      if plan.factory == nil { original.requireExtras().values = plan.initialValues }
      register(inserted: original)
    }
    if object.flags.contains(.draft), original.flags.contains(.inserted) {
      original.flags.insert(.draft)
      original.requireExtras().assigned = object.extras?.assigned ?? SlotSet()
    }
    return original
  }

  /// Lets an object be again that is deleted here and that a child wants back.
  private func comeBack(_ object: ManagedObject) {
    noteUndoOfReturn(object)
    if object.flags.contains(.deleted) {
      object.flags.remove(.deleted)
    } else {
      becomeNew(object)
    }
    if currentUndoManager != nil { object.flags.insert(.tracked) }
  }

  private func isToGive(_ slot: Int, _ object: ManagedObject) -> Bool {
    object.flags.contains(.inserted) || object.extras?.changed.contains(slot) == true
  }

  private func giveValues(of object: ManagedObject, to original: ManagedObject) {
    var values: [Int: AttributeValue] = [:]
    for slot in object.scope.plan.slots {
      // The parent derives what is derived.
      guard let attribute = slot.attribute, attribute.derivation == nil, isToGive(slot.number, object) else {
        continue
      }
      let value = object.storedValue(slot.number)
      guard value != original.storedValue(slot.number) else { continue }
      original._willWrite(slot.number)
      values[slot.number] = value
    }
    if !values.isEmpty { original.setStoredValues(values) }
    for slot in values.keys { original.didChange(slot) }
  }

  private func giveReferences(
    of object: ManagedObject, to original: ManagedObject, _ parent: ManagedObjectContext
  ) {
    for case let relationship? in object.scope.plan.relationships {
      guard case .reference = relationship.storage, isToGive(relationship.slot, object) else { continue }
      let key = object.referenceKey(relationship.slot)
      parent.setReference(
        of: original, relationship, to: key == 0 ? nil : parent.object(key, relationship))
    }
  }

  private func givePairs(
    of object: ManagedObject, to original: ManagedObject, _ parent: ManagedObjectContext
  ) {
    for (slot, state) in object.extras?.toMany ?? [] where state.isChanged {
      guard let relationship = object.scope.plan.relationships[slot], case .join = relationship.storage else {
        continue
      }
      for key in state.removed.keys where !state.added.contains(key) {
        if let member = parent.object(key, relationship) {
          parent.remove(member, from: original, relationship)
        }
      }
      let root = model.entities[relationship.destination].root
      for key in state.added.keys where registered(key, root: root)?.isDeleted != true {
        if let member = parent.object(key, relationship) {
          parent.add(member, to: original, relationship, at: nil)
        }
      }
    }
  }

  private func giveOrders(
    of object: ManagedObject, to original: ManagedObject, _ parent: ManagedObjectContext
  ) {
    for (slot, state) in object.extras?.toMany ?? [] where state.isOrderChanged {
      guard let relationship = object.scope.plan.relationships[slot], relationship.isOrdered,
        let wanted = state.keys?.keys
      else { continue }
      let theirs = parent.objects(of: original, relationship).map(\.key)
      let (members, known) = (Set(theirs), Set(wanted))
      // What others have brought to the parent's comes behind.
      let order = wanted.filter(members.contains) + theirs.filter { !known.contains($0) }
      if order != theirs { parent.setOrder(of: original, relationship, to: order) }
    }
  }
}
