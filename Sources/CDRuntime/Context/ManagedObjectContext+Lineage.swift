// The instances that a context and its parent have of the same object. A child's instance has the values of the parent's,
// except for the child's own changes.
extension ManagedObjectContext {
  /// Returns the existing object with a key, in memory or in the store; nil if there is none. Also nil, and reported, if an
  /// earlier read of an object with changes has failed.
  ///
  /// - Throws: The error of a store that cannot be read. A fault in memory stays a fault then.
  func liveObject(_ key: ObjectKey, _ plan: EntityPlan) throws -> ManagedObject? {
    if let object = registered(key, root: plan.root), !object.flags.contains(.deletionSaved) {
      try fireForCaller(object)
      if try hasFailedRead(object) { object.report(.readFailed("an earlier read has failed")) }
      return object.exists && object.scope.plan.isKind(of: plan) ? object : nil
    }
    return try fetchObject(key, plan)
  }

  /// The parent's instance of an object; nil if the parent has none, or has deleted it. Also nil if the store cannot be
  /// read: a caller that would take the object for gone uses ``parentInstanceForCaller(of:)``.
  func parentInstance(of object: ManagedObject) -> ManagedObject? {
    do {
      return try parentInstanceForCaller(of: object)
    } catch {
      object.report(.readFailed("\(error)"))
      return nil
    }
  }

  /// The parent's instance of an object; nil if the parent has none, or has deleted it.
  ///
  /// - Throws: The error of a store that cannot be read.
  func parentInstanceForCaller(of object: ManagedObject) throws -> ManagedObject? {
    try parent?.liveObject(object.key, object.scope.plan)
  }

  /// The parent's instance of a new object that the parent has too: an undo or a merge policy has brought the object back
  /// here, and the parent has taken its deletion back, or another context has inserted the row again. Nil if the object is
  /// new to the parent.
  ///
  /// An object that never had a row is looked up in memory only.
  ///
  /// - Throws: The error of a store that cannot be read.
  func parentInstance(ofNew object: ManagedObject) throws -> ManagedObject? {
    guard let parent else { return nil }
    let mayHaveRow = object.version != 0 || object.flags.contains(.reinserted)
    guard mayHaveRow || parent.registered(object.key, root: object.scope.plan.root) != nil else { return nil }
    return try parentInstanceForCaller(of: object)
  }

  /// The parent's instance of an object that the parent has deleted and that exists again here. A `noAction` or
  /// `deny` rule leaves references to it.
  private func deletedParentInstance(of object: ManagedObject) -> ManagedObject? {
    guard object.flags.contains(.reinserted) else { return nil }
    let parentObject = parent?.registered(object.key, root: object.scope.plan.root)
    return parentObject?.isDeletionUnsaved == true ? parentObject : nil
  }

  /// Whether an ancestor's new object has no value of a mandatory attribute yet, although its class holds the type's empty
  /// value.
  func draftLacks(_ slot: Int, of object: ManagedObject) -> Bool {
    let plan = object.scope.plan
    var ancestor = parent
    while let context = ancestor {
      if let instance = context.registered(object.key, root: plan.root) {
        if instance.flags.contains(.inserted) {
          return instance.flags.contains(.draft) && plan.requiredSlots.contains(slot)
            && instance.extras?.assigned.contains(slot) != true
        }
        if instance.givesLackingValue(slot) { return false }
      }
      ancestor = context.parent
    }
    return false
  }

  // MARK: Instances

  /// Returns this context's instance of a parent's object, with the parent's values unless it has changes of its own.
  private func childInstance(of parentObject: ManagedObject) -> ManagedObject {
    let plan = parentObject.scope.plan
    parentObject._willRead()
    if let known = registered(parentObject.key, root: plan.root) {
      if known.scope.plan === plan {
        // A value that was set back is no change, so the object follows the parent again.
        if known.flags.contains(.updated) { forgetEqualChanges(of: known) }
        if known.isPending {
          // It may be a fault: a change of its relationships does not need its row.
          known._willRead()
          // It keeps its changes. Relationships that it has not changed are read from the parent again.
          if let extras = known.extras, isOutdated(known, parentObject) {
            let observed = observedRelationships(of: known, parentObject)
            forgetRelationships(extras, of: known, keeping: observed.same)
            noteChange(of: known) { observed.changed.contains($0.number) }
            followReferences(of: known, parentObject)
          }
        } else if isOutdated(known, parentObject) {
          refreshValues(from: parentObject, into: known)
        }
        return known
      }
      // The object was created from an identifier before the row was read: its class is not the row's class.
      removeMisclassified(known)
    }
    let object = makeObject(
      ObjectSeed(
        seedState, scope: registry.scope(of: plan), key: parentObject.key, version: parentObject.version,
        flags: [])
    )
    registry.add(object)
    copyValues(from: parentObject, into: object)
    return object
  }

