// Child contexts: a child reads its parent's objects in place of the store's rows.
extension ManagedObjectContext {
  /// Makes a child: a context whose store is another context's memory.
  ///
  /// A child sees its parent's objects with their unsaved changes. What it changes is its own until it is saved: then
  /// the changes are the parent's, unsaved there, and the parent's save writes them. A child that is let go of, or
  /// rolled back, leaves no trace. That makes it a sheet to work on, for a form with a button to cancel:
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
  /// ``localInstance(of:)`` gives the child's instance of a parent's object. A child may have children of its own. It
  /// shares the parent's isolation, as it reads the parent's objects; the compiler sees to that. Work in the
  /// background is for contexts of the container.
  ///
  /// The parent's changes come to the child's objects, unless these are changed themselves, with each fetch that
  /// finds them and with ``refresh(_:mergeChanges:)``. See ``save()`` for what becomes of changes on both sides.
  public convenience init(parent: ManagedObjectContext) {
    self.init(parent.persistentStoreCoordinator, parent: parent)
    join(parent)
  }

  /// Lets the parent know of its child.
  func join(_ parent: ManagedObjectContext) {
    parent.children.removeAll { $0.context == nil }
    parent.children.append(ChildReference(context: self))
    // The end of the parent's event is that of its children's.
    if parent.scheduleEndOfEvent != nil {
      scheduleEndOfEvent = { [weak parent] in parent?.scheduleEndOfEvent?() }
    }
  }

  /// Ends the event of the context's undo manager, and of its children's.
  func endUndoEvent() {
    currentUndoManager?.endEvent()
    for child in children { child.context?.endUndoEvent() }
  }

  /// The object of a key that is there, in memory or in the store.
  func liveObject(_ key: ObjectKey, _ plan: EntityPlan) throws -> ManagedObject? {
    if let object = registered(key, root: plan.root), !object.flags.contains(.gone) {
      object._willRead()
      return object.exists && object.scope.plan.isKind(of: plan) ? object : nil
    }
    return try fetchObject(key, plan)
  }

  /// The parent's instance of an object; nil where there is none, or none any more.
  func original(of object: ManagedObject) -> ManagedObject? {
    do {
      return try parent?.liveObject(object.key, object.scope.plan)
    } catch {
      object.report(.readFailed("\(error)"))
      return nil
    }
  }

  /// The parent's instance of an object that the parent has deleted, and that has come back here: a rule of `noAction` or
  /// `deny` leaves references to it.
  private func leavingOriginal(of object: ManagedObject) -> ManagedObject? {
    guard object.flags.contains(.revived) else { return nil }
    let original = parent?.registered(object.key, root: object.scope.plan.root)
    return original?.isLeaving == true ? original : nil
  }

  // MARK: Copies

  /// This context's instance of a parent's object, with the parent's values unless it has changes of its own.
  func copy(of original: ManagedObject) -> ManagedObject {
    let plan = original.scope.plan
    original._willRead()
    if let known = registered(original.key, root: plan.root) {
      if known.scope.plan === plan {
        if known.isPending {
          // It may be a fault all the same: that it was related to others needs no row.
          known._willRead()
          // It keeps its changes, and nothing more: relationships that it has not changed are the parent's.
          if let extras = known.extras, isOutdated(known, original) {
            forgetRelationships(extras, of: known) { _ in true }
          }
        } else if isOutdated(known, original) {
          takeAnew(from: original, into: known)
        }
        return known
      }
      // It was made by an identifier, before anybody had seen the row: its class is not that of the row.
      giveUp(known)
    }
    let object = makeObject(
      ObjectSeed(
        seedState, scope: scopes[plan.index], key: original.key, version: original.version, flags: []))
    addToMap(object)
    take(from: original, into: object)
    return object
  }

  func copies(of originals: [ManagedObject]) -> [ManagedObject] {
    let copies = originals.map(copy)
    for map in maps where map?.count ?? 0 > 0 { map?.expectHeld(copies.count) }
    awakeFetched()
    tellObserversUnlessReading()
    return copies
  }

  private func isOutdated(_ object: ManagedObject, _ original: ManagedObject) -> Bool {
    original.hasUnsavedValues || object.version != original.version
      || !object.flags.isDisjoint(with: [.fault, .gone, .inaccessible, .mirrored])
  }

  /// Gives an object that may have values the parent's. Who follows it is told of those that differ, and of no more: the
  /// parent's unsaved ones are taken by every fetch, and one that an observer makes must not have it told again.
  private func takeAnew(from original: ManagedObject, into object: ManagedObject) {
    guard object.flags.contains(.observed), !object.flags.contains(.fault) else {
      return take(from: original, into: object)
    }
    let before = object.currentValues()
    take(from: original, into: object)
    let after = object.currentValues()
    noteChange(of: object) { before[$0.number] != after[$0.number] }
  }

  /// Gives an object the values that the parent's has.
  func take(from original: ManagedObject, into object: ManagedObject) {
    object.flags.subtract([.fault, .gone, .inaccessible, .mirrored])
    if original.hasUnsavedValues { object.flags.insert(.mirrored) }
    object.version = original.version
    var values: [Int: AttributeValue] = [:]
    for slot in original.scope.plan.slots {
      if case .relationship = slot.kind, !slot.isStored { continue }
      values[slot.number] = original.settledValue(slot.number)
    }
    object.setStoredValues(values)
    if let extras = object.extras { forgetRelationships(extras, of: object) { _ in true } }
    if object.scope.plan.hasLifecycle { fetched.append(object) }
  }

