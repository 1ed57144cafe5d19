// Putting a group of changes back.
extension ManagedObjectContext {
  /// What takes changes back; nil, which costs nothing, unless it is set. One belongs to one context.
  public var undoManager: ContextUndoManager? {
    get { currentUndoManager }
    set {
      guard newValue !== currentUndoManager else { return }
      currentUndoManager?.context = nil
      newValue?.context?.undoManager = nil
      newValue?.removeAllActions()
      newValue?.context = self
      currentUndoManager = newValue
      // A new object's changes are not noted unless somebody wants to know.
      for object in pending where object.flags.contains(.inserted) {
        if newValue == nil { object.flags.remove(.tracked) } else { object.flags.insert(.tracked) }
      }
    }
  }

  /// Takes the newest group of changes back: see ``ContextUndoManager``. Does nothing without an undo manager.
  public func undo() { currentUndoManager?.undo() }

  /// Makes the changes again that were taken back last.
  public func redo() { currentUndoManager?.redo() }

  /// Puts objects back to what they were before a group of changes.
  ///
  /// - Returns: The group that puts them back to what they are now.
  func restore(_ group: UndoGroup) -> UndoGroup {
    let inverse = UndoGroup()
    inverse.name = group.name
    // Everything is looked at before anything is changed: a list is loaded with what refers to it now.
    for entry in group.entries {
      let object = entry.object
      let exists = object.exists
      var before: [Int: SlotMemento] = [:]
      if exists != entry.existed, exists {
        before = wholeMemento(object)
      } else if exists || object.flags.contains(.deleted) {
        for slot in entry.before.keys { before[slot] = memento(object, slot) }
      }
      inverse.add(
        UndoEntry(object: object, existed: exists, isDraft: object.flags.contains(.draft), before: before))
    }
    var revived: Set<ManagedObject> = []
    for entry in group.entries where entry.existed && !entry.existedAfter && !entry.object.exists {
      if bringBack(entry.object, isDraft: entry.isDraft) { revived.insert(entry.object) }
    }
    for entry in group.entries where entry.isToBePutBack {
      for (slot, memento) in entry.before.sorted(by: { $0.key < $1.key }) {
        put(memento, entry.object, slot, after: entry.listsAfter[slot], revived)
      }
    }
    for entry in group.entries where !entry.existed && entry.existedAfter && entry.object.exists {
      takeAway(entry.object)
    }
    dropCaches()
    inverse.close()
    if revived.isEmpty {
      let objects = group.entries.map(\.object).filter { $0.exists && !$0.flags.contains(.inserted) }
      for object in objects { forgetEqualChanges(of: object) }
      for object in objects { forgetEqualRelationships(of: object) }
    }
    if model.hasDerivedSlots { deriveForFetch() }
    return inverse
  }

  /// Lets an object be again that has been deleted, or whose insertion was undone.
  ///
  /// - Returns: Whether its row will have to be inserted.
  private func bringBack(_ object: ManagedObject, isDraft: Bool) -> Bool {
    guard object.scope.context === self else { return false }
    if object.flags.contains(.deleted) {
      object.flags.remove(.deleted)
      return object.flags.contains(.inserted)
    }
    // A row that others have deleted is theirs.
    guard object.flags.contains(.gone) else { return false }
    object.extras?.toMany.removeAll()
    object.extras?.partners.removeAll()
    becomeNew(object)
    object.flags.insert(.tracked)
    if isDraft { object.flags.insert(.draft) }
    return true
  }

  /// Lets an object be no more. All that is related to it is put back by entries of its own.
  private func takeAway(_ object: ManagedObject) {
    forgetFormerMembers(of: object)
    object.mark(.deleted, in: self)
  }

  /// Takes those out of an object's relationships that are not related to it any more, by what they say themselves.
  private func forgetFormerMembers(of object: ManagedObject) {
    for case let relationship? in object.scope.plan.relationships {
      guard relationship.isToMany, let slot = relationship.inverseSlot,
        let state = object.extras?.toManyState(relationship.slot)
      else { continue }
      let root = model.entities[relationship.destination].root
      let kept = (state.keys?.keys ?? []).filter { key in
        guard let member = registered(key, root: root) else { return true }
        if case .referencesOfOthers = relationship.storage { return member.referenceKey(slot) == object.key }
        return member.extras?.toManyState(slot)?.keys?.keys.contains(object.key) ?? true
      }
      (state.keys, state.added, state.removed, state.cache) = (KeyList(kept), KeyList(), KeyList(), nil)
    }
  }

  private func put(
    _ memento: SlotMemento, _ object: ManagedObject, _ slot: Int, after: [ObjectKey]?,
    _ revived: Set<ManagedObject>
  ) {
    switch memento {
    case .value(let value): putValue(value, object, slot, revived)
    case .partner(let key):
      guard object.extras?.partners[slot] != key else { return }
      object.requireExtras().partners[slot] = key
      object.noteTouch(slot)
    case .list(let keys, let positions): putList(keys, positions, object, slot, after: after, revived)
    }
  }