  func childInstances(of parentObjects: [ManagedObject]) -> [ManagedObject] {
    let instances = parentObjects.map(childInstance)
    registry.expectHeld(instances.count)
    awakeFetched()
    notifyObserversUnlessReading()
    return instances
  }

  /// Takes over the parent's references that an object with changes has not changed. Otherwise the other sides, which are
  /// read from the parent, would not agree with them.
  private func followReferences(of object: ManagedObject, _ parentObject: ManagedObject) {
    guard !object.flags.contains(.deleted) else { return }
    for case let relationship? in object.scope.plan.relationships {
      guard case .reference = relationship.storage,
        object.extras?.changed.contains(relationship.slot) != true
      else { continue }
      var key: ObjectKey = 0
      if case .int(let parentKey) = parentObject.comparableValue(relationship.slot) { key = parentKey }
      if object.referenceKey(relationship.slot) == key { continue }
      noteChange(of: object) { $0.number == relationship.slot }
      object._setReference(relationship.slot, key)
    }
  }

  private func isOutdated(_ object: ManagedObject, _ parentObject: ManagedObject) -> Bool {
    parentObject.hasUnsavedValues || object.version != parentObject.version
      || !object.flags.isDisjoint(with: [.fault, .deletionSaved, .inaccessible, .hasParentChanges])
  }

  /// Gives an object that may have values the parent's values. Observers are notified only of values that differ:
  /// every fetch takes over the parent's unsaved values, and a fetch by an observer must not notify the observer
  /// again.
  func refreshValues(from parentObject: ManagedObject, into object: ManagedObject) {
    guard object.flags.contains(.observed), !object.flags.contains(.fault) else {
      return copyValues(from: parentObject, into: object)
    }
    let before = observableValues(of: object)
    let relationships = observedRelationships(of: object, parentObject)
    copyValues(from: parentObject, into: object, keeping: relationships.same)
    let after = observableValues(of: object)
    noteChange(of: object) { slot in
      before[slot.number] != after[slot.number] || relationships.changed.contains(slot.number)
    }
  }

  /// The values of an object whose changes its observers are told of. A transient attribute of a class with hooks has the
  /// value that `awakeFromFetch()` sets, which is later than the copy.
  private func observableValues(of object: ManagedObject) -> [Int: AttributeValue] {
    var values = object.currentValues()
    if object.lifecycle != nil { return values }
    for slot in object.scope.plan.transientSlots { values[slot] = object.storedValue(slot) }
    return values
  }

  /// The observed relationships outside an object's row that the object has read and not changed.
  private struct ObservedRelationships {
    /// Those with the same objects in the parent. They stay loaded, so that they can be compared again.
    var same = SlotSet()
    /// Those with other objects in the parent.
    var changed = SlotSet()
  }

  @_optimize(none)
  private func observedRelationships(
    of object: ManagedObject, _ parentObject: ManagedObject
  ) -> ObservedRelationships {
    var result = ObservedRelationships()
    guard object.flags.contains(.observed), !object.flags.contains(.inserted), let parent,
      let extras = object.extras, let observation = extras.observation
    else { return result }
    for case let relationship? in object.scope.plan.relationships
    where observation.slots.contains(relationship.slot) {
      let slot = relationship.slot
      let mine: [ObjectKey]
      let theirs: [ObjectKey]
      switch relationship.storage {
      case .reference: continue
      case .inverseReference:
        guard let partner = extras.partners[slot], !extras.changed.contains(slot) else { continue }
        mine = partner == 0 ? [] : [partner]
        theirs = parent.partner(of: parentObject, relationship).map { [$0.key] } ?? []
      case .join, .referencesOfOthers:
        guard let state = extras.toManyState(slot), !state.isChanged, !state.isOutdated,
          let keys = state.keys?.keys
        else { continue }
        mine = keys
        theirs = parent.objects(of: parentObject, relationship).map(\.key)
      }
      func isEqual(_ left: [ObjectKey], _ right: [ObjectKey]) -> Bool {
        left == right || !relationship.isOrdered && Set(left) == Set(right)
      }
      if isEqual(mine, theirs) {
        result.same.insert(slot)
        continue
      }
      // Objects with changes are related as these changes say, whatever the parent's instances are related to.
      let root = model.entities[relationship.destination].root
      func followsParent(_ key: ObjectKey) -> Bool {
        guard let member = registered(key, root: root) else { return true }
        return !member.isPending || member.hasOnlyDerivedChanges
      }
      if !isEqual(mine.filter(followsParent), theirs.filter(followsParent)) { result.changed.insert(slot) }
    }
    return result
  }

