/// Restores objects to their state before a group of changes.
///
/// Restoring follows no delete rules and no inverses: the group has the state of all objects that its changes
/// concerned. What the save has to write depends on the current state of the store, which a save may have changed
/// since: an object whose deletion was saved gets its row inserted again, and a value that is equal to the row's
/// value is not a change.
struct UndoRestoration {
  private let context: ManagedObjectContext
  let group: UndoGroup
  /// The current objects of the group's lists.
  private var current: [ObjectIdentifier: [Int: [ObjectKey]]] = [:]
  /// Objects whose relationships were restored.
  private var restoredObjects: [ObjectIdentifier: ManagedObject] = [:]
  /// The keys of the objects whose rows will be inserted again, by root entity.
  private var newRows: [Int: [ClosedRange<ObjectKey>]] = [:]
  /// The objects whose deletion has not been saved.
  private let unsavedDeletions: Set<ObjectIdentifier>

  @_optimize(none)
  init(_ group: UndoGroup, in context: ManagedObjectContext) {
    self.group = group
    self.context = context
    unsavedDeletions = Set(
      group.entries.map(\.object).filter(\.isDeletionUnsaved).map { ObjectIdentifier($0) })
  }

  /// - Returns: The group that restores the present state of the objects.
  @_optimize(none)
  mutating func run() -> UndoGroup {
    // Record everything before changing anything.
    let inverse = noteCurrent()
    let before = group.entries.map(\.object.exists)
    let pairs = group.pairs.filter { !isLeftByDeletion($0) }
    for entry in group.entries where entry.existed && !entry.existedAfter && !entry.object.exists {
      reinsert(entry)
    }
    forgetClearedReferences()
    for entry in group.entries where entry.existed && entry.object.exists { restoreValues(entry) }
    let leaving = group.entries.filter { !$0.existed && $0.existedAfter && $0.object.exists }
    let last = Set(leaving.map { ObjectIdentifier($0.object) })
    for pair in pairs where pair.wasRelated && pair.object.exists && pair.member.exists {
      // A rule that leaves a relationship unchanged at the deletion needs the pair before the deletion.
      guard last.contains(ObjectIdentifier(pair.object)) || last.contains(ObjectIdentifier(pair.member))
      else {
        continue
      }
      restorePair(pair.object, pair.relationship, pair.member, isRelated: true)
    }
    for entry in leaving { removeAgain(entry.object, isInsertion: entry.isInsertion) }
    restoreRemovals(of: leaving)
    for pair in pairs {
      if pair.object.exists && pair.member.exists {
        restorePair(
          pair.object, pair.relationship, pair.member, isRelated: pair.wasRelated, isSaved: pair.isSaved)
      } else if !pair.wasRelated, pair.object.existsOrExisted, pair.member.existsOrExisted {
        // The group has added this pair to an object that it has deleted as well. The pair would refuse the deletion.
        restorePair(pair.object, pair.relationship, pair.member, isRelated: false)
      }
    }
    for entry in group.entries where !entry.referrers.isEmpty && entry.object.exists {
      for referrer in entry.referrers { restore(referrer, to: entry.object) }
    }
    for entry in group.entries where !entry.denials.isEmpty && entry.object.isDeletionUnsaved {
      restoreDenials(entry)
    }
    for entry in group.entries where entry.existed && entry.object.exists { restoreOrders(entry) }
    context.registry.dropCaches()
    if context.model.hasDerivedSlots { context.deriveForFetch() }
    forgetEqual()
    inverse.close(in: context)
    for (entry, existed) in zip(group.entries, before) where entry.object.exists != existed {
      context.noteChange(of: entry.object)
      context.noteDeletionsUnnotified(to: [entry.object.scope.plan.root])
    }
    if !context.children.isEmpty { context.invalidateChildren() }
    context.notifyObservers()
    return inverse
  }

