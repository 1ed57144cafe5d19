// Child contexts: a child reads its parent's objects instead of the store's rows.
extension ManagedObjectContext {
  /// Creates a child context, which works on another context's objects instead of a store.
  ///
  /// A child sees its parent's objects with their unsaved changes. The child's own changes stay in the child until it
  /// saves. Then they become unsaved changes of the parent, and the parent's save writes them. A child that is
  /// released or rolled back leaves no trace. Use a child, for example, as the draft of a form with a Cancel button:
  ///
  /// ```swift
  /// let form = ManagedObjectContext(parent: context)
  /// let draft = try form.localInstance(of: book)
  /// draft.title = "Walden"
  /// if isConfirmed {
  ///   try form.save()
  ///   try context.save()
  /// }
  /// ```
  ///
  /// ``localInstance(of:)`` returns the child's instance of a parent's object. A child may have children of its own.
  /// It shares the parent's isolation, because it reads the parent's objects; the compiler enforces that. For work in
  /// the background, use contexts of the container.
  ///
  /// The child's objects take over the parent's changes, unless they have changes themselves, with each fetch that
  /// finds them and with ``refresh(_:mergeChanges:)``. See ``save()`` for changes on both sides.
  public convenience init(parent: ManagedObjectContext) {
    self.init(parent.persistentStoreCoordinator, parent: parent)
    join(parent)
  }

  /// Registers the child with its parent.
  func join(_ parent: ManagedObjectContext) {
    parent.children.add(self)
    undoRegistration.endEvents(with: parent.undoRegistration)
  }

  /// Ends the event of the context's undo manager, and of its children's undo managers.
  func endUndoEvent() {
    undoManager?.endEvent()
    children.visitAll { $0.endUndoEvent() }
  }
}

// A child's save: its changes become unsaved changes of the parent.
extension ManagedObjectContext {
  /// Pushes validated changes to the parent.
  func save(to parent: ManagedObjectContext, _ hooks: inout SaveHooks) throws {
    try resolveConflicts(with: parent, &hooks)
    let own = pending.filter { $0.isPending && !$0.flags.isSuperset(of: [.inserted, .deleted]) }
    let needed = try parentObjects(neededFor: own, parent)
    let saved = model.hasLifecycle ? own.compactMap(\.lifecycle) : []
    // Hooks that reading the parent has called may have changed other objects since.
    let changes = self.changes(of: SavePlan(own))
    parent.undoManager?.beginUndoGrouping()
    withExtendedLifetime(needed) {
      pushChanges(own, to: parent) {
        // Before hooks and observers, which may fetch: streams report changes in the order in which they were saved.
        changeNotices.publishToStreams(changes)
        parent.visitWithChildren {
          if $0 !== self { $0.changeNotices.publishToStreams(changes.asRefreshed) }
        }
      }
    }
    parent.undoManager?.endUndoGrouping()
    // Hooks of the parent may have rolled this context back. The parent has the changes all the same.
    parent.invalidateChildren()
    parent.visitWithChildren {
      if $0 !== self { $0.changeNotices.publishToHandlers(changes.asRefreshed) }
    }
    changeNotices.publishToHandlers(changes)
    callDidSave(saved)
    parent.notifyObservers()
  }

  /// Ends the changes that the parent has taken over.
  ///
  /// - Parameter rest: Objects whose changes have not been pushed.
  private func finishSaveToParent(keeping rest: [ManagedObject]) {
    let kept = Set(rest)
    for object in pending where !kept.contains(object) {
      let isGone = object.flags.contains(.deleted)
      object.flags.subtract([
        .inserted, .draft, .tracked, .reinserted, .updated, .changedOutsideRow, .deleted, .listed, .outdated,
        .rowDeletedElsewhere,
      ])
      object.flags.insert(.hasParentChanges)
      // The object stays in the identity map as long as other code holds it: the parent may take the deletion back.
      if isGone { object.flags.become([.deletionSaved, .inaccessible]) }
      guard let extras = object.extras else { continue }
      forgetChangesKeepingValues(of: extras)
      // From now on the relationships are read from the parent.
      extras.toMany.removeAll()
      extras.partners.removeAll()
    }
    pendingChanges.keepOnly(rest)
    registry.dropCaches()
  }