  private func forgetRelationships(
    _ extras: ObjectExtras, of object: ManagedObject, keeping kept: SlotSet
  ) {
    let partners = kept.isEmpty ? [:] : extras.partners.filter { kept.contains($0.key) }
    forgetRelationships(extras, of: object) { !kept.contains($0.slot) }
    for (slot, key) in partners { extras.partners[slot] = key }
  }

  /// Gives an object the values of the parent's instance.
  ///
  /// - Parameter relationships: The slots of relationships that need not be read again.
  @_optimize(none)
  func copyValues(
    from parentObject: ManagedObject, into object: ManagedObject, keeping relationships: SlotSet = SlotSet()
  ) {
    // An earlier read failed. The values replace properties that were set after it.
    if object.flags.contains(.inaccessible), !object.flags.contains(.deletionSaved) {
      pendingChanges.confirmLostChanges(of: object)
    }
    object.flags.subtract([
      .fault, .deletionSaved, .inaccessible, .hasParentChanges, .outdated, .rowDeletedElsewhere,
    ])
    if parentObject.hasUnsavedValues { object.flags.insert(.hasParentChanges) }
    object.version = parentObject.version
    var values: [Int: AttributeValue] = [:]
    let unread = parentObject.unreadSlots
    for slot in parentObject.scope.plan.slots where unread.isEmpty || !unread.contains(slot.number) {
      if case .relationship = slot.kind, !slot.isStored { continue }
      values[slot.number] = parentObject.comparableValue(slot.number)
    }
    object.setStoredValues(
      values, unread: unread, unencodable: parentObject.unencodableStorages(among: values))
    let unreadable = parentObject.unreadableSlots
    if !unreadable.isEmpty || object.extras != nil { object.requireExtras().unreadable = unreadable }
    if let extras = object.extras { forgetRelationships(extras, of: object, keeping: relationships) }
    storeReader.noteFetched(object)
  }

  /// Makes the descendants' instances of a saved object take over its state again, each with the next fetch that finds
  /// it. The object's version does not tell of changed relationships that are outside its row, or of transient
  /// attributes.
  func noteSaveInChildren(of object: ManagedObject) {
    children.visitAll { child in
      child.registered(object.key, root: object.scope.plan.root)?.flags.insert(.hasParentChanges)
      child.noteSaveInChildren(of: object)
    }
  }

  /// Gives the descendants' instances of an object the version that its save has given it. An instance that has not read a
  /// large value which the save has written keeps its version, by which its deletion finds the conflict.
  ///
  /// - Parameters:
  ///   - object: The object, which still has its flags and its record of changes.
  ///   - former: The object's version before the save.
  func noteVersionInChildren(of object: ManagedObject, former: Int64) {
    let changed = object.extras?.changed ?? SlotSet()
    // The changes of a new object are not recorded.
    let isNew = object.flags.contains(.inserted)
    children.visitAll { child in
      let instance = child.registered(object.key, root: object.scope.plan.root)
      if let instance, instance.version == former,
        !instance.unreadSlots.contains(where: { isNew || changed.contains($0) })
      {
        instance.version = object.version
      }
      child.noteVersionInChildren(of: object, former: former)
    }
  }

  /// Makes the children's objects read their values again from this context. Called when this context has been
  /// reverted, or has got values from another child or from the store.
  ///
  /// - Parameter roots: The root entities of the changed objects; nil for all.
  func invalidateChildren(of roots: Set<Int>? = nil) {
    children.visitAll { child in
      child.follow(self, in: roots)
      child.invalidateChildren(of: roots)
    }
  }

  /// Notifies the observers of this context and of its descendants of changes, which all their objects follow by now.
  ///
  /// All streams come first. An observer with a handler may fetch, and the context may then learn of later saves and publish
  /// them: streams report changes in the order in which they were saved.
  func publishWithChildren(_ changes: ObjectChanges) {
    visitWithChildren { $0.changeNotices.publishToStreams(changes) }
    visitWithChildren { $0.changeNotices.publishToHandlers(changes) }
  }

  /// Calls a function for this context and for its descendants.
  func visitWithChildren(_ body: (ManagedObjectContext) -> Void) {
    body(self)
    children.visitAll { $0.visitWithChildren(body) }
  }