  /// Lets the children's objects ask for their values again: the parent has gone back to others, or has them from
  /// another child or from the store.
  ///
  /// - Parameters:
  ///   - changes: What is known of it, for those who follow the children.
  ///   - roots: The tables whose objects are meant; nil for all.
  ///   - teller: The child that knows.
  func tellChildren(
    _ changes: ObjectChanges? = nil, of roots: Set<Int>? = nil, except teller: ManagedObjectContext? = nil
  ) {
    for child in children.compactMap(\.context) {
      child.follow(self, in: roots)
      child.tellChildren(changes, of: roots)
      if let changes, child !== teller { child.changeObservers?.tell(changes) }
    }
  }

  /// Lets objects without changes ask the parent for their values again, and all of them for the relationships that they
  /// have not changed.
  private func follow(_ parent: ManagedObjectContext, in roots: Set<Int>?) {
    for object in maps.flatMap({ $0?.objects ?? [] }) {
      guard roots?.contains(object.scope.plan.root) ?? true else { continue }
      forgetDerivedChanges(of: object)
      if object.isPending { continue }
      // What the context has deleted stays so unless the parent has taken the deletion back.
      if object.flags.contains(.gone) {
        guard parent.registered(object.key, root: object.scope.plan.root)?.exists == true else { continue }
        object.flags.remove(.gone)
      }
      noteChange(of: object)
      object.flags.insert(.fault)
      object.flags.remove(.inaccessible)
    }
    let relatedRoots = roots ?? Set(model.entities.map(\.root))
    forgetRelationships(to: relatedRoots, lost: relatedRoots)
    dropCaches()
  }

  /// Goes on, after a rollback, with what the parent has by now: the objects have gone back to what they were read as.
  func followAfterRollback(_ parent: ManagedObjectContext) {
    parent.noticeDeletions()
    follow(parent, in: nil)
  }

  /// Finds out whether the parent has deleted objects since the last call. Objects that the parent may not have any more
  /// become faults, and relationships are read again: no fetch returns a deleted object, and the deletion does not change
  /// objects with a one-sided relationship to it.
  func noticeDeletions() {
    guard let parent else { return }
    parent.noticeDeletions()
    guard parent.deletionCount != seenDeletions else { return }
    seenDeletions = parent.deletionCount
    deletionCount += 1
    for object in registeredObjects where !object.isPending {
      // The parent's fault may be of an object that its own parent has deleted.
      let original = parent.registered(object.key, root: object.scope.plan.root)
      if let original, original.exists, !original.isFault { continue }
      noteChange(of: object)
      object.flags.insert(.fault)
    }
    let roots = Set(model.entities.map(\.root))
    forgetRelationships(to: roots, lost: roots)
    dropCaches()
  }

  // MARK: Relationships

  /// The objects that the parent has in a to-many relationship, and their order.
  func relatedCopies(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState,
    _ parent: ManagedObjectContext
  ) -> [ManagedObject] {
    guard let original = original(of: object) ?? leavingOriginal(of: object) else { return [] }
    let members = parent.objects(of: original, relationship)
    // Before the positions are set: the object may itself be among the copied ones, whose states are emptied.
    let copies = copies(of: members)
    if relationship.isOrdered {
      state.positions.removeAll()
      for (place, member) in members.enumerated() {
        state.positions[member.key] = Int64(place + 1) * Positions.gap
      }
    }
    return copies
  }

  /// The partner that an object has in the parent.
  func partnerCopy(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ parent: ManagedObjectContext
  ) -> [ManagedObject] {
    guard let original = original(of: object) ?? leavingOriginal(of: object),
      let partner = parent.partner(of: original, relationship)
    else { return [] }
    return copies(of: [partner])
  }

  /// Prefetches by the parent, which has the rows.
  func prefetch(_ paths: [PrefetchPath], of objects: [ManagedObject], by parent: ManagedObjectContext) throws
  {
    let originals = objects.compactMap { original(of: $0) }
    // Held meanwhile: nobody else does.
    try withExtendedLifetime(originals) {
      try parent.prefetch(paths, of: originals)
      walk(paths, objects)
    }
  }

  private func walk(_ paths: [PrefetchPath], _ objects: [ManagedObject]) {
    for path in paths {
      let related =
        path.relationship.isToMany
        ? objects.flatMap { $0.relatedObjects(path.relationship) }
        : objects.compactMap { $0.relatedObject(path.relationship) }
      for object in related { object._willRead() }
      if !path.next.isEmpty { walk(path.next, related) }
    }
  }
}

extension ManagedObject {
  /// Whether the object has values that are unsaved in its context or in a parent of that. An object of a child that
  /// was copied from it has to be copied again: the values may have been changed, taken back or saved since.
  fileprivate var hasUnsavedValues: Bool { isPending || flags.contains(.mirrored) }
}

/// A child, which its parent does not keep.
struct ChildReference {
  private(set) weak var context: ManagedObjectContext?
}