  private func putValue(
    _ value: AttributeValue, _ object: ManagedObject, _ slot: Int, _ revived: Set<ManagedObject>
  ) {
    object._willRead()
    var isForced = false
    if case .int(let key) = value, let relationship = object.scope.plan.relationships[slot] {
      // Its row may have lost the reference when the other row went.
      isForced = isRevived(key, relationship, revived)
    }
    guard isForced || object.storedValue(slot) != value else { return }
    object._willWrite(slot)
    guard object.scope.plan.relationships[slot] != nil else { return object.setStoredValues([slot: value]) }
    if case .int(let key) = value { object._setReference(slot, key) } else { object._setReference(slot, 0) }
  }

  private func putList(
    _ wanted: [ObjectKey], _ positions: [ObjectKey: Int64], _ object: ManagedObject, _ slot: Int,
    after: [ObjectKey]?,
    _ revived: Set<ManagedObject>
  ) {
    guard let relationship = object.scope.plan.relationships[slot] else { return }
    let state = object.toManyState(slot)
    if state.keys == nil { load(object, relationship, state) }
    let current = state.keys?.keys ?? []
    let returning = Set(wanted.filter { isRevived($0, relationship, revived) })
    let target =
      revived.contains(object)
      ? wanted : Self.merged(wanted, current: current, after: after, returning: returning)
    // What the store has, as far as it can be known: the rows of objects that come back have lost their pairs.
    var known = Set(current).subtracting(state.added.keys).union(state.removed.keys)
    known.subtract(returning)
    if revived.contains(object) { known.removeAll() }
    let members = Set(target)
    let added = target.filter { !known.contains($0) }
    let removed = known.filter { !members.contains($0) }.sorted()
    guard target != current || added != state.added.keys || Set(removed) != Set(state.removed.keys) else {
      return
    }
    state.keys = KeyList(target)
    (state.added, state.removed) = (KeyList(added), KeyList(removed))
    for key in added { state.positions[key] = nil }
    // What the store has still has its place there.
    for key in target where known.contains(key) && state.positions[key] == nil {
      state.positions[key] = positions[key]
    }
    state.cache = nil
    if relationship.isOrdered { state.isOrderChanged = true }
    object.noteTouch(slot)
  }

  /// A list as it was, with what has come to it since and without what has gone.
  ///
  /// - Parameters:
  ///   - after: The list at the end of the changes that are undone.
  ///   - returning: What has gone from the list because its rows were deleted by those changes.
  static func merged(
    _ wanted: [ObjectKey], current: [ObjectKey], after: [ObjectKey]?, returning: Set<ObjectKey>
  ) -> [ObjectKey] {
    guard let after, Set(after) != Set(current) else { return wanted }
    let (before, then, now) = (Set(wanted), Set(after), Set(current))
    // Others have taken these out, or put them in.
    let lost = then.subtracting(now).subtracting(returning)
    let result = wanted.filter { !lost.contains($0) }
    return result + current.filter { !then.contains($0) && !before.contains($0) }
  }

  private func isRevived(
    _ key: ObjectKey, _ relationship: RelationshipPlan, _ revived: Set<ManagedObject>
  ) -> Bool {
    guard !revived.isEmpty, let other = registered(key, root: model.entities[relationship.destination].root)
    else { return false }
    return revived.contains(other)
  }

  /// Forgets that relationships were changed that are as they were read, and with them the object's last changes.
  private func forgetEqualRelationships(of object: ManagedObject) {
    guard let extras = object.extras else { return }
    for case let relationship? in object.scope.plan.relationships
    where extras.changed.contains(relationship.slot) {
      switch relationship.storage {
      case .reference: continue
      case .inverseReference:
        if isContested(object, relationship) { continue }
        extras.changed.remove(relationship.slot)
      case .referencesOfOthers, .join:
        guard let state = extras.toManyState(relationship.slot), state.added.isEmpty, state.removed.isEmpty
        else {
          continue
        }
        let positions = (state.keys?.keys ?? []).map { state.positions[$0] ?? 0 }
        let isInOrder = !positions.contains(0) && zip(positions, positions.dropFirst()).allSatisfy(<)
        guard !relationship.isOrdered || positions.isEmpty || isInOrder else { continue }
        state.isOrderChanged = false
        extras.changed.remove(relationship.slot)
      }
    }
    if extras.changed.isEmpty, extras.faults.isEmpty { object.flags.subtract([.updated, .touched]) }
  }

  /// Whether an unsaved reference leads to an object by a one-to-one relationship, or has done so before.
  private func isContested(_ object: ManagedObject, _ relationship: RelationshipPlan) -> Bool {
    guard let slot = relationship.inverseSlot else { return false }
    let root = model.entities[relationship.destination].root
    return pending.contains { other in
      guard other.isPending, other.scope.plan.root == root, other.scope.plan.relationship(slot) != nil else {
        return false
      }
      let old = other.extras?.old.first { $0.slot == slot }?.value
      if other.flags.contains(.deleted) || other.flags.contains(.inserted) || old != nil {
        return other.referenceKey(slot) == object.key || old == .int(object.key)
      }
      return false
    }
  }
}