  /// Lets the observers of the descendants look again, after their objects have become those of this context.
  func publishUnwrittenInChildren() {
    children.visitAll { child in
      child.changeNotices.publishUnwritten()
      child.publishUnwrittenInChildren()
    }
  }

  /// Makes objects without changes read their values from the parent again, and all objects the relationships that
  /// they have not changed.
  @_optimize(none)
  private func follow(_ parent: ManagedObjectContext, in roots: Set<Int>?) {
    for object in registry.objects {
      guard roots?.contains(object.scope.plan.root) ?? true else { continue }
      forgetDerivedChanges(of: object)
      if object.isPending {
        // A refresh may have found the object deleted, and the parent may have taken the deletion back since.
        if object.flags.contains(.rowDeletedElsewhere),
          parent.registered(object.key, root: object.scope.plan.root)?.exists == true
        {
          object.flags.remove(.rowDeletedElsewhere)
        }
        continue
      }
      // An object that the context has deleted stays deleted, unless the parent has taken the deletion back.
      if object.flags.contains(.deletionSaved) {
        guard parent.registered(object.key, root: object.scope.plan.root)?.exists == true else { continue }
        object.flags.remove(.deletionSaved)
      }
      noteChange(of: object)
      object.flags.insert(.fault)
      object.flags.remove(.inaccessible)
    }
    let relatedRoots = roots ?? Set(model.entities.map(\.root))
    forgetRelationships(to: relatedRoots, lost: relatedRoots)
    registry.dropCaches()
  }

  /// Updates the objects to the parent's present state after a rollback, which has restored the values that they were
  /// read with.
  func followAfterRollback(_ parent: ManagedObjectContext) {
    parent.noticeDeletions()
    follow(parent, in: nil)
  }

  /// Checks whether the parent has deleted objects since the last call. Objects that the parent may no longer have
  /// become faults, and relationships are read again: no fetch returns a deleted object, and its deletion does not
  /// change objects with a relationship to it that has no inverse.
  func noticeDeletions() {
    guard let parent else { return }
    parent.noticeDeletions()
    guard children.noticeDeletions(ofParent: parent.children) else { return }
    forgetSetBackValues()
    for object in registeredObjects where !object.isPending {
      // The parent's fault may stand for an object that its own parent has deleted.
      let parentObject = parent.registered(object.key, root: object.scope.plan.root)
      if let parentObject, parentObject.exists, !parentObject.isFault { continue }
      noteChange(of: object)
      object.flags.insert(.fault)
    }
    let roots = Set(model.entities.map(\.root))
    forgetRelationships(to: roots, lost: roots)
    registry.dropCaches()
  }

  // MARK: Relationships

  /// Returns this context's instances of the objects that a to-many relationship has in the parent, in their order.
  ///
  /// - Throws: The error of a store that the parent cannot read.
  func relatedChildInstances(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState,
    _ parent: ManagedObjectContext
  ) throws -> [ManagedObject] {
    guard let parentObject = try parentInstanceForCaller(of: object) ?? deletedParentInstance(of: object)
    else { return [] }
    let members = try parent.objectsForCaller(of: parentObject, relationship)
    // Before the positions are set: the object itself may be among the copied objects, and copying empties its
    // relationship states.
    let instances = childInstances(of: members)
    if relationship.isOrdered {
      state.positions.removeAll()
      for (index, member) in members.enumerated() {
        state.positions[member.key] = Int64(index + 1) * Positions.gap
      }
    }
    return instances
  }

  /// Returns this context's instance of the partner that an object has in the parent.
  ///
  /// - Throws: The error of a store that the parent cannot read.
  func partnerChildInstance(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ parent: ManagedObjectContext
  ) throws -> [ManagedObject] {
    guard let parentObject = try parentInstanceForCaller(of: object) ?? deletedParentInstance(of: object),
      let partner = try parent.partnerForCaller(of: parentObject, relationship)
    else { return [] }
    return childInstances(of: [partner])
  }
}

extension ManagedObject {
  /// Whether the object has values that are unsaved in its context or in an ancestor of it. A child's instance of it must
  /// copy the values again, because the values may have been changed, taken back or saved since.
  fileprivate var hasUnsavedValues: Bool { isPending || flags.contains(.hasParentChanges) }

  /// Whether a child's object has given an attribute a value that an ancestor's draft lacks. This is a change even if the
  /// value is the empty one that the draft's class holds.
  final func givesLackingValue(_ slot: Int) -> Bool {
    guard let extras, extras.assigned.contains(slot), extras.changed.contains(slot),
      !flags.contains(.inserted)
    else { return false }
    return scope.context?.parent != nil
  }
}