  @_optimize(none)
  private mutating func noteCurrent() -> UndoGroup {
    let inverse = UndoGroup()
    inverse.name = group.name
    for entry in group.entries {
      let object = entry.object
      if object.exists { object._willRead() }
      var now = UndoEntry(object, existed: object.exists)
      now.isInsertion = entry.isInsertion
      if now.existed {
        if entry.existed {
          for slot in entry.values.keys { now.note(slot) }
          for slot in entry.lists.keys { now.lists[slot] = context.visibleKeys(of: object, slot) }
        } else {
          context.noteWhole(object, in: &now, of: inverse)
        }
        current[ObjectIdentifier(object)] = now.lists
      } else if entry.existed, context.parent != nil {
        // The former values of its relationships when it was deleted.
        for slot in entry.values.keys { now.note(slot) }
      }
      if object.isDeletionUnsaved {
        // For an object that the group has deleted, its values contain these references.
        let slots = entry.existed ? entry.values.keys.filter(object.isDenial) : Array(entry.denials.keys)
        for slot in slots { now.denials[slot] = object.storedValue(slot) }
      }
      _ = inverse.add(now)
    }
    for pair in group.pairs {
      if context.parent != nil {
        // A child's fault may stand for an object that its parent has deleted.
        for object in [pair.object, pair.member] where object.exists { object._willRead() }
      }
      if pair.object.exists, pair.member.exists {
        context.notePair(pair.object, pair.relationship, pair.member, in: inverse)
      } else if context.parent != nil {
        context.noteFormerPair(pair, in: inverse)
      } else if pair.object.isDeletionUnsaved || pair.member.isDeletionUnsaved {
        // A rule may have left the pair, because of which the save refuses the deletion.
        context.noteFormerPair(pair, in: inverse, where: { $0 })
      }
    }
    return inverse
  }

  /// Gives objects that a redo deletes again the references and pairs that they had at their first deletion. They are
  /// not visible in this context, but the save to the parent needs them: the parent must know which objects a deleted
  /// object had been separated from, so that it does not delete these too.
  @_optimize(none)
  private func restoreRemovals(of entries: [UndoEntry]) {
    if entries.isEmpty || context.parent == nil { return }
    for entry in entries {
      let object = entry.object
      for (slot, value) in entry.values.orderedByKey() {
        guard object.scope.plan.relationships[slot] != nil, object.storedValue(slot) != value else {
          continue
        }
        var key: ObjectKey = 0
        if case .int(let number) = value { key = number }
        object.writeReference(key, slot)
      }
    }
    let leaving = Set(entries.map { ObjectIdentifier($0.object) })
    func restoreRemoval(_ object: ManagedObject, _ slot: Int?, _ member: ManagedObject) {
      guard let slot, leaving.contains(ObjectIdentifier(object)) else { return }
      object.toManyState(slot).setMembership(member.key, isMember: false, isStored: true)
    }
    for pair in group.pairs where !pair.wasRelated {
      restoreRemoval(pair.object, pair.relationship.slot, pair.member)
      restoreRemoval(pair.member, pair.relationship.inverseSlot, pair.object)
    }
  }

  /// Whether a stored pair was left by a deletion that has not been saved. The pair is then not a change of this
  /// context, and remains as other contexts make it.
  @_optimize(none)
  private func isLeftByDeletion(_ pair: UndoPair) -> Bool {
    let away = [pair.object, pair.member].filter { !$0.exists }
    return pair.wasRelated && !pair.wasAdded && !away.isEmpty
      && away.allSatisfy { unsavedDeletions.contains(ObjectIdentifier($0)) }
      && !context.hasChangedPair(pair.object, pair.relationship, pair.member, to: false)
      && (!pair.isSaved || context.hasStoredPair(pair.object, pair.relationship, pair.member))
  }

  // MARK: Existence

  @_optimize(none)
  private mutating func reinsert(_ entry: UndoEntry) {
    let object = entry.object
    guard object.scope.context === context else { return }
    let root = object.scope.plan.root
    if object.flags.contains(.deletionSaved) {
      // Another context has inserted the row again. The object stands for that row, unless another object does.
      let known = context.registered(object.key, root: root)
      guard known == nil || known === object else { return }
      if object.version != 0, (try? context.fetchObject(object.key, object.scope.plan)) != nil { return }
      if known == nil { context.registry.add(object) }
      let extras = object.requireExtras()
      context.forgetChangesKeepingValues(of: extras)
      extras.toMany.removeAll()
      extras.partners.removeAll()
      // Rows may still refer to the object, even if it never had a row itself.
      object.flags.become([.tracked, .reinserted])
      object.mark(.inserted, in: context)
      if context.parent == nil { newRows[root, default: []].append(object.key...object.key) }
    } else if object.flags.contains(.deleted),
      object.flags.isDisjoint(with: [.inaccessible, .rowDeletedElsewhere])
    {
      object.flags.remove(.deleted)
    } else {
      // An object that another context has deleted stays gone.
      return
    }
    if entry.isDraft { object.flags.insert(.draft) }
  }