  // MARK: Conflicts

  @_optimize(none)
  private func resolveConflicts(with parent: ManagedObjectContext, _ hooks: inout SaveHooks) throws {
    for attempt in 1... {
      let conflicts = try pending.compactMap { try conflict(of: $0) }
      if conflicts.isEmpty { return }
      let error = SaveError.conflict(conflicts)
      guard !mergePolicy.isError, attempt < 10 else { throw error }
      try withoutUndo { try resolve(conflicts, error) }
      pendingChanges.removeGone()
      hooks.validateAnew()
      try prepareToWrite(&hooks)
    }
  }

  /// The conflict with the parent's changes of the same values since they were read; nil if there is none.
  ///
  /// - Throws: The error of a store that the parent cannot read.
  private func conflict(of object: ManagedObject) throws -> SaveConflict? {
    if object.flags.contains(.inserted) { return try conflict(ofNew: object) }
    guard object.needsRow || object.flags.contains(.deleted), !object.hasOnlyDerivedChanges else {
      return nil
    }
    guard let parentObject = try parentInstanceForCaller(of: object) else {
      if object.flags.contains(.deleted) { return nil }
      return object.conflict(.deleted, snapshot: object.snapshotValues(), store: nil)
    }
    // A change of relationships does not need values, so they may not have been read.
    object._willRead()
    let mine = object.currentValues()
    let snapshot = object.snapshotValues()
    let theirs = parentObject.currentValues(toCompareWith: mine)
    let plan = object.scope.plan
    let isDeleted = object.flags.contains(.deleted)
    let isContested = try plan.storedSlots.contains { slot in
      if plan.slots[slot].isDerived { return false }
      if mine[slot] == nil { return isDeleted && mayHaveChanged(slot, unreadIn: object, parentObject) }
      guard theirs[slot] != snapshot[slot],
        try !isClearedOnly(snapshot[slot], theirs[slot], plan.relationships[slot])
      else { return false }
      let isMine = mine[slot] != snapshot[slot] || object.givesLackingValue(slot)
      return isDeleted || isMine && mine[slot] != theirs[slot]
    }
    guard isContested else { return nil }
    return object.conflict(.changed, object: mine, snapshot: snapshot, store: theirs, namesUnread: true)
  }

  /// The conflict of a new object that the parent has too: see ``parentInstance(ofNew:)``. All of its values count as changes
  /// of both contexts. If the parent has the same values, there is no conflict, and the object becomes one with changes.
  ///
  /// - Throws: The error of a store that the parent cannot read.
  private func conflict(ofNew object: ManagedObject) throws -> SaveConflict? {
    guard !object.flags.contains(.deleted), let parentObject = try parentInstance(ofNew: object) else {
      return nil
    }
    let mine = object.currentValues()
    let theirs = parentObject.currentValues(toCompareWith: mine)
    let plan = object.scope.plan
    let isContested = try plan.storedSlots.contains { slot in
      guard !plan.slots[slot].isDerived, let value = mine[slot], value != theirs[slot] else { return false }
      return try !isClearedOnly(value, theirs[slot], plan.relationships[slot])
    }
    if isContested { return object.conflict(.changed, object: mine, snapshot: mine, store: theirs) }
    try becomeUpdate(object)
    return nil
  }

  /// Whether the parent may have changed a large value that an object has not read. Only the version tells of a change
  /// that has been saved.
  private func mayHaveChanged(
    _ slot: Int, unreadIn object: ManagedObject, _ parentObject: ManagedObject
  ) -> Bool {
    if object.version != parentObject.version { return true }
    guard let old = parentObject.extras?.oldValue(slot) else { return false }
    return old != parentObject.storedValue(slot)
  }

  /// Whether the parent's only change of a reference is that it no longer leads to an object that is deleted there.
  /// Such a reference has been nil before.
  private func isClearedOnly(
    _ former: AttributeValue?, _ theirs: AttributeValue?, _ relationship: RelationshipPlan?
  ) throws -> Bool {
    guard let relationship, !relationship.hasInverse, theirs == .null, case .int(let key)? = former,
      let parent
    else { return false }
    _ = try readTarget(key, relationship, in: parent)
    return target(key, relationship, in: parent) == nil
  }