  /// Makes references to rows that will be inserted again be read again. The store has cleared these references with
  /// the deleted rows, so restoring a reference must be a change.
  private func forgetClearedReferences() {
    for (root, keys) in newRows { context.forgetReferences(to: keys, of: root) }
  }

  /// Removes an object. The objects that were related to it have recorded states of their own if the undo manager
  /// knows of them; the other objects are separated from it.
  @_optimize(none)
  private mutating func removeAgain(_ object: ManagedObject, isInsertion: Bool) {
    // The parent may have the object again. Then the save must delete it there.
    if context.parent != nil, object.flags.contains(.inserted) { try? context.becomeUpdate(object) }
    object.mark(.deleted, in: context)
    let isDeletion = !isInsertion && !object.flags.contains(.inserted)
    for case let relationship? in object.scope.plan.relationships {
      if isDeletion, !relationship.description.deleteRule.separates { continue }
      switch relationship.storage {
      case .reference:
        let key = object.referenceKey(relationship.slot)
        if key != 0 { resolveOtherSide(object, relationship, key) }
        if relationship.isSymmetric, key != 0, let other = live(key, relationship) {
          release(other, relationship, from: object)
        }
        // The save would refuse the deletion because of the reference.
        if key != 0, relationship.description.deleteRule.refusesDeletion {
          object.writeReference(0, relationship.slot)
        }
      case .join:
        let state = object.extras?.toManyState(relationship.slot)
        for key in (state?.keys?.keys ?? []) + (state?.added.keys ?? []) {
          guard let other = registered(key, relationship), other.exists else { continue }
          restorePair(object, relationship, other, isRelated: false)
        }
      case .inverseReference, .referencesOfOthers:
        guard !relationship.description.deleteRule.leavesReferences,
          let inverse = context.inverse(of: relationship)
        else { continue }
        for other in referrers(of: object, relationship) where other.exists {
          release(other, inverse, from: object)
        }
      }
    }
  }

  /// The objects that refer to an object that is being removed. Another context may have related objects to it that
  /// have never been read here.
  @_optimize(none)
  private func referrers(of object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject] {
    if !relationship.isToMany { return context.partner(of: object, relationship).map { [$0] } ?? [] }
    let state = object.toManyState(relationship.slot)
    if state.keys == nil { context.load(object, relationship, state) }
    return (state.keys?.keys ?? []).compactMap { context.object($0, relationship) }
  }

  private mutating func release(
    _ other: ManagedObject, _ relationship: RelationshipPlan, from object: ManagedObject
  ) {
    other._willRead()
    if other.referenceKey(relationship.slot) == object.key {
      restoreReference(0, other, relationship)
      restoredObjects[ObjectIdentifier(other)] = other
    }
  }

  // MARK: Values

  @_optimize(none)
  private mutating func restoreValues(_ entry: UndoEntry) {
    let object = entry.object
    object._willRead()
    var attributes: [Int: AttributeValue] = [:]
    for (slot, former) in entry.values.orderedByKey() {
      guard let relationship = object.scope.plan.relationships[slot] else {
        var value = former
        if entry.unreadable.contains(slot), !object.flags.contains(.inserted) {
          // The value of the row could not be read, or has been read since. If there is no change, a save has replaced it.
          guard let stored = object.extras?.oldValue(slot) else { continue }
          value = stored
        }
        if object.storedValue(slot) == value,
          object.isUnreadable(slot) == entry.unreadable.contains(slot),
          !object.hasOtherStorage(slot, than: value, entry.unencodable[slot]),
          object.givesLackingValue(slot) == entry.given.contains(slot)
        {
          continue
        }
        object.willSet(slot)
        attributes[slot] = value
        continue
      }
      var key: ObjectKey = 0
      if case .int(let number) = former { key = number }
      if key != 0, !canRefer(to: key, relationship), !isLost(key, of: object, relationship) {
        if relationship.description.isOptional {
          key = 0
        } else if registered(key, relationship) == nil {
          continue
        }
        // A mandatory reference is restored in any case. It reads as nil, and the save reports the missing object.
      }
      restoreReference(key, object, relationship)
    }
    if !attributes.isEmpty { object.setStoredValues(attributes, unencodable: entry.unencodable) }
    for slot in attributes.keys {
      if entry.unreadable.contains(slot) { object.forgetLargeWrite(slot) }
      object.didChange(slot)
    }
    if object.flags.contains(.inserted) {
      for slot in entry.unreadable { object.setUnreadable(slot, true) }
    }
    if object.flags.isSuperset(of: [.inserted, .draft]) {
      object.requireExtras().assigned = entry.assigned
    } else {
      for slot in entry.values.keys where !entry.given.contains(slot) { object.extras?.assigned.remove(slot) }
    }
  }

  /// Whether a reference can lead to an object again. The save would refuse a reference to a missing row.
  private func canRefer(to key: ObjectKey, _ relationship: RelationshipPlan) -> Bool {
    guard let object = registered(key, relationship), !object.exists else {
      return live(key, relationship) != nil
    }
    // The row exists until the deletion is saved. If the inverse's delete rule leaves references unchanged, a
    // reference to it reads as nil, and the save checks the rule. An object that was never saved has no row.
    guard object.flags.contains(.deleted), !object.flags.contains(.inserted) else { return false }
    return relationship.inverse?.deleteRule.separates != true
  }

  /// Whether a reference is the one that the object was read or last saved with, and the deletion of the referenced
  /// object has been saved since. It reads as nil, and the row needs no change for that.
  private func isLost(
    _ key: ObjectKey, of object: ManagedObject, _ relationship: RelationshipPlan
  ) -> Bool {
    registered(key, relationship)?.isDeletionUnsaved != true
      && object.formerValue(relationship.slot) == .int(key)
  }

  private mutating func restoreReference(
    _ key: ObjectKey, _ object: ManagedObject, _ relationship: RelationshipPlan
  ) {
    object._willRead()
    let former = object.referenceKey(relationship.slot)
    if former != key {
      object.writeReference(key, relationship.slot)
      object.extras?.faults.removeAll { $0.property == relationship.name }
      if former != 0 { resolveOtherSide(object, relationship, former) }
      if relationship.isSymmetric { resolvePartners(of: object, relationship, former: former) }
    }
    if key != 0 { resolveOtherSide(object, relationship, key) }
  }

  /// Updates the other side of a symmetric to-one relationship. The group has the partners of its own changes, but
  /// another context may have given the object a partner since then, which the group does not know.
  private mutating func resolvePartners(
    of object: ManagedObject, _ relationship: RelationshipPlan, former: ObjectKey
  ) {
    if former != 0, former != object.key, let other = live(former, relationship) {
      release(other, relationship, from: object)
    }
    let key = object.referenceKey(relationship.slot)
    if key != 0, key != object.key, let other = live(key, relationship) {
      other._willRead()
      if other.referenceKey(relationship.slot) != object.key {
        restoreReference(object.key, other, relationship)
        restoredObjects[ObjectIdentifier(other)] = other
      }
    }
  }

  /// Restores a reference to an object that exists again.
  @_optimize(none)
  private mutating func restore(_ referrer: UndoReferrer, to object: ManagedObject) {
    let (source, relationship) = (referrer.object, referrer.relationship)
    if source.exists { source._willRead() }
    guard source.exists else { return }
    let key = source.referenceKey(relationship.slot)
    guard key == 0 || key == object.key else { return }
    // The deletion has left the reference unchanged, and another context has cleared it since.
    if key == 0, referrer.isStored, unsavedDeletions.contains(ObjectIdentifier(object)),
      source.extras?.changed.contains(relationship.slot) != true
    {
      return
    }
    // When the row was deleted, the store has cleared the reference, which has no inverse.
    if !relationship.hasInverse, object.flags.contains(.inserted), !source.flags.contains(.inserted) {
      if let index = source.extras?.old.firstIndex(where: { $0.slot == relationship.slot }) {
        if source.extras?.old[index].value == .int(object.key) { source.extras?.old[index].value = .null }
      } else {
        source._setReference(relationship.slot, 0)
      }
    }
    restoreReference(object.key, source, relationship)
  }
}