  // MARK: Pushing changes

  /// Reads the parent's objects that the push of changes uses, and their relationships, so that a store that cannot be
  /// read ends the save before the push has begun.
  ///
  /// - Returns: The objects, which the caller holds until the end of the push.
  /// - Throws: The error of a store that the parent cannot read. Nothing has been pushed then.
  @_optimize(none)
  private func parentObjects(
    neededFor own: [ManagedObject], _ parent: ManagedObjectContext
  ) throws -> [ManagedObject] {
    var needed: [ManagedObject] = []
    for object in own {
      let parentObject = try object.flags.contains(.inserted) ? nil : parentInstanceForCaller(of: object)
      if let parentObject { needed.append(parentObject) }
      for case let relationship? in object.scope.plan.relationships {
        let state = object.extras?.toManyState(relationship.slot)
        switch relationship.storage {
        case .reference where needsPush(relationship.slot, object):
          let key = object.referenceKey(relationship.slot)
          guard let target = try readTarget(key, relationship, in: parent) else { break }
          needed.append(target)
          if let inverse = inverse(of: relationship), case .inverseReference = inverse.storage {
            needed += try parent.referrers(of: target, inverse)
          }
        case .join:
          for key in (state?.added.keys ?? []) + (state?.removed.keys ?? []) {
            if let target = try readTarget(key, relationship, in: parent) { needed.append(target) }
          }
        case .reference, .inverseReference, .referencesOfOthers: break
        }
        guard let parentObject else { continue }
        let rule = relationship.description.deleteRule
        let isLeft =
          object.flags.contains(.deleted) && (rule.owns || rule.separates && relationship.hasInverse)
        if relationship.isToMany {
          let isReordered = relationship.isOrdered && state?.isOrderChanged == true && state?.keys != nil
          if isLeft || isReordered {
            needed += try parent.objectsForCaller(of: parentObject, relationship)
          }
        } else if isLeft, case .inverseReference = relationship.storage,
          let partner = try parent.partnerForCaller(of: parentObject, relationship)
        {
          needed.append(partner)
        }
      }
    }
    return needed
  }

  /// Reads the parent's object that a relationship leads to; nil if there is none, or if this context inserts it.
  private func readTarget(
    _ key: ObjectKey, _ relationship: RelationshipPlan, in parent: ManagedObjectContext
  ) throws -> ManagedObject? {
    let plan = model.entities[relationship.destination]
    guard key > 0, parent.storeReader.hasStore(of: plan),
      registered(key, root: plan.root)?.flags.contains(.inserted) != true
    else { return nil }
    return try parent.liveObject(key, plan)
  }

  /// Pushes references before pairs, and deletions last. The parent applies delete rules as for its own changes.
  /// Before a deletion it must know which objects the deleted object had been separated from, so that it does not
  /// delete these too.
  ///
  /// Observers of the parent's objects, and the hooks of deletions, run only when the objects that stay follow the parent.
  /// What they change of these objects here is a new change.
  ///
  /// - Parameter didPush: Called before they run.
  @_optimize(none)
  private func pushChanges(
    _ own: [ManagedObject], to parent: ManagedObjectContext, _ didPush: () -> Void
  ) {
    parent.changeNotices.isHeld = true
    var pairs: [(object: ManagedObject, parentObject: ManagedObject)] = []
    for object in own {
      let parentObject = object.flags.contains(.inserted) ? parent.adopt(object) : parentInstance(of: object)
      if let parentObject { pairs.append((object, parentObject)) }
    }
    let staying = pairs.filter { !$0.object.flags.contains(.deleted) }
    let leaving = pairs.filter { $0.object.flags.contains(.deleted) }
    let deleted = Set(own.filter { $0.flags.contains(.deleted) })
    let orders = staying.flatMap { ordersToPush(of: $0.object, to: $0.parentObject) }
    for (object, parentObject) in leaving { pushRemovals(of: object, to: parentObject, parent) }
    for (object, parentObject) in staying { pushValues(of: object, to: parentObject) }
    for (object, parentObject) in staying { pushReferences(of: object, to: parentObject, parent) }
    for (object, parentObject) in staying { pushPairs(of: object, to: parentObject, parent) }
    let gone = Set(leaving.map(\.parentObject))
    for order in orders { applyOrder(order, to: parent, without: gone) }
    // Hooks of fetched objects may have changed others meanwhile.
    let pushed = Set(own)
    finishSaveToParent(
      keeping: pending.filter {
        pushed.contains($0)
          ? $0.flags.contains(.deleted) : !$0.flags.isSuperset(of: [.inserted, .deleted])
      })
    undoManager?.noteSave()
    didPush()
    parent.changeNotices.isHeld = false
    parent.changeNotices.deliver()
    for (_, parentObject) in leaving { parent.delete(parentObject) }
    if deleted.isEmpty { return }
    finishSaveToParent(keeping: pending.filter { !deleted.contains($0) })
  }

  /// Returns this context's instance of a child's new object, with the same identifier.
  private func adopt(_ object: ManagedObject) -> ManagedObject {
    let plan = object.scope.plan
    let parentObject: ManagedObject
    if let known = registered(object.key, root: plan.root) {
      parentObject = known
      if !known.exists { restoreDeleted(known) }
    } else {
      parentObject = makeObject(
        ObjectSeed(
          seedState, scope: registry.scope(of: plan), key: object.key, version: object.version,
          flags: .inserted))
      if !plan.isTyped { parentObject.requireExtras().values = plan.initialValues }
      for slot in object.unreadableSlots { parentObject.setUnreadable(slot, true) }
      register(inserted: parentObject)
      // The object had a row, which this context or another one has deleted.
      if object.version != 0 { forgetReferences(to: [object.key...object.key], of: plan.root) }
    }
    if object.flags.contains(.draft), parentObject.flags.contains(.inserted) {
      parentObject.flags.insert(.draft)
      parentObject.requireExtras().assigned = object.extras?.assigned ?? SlotSet()
    }
    return parentObject
  }

  /// Restores an object that is deleted here and that a child brings back.
  private func restoreDeleted(_ object: ManagedObject) {
    noteUndoOfReturn(object)
    let isLeaving = object.flags.contains(.deleted)
    if isLeaving {
      object.flags.remove(.deleted)
      // Relationships that a `noAction` rule has left unchanged have been read without it.
      registry.dropCaches()
    } else {
      becomeNew(object)
    }
    for case let relationship? in object.scope.plan.relationships {
      if isLeaving, !relationship.description.deleteRule.separates { continue }
      clearOwnSide(object, relationship, hasRow: isLeaving)
    }
    if undoManager != nil { object.flags.insert(.tracked) }
  }

  /// Clears a restored object's side of a relationship that the other side has lost. The child pushes both sides
  /// again. Pairs that another context has made since the deletion stay.
  @_optimize(none)
  private func clearOwnSide(_ object: ManagedObject, _ relationship: RelationshipPlan, hasRow: Bool) {
    switch relationship.storage {
    case .reference:
      let key = object.referenceKey(relationship.slot)
      guard key != 0 else { return }
      object.writeReference(0, relationship.slot)
      // The deletion did not search for an object that was not in memory.
      if hasRow, !relationship.isSymmetric, let inverse = inverse(of: relationship),
        let former = referent(key, relationship)
      {
        remove(object, fromInverse: inverse, of: former)
      }
    case .join:
      let state = object.toManyState(relationship.slot)
      if state.keys == nil { load(object, relationship, state) }
      var keys = state.keys?.keys ?? []
      if hasRow, let inverse = relationship.inverseSlot {
        keys.removeAll { key in
          guard let member = self.object(key, relationship),
            let inverse = member.scope.plan.relationship(inverse)
          else { return false }
          return objects(of: member, inverse).contains(object)
        }
      }
      guard !keys.isEmpty else { return }
      object.willChange(relationship.slot)
      for key in keys { state.remove(key) }
      object.noteChangeOutsideRow(relationship.slot)
    case .inverseReference, .referencesOfOthers: return
    }
  }