// Restoring relationships: the other side of references, pairs, and orders.
extension UndoRestoration {
  func registered(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    let object = context.registered(key, root: context.model.entities[relationship.destination].root)
    // A child's fault may stand for an object that its parent has deleted.
    if context.parent != nil { object?._willRead() }
    return object
  }

  private func live(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    if let object = registered(key, relationship) { return object.exists ? object : nil }
    return try? context.fetchObject(key, context.model.entities[relationship.destination])
  }

  /// Updates the other side of an object's reference.
  @_optimize(none)
  private mutating func resolveOtherSide(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ key: ObjectKey
  ) {
    guard !relationship.isSymmetric, let inverse = context.inverse(of: relationship),
      let owner = registered(key, relationship) ?? live(key, relationship),
      owner.flags.isDisjoint(with: [.deletionSaved, .inaccessible])
    else { return }
    let isMember = object.exists && object.referenceKey(relationship.slot) == key
    if inverse.isToMany {
      let old = object.extras?.oldValue(relationship.slot)
      let isStored =
        !object.flags.contains(.inserted)
        && (old.map { $0 == .int(key) } ?? (object.referenceKey(relationship.slot) == key))
      owner.toManyState(inverse.slot).setMembership(object.key, isMember: isMember, isStored: isStored)
    } else if isMember {
      owner.requireExtras().partners[inverse.slot] = object.key
    } else if owner.extras?.partners[inverse.slot] ?? object.key == object.key {
      owner.requireExtras().partners[inverse.slot] = 0
    }
    touch(owner, inverse.slot)
  }

  /// Restores the references of a deleted object that refuse its deletion.
  @_optimize(none)
  private func restoreDenials(_ entry: UndoEntry) {
    let object = entry.object
    for (slot, value) in entry.denials.orderedByKey() {
      guard let relationship = object.scope.plan.relationships[slot], object.storedValue(slot) != value
      else { continue }
      let former = object.referenceKey(slot)
      var key: ObjectKey = 0
      if case .int(let number) = value { key = number }
      object.writeReference(key, slot)
      guard !relationship.isSymmetric, let inverse = context.inverse(of: relationship), !inverse.isToMany
      else { continue }
      if let partner = registered(former, relationship), partner.extras?.partners[inverse.slot] == object.key
      {
        partner.extras?.partners[inverse.slot] = 0
      }
      // A later deletion of the other object must find the reference.
      if let partner = registered(key, relationship), partner.extras?.partners[inverse.slot] ?? 0 == 0 {
        partner.requireExtras().partners[inverse.slot] = object.key
      }
    }
  }

  private mutating func touch(_ object: ManagedObject, _ slot: Int) {
    // After the change, because its meaning for the store is known only then.
    object.willChange(slot)
    object.noteChangeOutsideRow(slot)
    restoredObjects[ObjectIdentifier(object)] = object
  }