  private func needsPush(_ slot: Int, _ object: ManagedObject) -> Bool {
    object.flags.contains(.inserted) || object.extras?.changed.contains(slot) == true
  }

  @_optimize(none)
  private func pushValues(of object: ManagedObject, to parentObject: ManagedObject) {
    var values: [Int: AttributeValue] = [:]
    var unreadable: [Int] = []
    for slot in object.scope.plan.slots {
      // The parent computes derived attributes itself.
      guard let attribute = slot.attribute, attribute.derivation == nil, needsPush(slot.number, object) else {
        continue
      }
      if slot.isReadLater {
        if !object.isUnreadable(slot.number) {
          parentObject.noteLargeWrite(slot.number)
        } else if parentObject.isUnreadable(slot.number) {
          unreadable.append(slot.number)
        } else {
          // The parent's object has read the value.
          continue
        }
      }
      let value = object.storedValue(slot.number)
      let isEqual =
        value == parentObject.storedValue(slot.number)
        && object.isUnreadable(slot.number) == parentObject.isUnreadable(slot.number)
        && !object.hasOtherStorage(slot.number, than: value, parentObject.unencodableStorage(slot.number))
      // The parent's draft learns that it has been given the empty value too.
      if isEqual, !object.givesLackingValue(slot.number) { continue }
      parentObject.willSet(slot.number)
      values[slot.number] = value
    }
    if !values.isEmpty {
      parentObject.setStoredValues(values, unencodable: object.unencodableStorages(among: values))
    }
    for slot in unreadable { parentObject.setUnreadable(slot, true) }
    for slot in values.keys { parentObject.didChange(slot) }
  }

  private func pushReferences(
    of object: ManagedObject, to parentObject: ManagedObject, _ parent: ManagedObjectContext
  ) {
    for case let relationship? in object.scope.plan.relationships {
      guard case .reference = relationship.storage, needsPush(relationship.slot, object) else { continue }
      let key = object.referenceKey(relationship.slot)
      parent.setReference(of: parentObject, relationship, to: target(key, relationship, in: parent))
    }
  }

  /// The parent's object that a relationship leads to; nil if there is none or if it is deleted. The parent does not
  /// know objects that the child has inserted and deleted again.
  private func target(
    _ key: ObjectKey, _ relationship: RelationshipPlan, in parent: ManagedObjectContext
  ) -> ManagedObject? {
    guard key != 0 else { return nil }
    let own = registered(key, root: model.entities[relationship.destination].root)
    if own?.flags.isSuperset(of: [.inserted, .deleted]) == true { return nil }
    guard let target = parent.object(key, relationship) else { return nil }
    // The fault may stand for an object whose insertion was taken back before it had a row.
    target._willRead()
    return target.exists ? target : nil
  }

  @_optimize(none)
  private func pushPairs(
    of object: ManagedObject, to parentObject: ManagedObject, _ parent: ManagedObjectContext
  ) {
    for (slot, state) in object.extras?.toMany ?? [] where state.isChanged {
      guard let relationship = object.scope.plan.relationships[slot], case .join = relationship.storage else {
        continue
      }
      for key in state.removed.keys where !state.added.contains(key) {
        if let member = target(key, relationship, in: parent) {
          parent.remove(member, from: parentObject, relationship)
        }
      }
      let root = model.entities[relationship.destination].root
      for key in state.added.keys where registered(key, root: root)?.isDeleted != true {
        if let member = target(key, relationship, in: parent) {
          let theirs = parentObject.toManyState(slot)
          // The object was removed and added again: if the parent has had it all along, that is not a change.
          if state.removed.contains(key), theirs.keys == nil {
            parent.load(parentObject, relationship, theirs)
          }
          parent.add(member, to: parentObject, relationship, at: nil)
        }
      }
    }
  }

  /// Removes the relationships from a parent's object that the child had removed before it deleted the object.
  /// Objects that the child deletes too stay related until the parent deletes them, so that
  /// ``ManagedObjectLifecycle`` methods see them.
  @_optimize(none)
  private func pushRemovals(
    of object: ManagedObject, to parentObject: ManagedObject, _ parent: ManagedObjectContext
  ) {
    func remains(_ key: ObjectKey, _ relationship: RelationshipPlan) -> Bool {
      registered(key, root: model.entities[relationship.destination].root)?.isDeleted != true
    }
    for case let relationship? in object.scope.plan.relationships {
      switch relationship.storage {
      case .reference:
        guard object.extras?.changed.contains(relationship.slot) == true else { continue }
        let key = parentObject.referenceKey(relationship.slot)
        guard key != 0, key != object.referenceKey(relationship.slot), remains(key, relationship) else {
          continue
        }
        parent.setReference(of: parentObject, relationship, to: nil)
      case .join:
        guard let state = object.extras?.toManyState(relationship.slot) else { continue }
        for key in state.removed.keys where !state.added.contains(key) && remains(key, relationship) {
          if let member = target(key, relationship, in: parent) {
            parent.remove(member, from: parentObject, relationship)
          }
        }
      case .inverseReference, .referencesOfOthers: continue
      }
    }
  }

  // MARK: Orders

  /// The order that a child sets in a relationship of a parent's object.
  private struct PushedOrder {
    let parentObject: ManagedObject
    let relationship: RelationshipPlan
    /// All objects, if the child has loaded the relationship; nil otherwise.
    let all: [ObjectKey]?
    /// The objects that move to the end, in their order, for a relationship that has not been loaded.
    let last: [ObjectKey]
    /// The objects that the child has removed. It may have added some of them again.
    let removed: [ObjectKey]
  }

  /// The orders that the child pushes to its parent. They are read before the child's changes are pushed, because
  /// adding an object that is already related does not move it.
  private func ordersToPush(of object: ManagedObject, to parentObject: ManagedObject) -> [PushedOrder] {
    (object.extras?.toMany ?? []).compactMap { slot, state in
      guard state.isOrderChanged, let relationship = object.scope.plan.relationships[slot],
        relationship.isOrdered
      else { return nil }
      let known = parentObject.extras?.toManyState(slot)
      let last = state.added.keys.filter { key in
        state.removed.contains(key)
          || !(known?.keys?.contains(key) ?? known?.added.contains(key) ?? false)
      }
      return PushedOrder(
        parentObject: parentObject, relationship: relationship, all: state.keys?.keys, last: last,
        removed: state.removed.keys)
    }
  }

  /// - Parameter gone: The parent's objects that the child has deleted. They leave the relationship later.
  @_optimize(none)
  private func applyOrder(
    _ order: PushedOrder, to parent: ManagedObjectContext, without gone: Set<ManagedObject>
  ) {
    guard let wanted = order.all else { return applyAddedOrder(order, to: parent) }
    let all = parent.objects(of: order.parentObject, order.relationship)
    let theirs = all.filter { !gone.contains($0) }.map(\.key)
    let (members, known) = (Set(theirs), Set(wanted))
    // Objects that others have added to the parent's relationship come after these.
    let result = wanted.filter(members.contains) + theirs.filter { !known.contains($0) }
    if result == theirs { return }
    let leaving = all.filter(gone.contains).map(\.key)
    parent.setOrder(of: order.parentObject, order.relationship, to: result + leaving)
  }

  /// Gives the order of objects that the child has added to a relationship that it has not loaded. The parent's
  /// relationship is loaded only to move an object that was related before.
  @_optimize(none)
  private func applyAddedOrder(_ order: PushedOrder, to parent: ManagedObjectContext) {
    let state = order.parentObject.toManyState(order.relationship.slot)
    let last = Set(order.last)
    if state.keys == nil, !last.isSubset(of: state.added.keys) {
      parent.load(order.parentObject, order.relationship, state)
    }
    if let theirs = state.keys?.keys {
      let result = theirs.filter { !last.contains($0) } + order.last.filter(Set(theirs).contains)
      return parent.setOrder(of: order.parentObject, order.relationship, to: result)
    }
    let added = state.added.keys
    let result = added.filter { !last.contains($0) } + order.last.filter(Set(added).contains)
    state.reorderAdded(result, removedBefore: order.removed.filter(last.contains))
  }
}