  /// Adds or removes a pair, on both sides.
  ///
  /// - Parameter isSaved: Whether the change of the pair that is undone has been saved.
  @_optimize(none)
  private mutating func restorePair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject, isRelated: Bool,
    isSaved: Bool = false
  ) {
    if !isRelated, !isSaved, object.exists, member.exists,
      context.hasSharedPair(object, relationship, member)
    {
      // Without the context's own change, the pair is as other contexts have made it.
      for (object, slot, key) in [
        (object, relationship.slot, member.key), (member, relationship.inverseSlot ?? -1, object.key),
      ] where slot >= 0 {
        object.extras?.toManyState(slot)?.forgetChange(of: key)
        touch(object, slot)
      }
      return
    }
    let isStored = context.hasStoredPair(object, relationship, member)
    object.toManyState(relationship.slot).setMembership(member.key, isMember: isRelated, isStored: isStored)
    touch(object, relationship.slot)
    guard let inverse = relationship.inverseSlot, !(relationship.isSymmetric && member === object) else {
      return
    }
    member.toManyState(inverse).setMembership(object.key, isMember: isRelated, isStored: isStored)
    touch(member, inverse)
  }

  @_optimize(none)
  private mutating func restoreOrders(_ entry: UndoEntry) {
    let object = entry.object
    for (slot, wanted) in entry.lists {
      guard let relationship = object.scope.plan.relationships[slot], relationship.isOrdered else { continue }
      let members = context.visibleKeys(of: object, slot)
      let now = current[ObjectIdentifier(object)]?[slot] ?? []
      var order = wanted
      if entry.listsAfter[slot] != now {
        // Objects that others have added stay, after the restored ones.
        let known = Set(wanted)
        order += now.filter { !known.contains($0) }
      }
      let (present, placed) = (Set(members), Set(order))
      order = order.filter(present.contains) + members.filter { !placed.contains($0) }
      guard order != members else { continue }
      let state = object.toManyState(slot)
      let hidden = (state.keys?.keys ?? []).filter { !present.contains($0) }
      state.keys = KeyList(order + hidden)
      state.cache = nil
      state.isOrderChanged = true
      touch(object, slot)
    }
  }
}

// A state that is equal to the stored state is not a change.
extension UndoRestoration {
  /// Forgets changes that are no longer changes.
  @_optimize(none)
  private func forgetEqual() {
    var objects = restoredObjects
    for entry in group.entries { objects[ObjectIdentifier(entry.object)] = entry.object }
    if context.model.hasDerivedSlots {
      for object in context.pending { objects[ObjectIdentifier(object)] = object }
    }
    let changed = objects.values.filter {
      $0.exists && !$0.flags.contains(.inserted)
        && !$0.flags.isDisjoint(with: [.updated, .changedOutsideRow])
    }
    // Objects without changes take over what other contexts have made of their rows.
    defer {
      for object in objects.values { context.applyExternalChanges(object) }
      context.followWithDerivedChanges()
      context.readContestedRelationships()
    }
    for object in changed { context.forgetEqualChanges(of: object) }
    var contested: Set<OneToOnePartner>?
    for object in changed {
      guard let extras = object.extras else { continue }
      for case let relationship? in object.scope.plan.relationships
      where extras.changed.contains(relationship.slot) {
        switch relationship.storage {
        case .reference: continue
        case .inverseReference:
          let known = contested ?? context.contestedPartners()
          contested = known
          if known.contains(OneToOnePartner(relationship, object.key, context.model)) { continue }
        case .referencesOfOthers, .join:
          guard let state = extras.toManyState(relationship.slot) else { break }
          if state.isOutdated, followsStore(state, of: object, relationship) { break }
          if state.lacksPositions(relationship) {
            try? context.readPositions(object, relationship, state)
          }
          if !state.hasKnownOrder(relationship) { continue }
        }
        extras.changed.remove(relationship.slot)
      }
      if extras.changed.isEmpty, extras.faults.isEmpty {
        object.flags.subtract([.updated, .changedOutsideRow])
      }
    }
  }

  /// Makes an ordered relationship be read again that another context has changed, if this context has no change of it any
  /// more. Only its changes have kept it from being read before. If its order is still a change, the relationship loses the
  /// objects that are in it no longer: a save does not put them back.
  ///
  /// - Returns: Whether the relationship has no changes.
  @_optimize(none)
  private func followsStore(
    _ state: ToManyState, of object: ManagedObject, _ relationship: RelationshipPlan
  ) -> Bool {
    guard state.added.isEmpty, state.removed.isEmpty else { return false }
    let newest = ToManyState()
    context.load(object, relationship, newest)
    guard let stored = newest.keys?.keys else { return false }
    let keys = state.keys?.keys ?? []
    let (members, known) = (Set(stored), Set(keys))
    let kept = keys.filter(members.contains)
    guard kept == stored.filter(known.contains) else {
      state.keys = KeyList(kept)
      state.positions = newest.positions
      state.cache = nil
      return false
    }
    state.forget()
    context.noteChange(of: object) { $0.number == relationship.slot }
    return true
  }
}
