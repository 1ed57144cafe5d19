extension ManagedObjectContext {
  /// The undo manager of the context; nil by default, which has no cost. An undo manager belongs to one context.
  public var undoManager: ContextUndoManager? {
    get { undoRegistration.manager }
    set { undoRegistration.setManager(newValue, of: self) }
  }

  /// Takes back the newest group of changes: see ``ContextUndoManager``. Does nothing without an undo manager.
  public func undo() { undoManager?.undo() }

  /// Redoes the changes that were undone last.
  public func redo() { undoManager?.redo() }

  /// Runs a body that applies changes of other contexts, which undo does not take back.
  func withoutUndo<R>(_ body: () throws -> R) rethrows -> R {
    undoManager?.disableUndoRegistration()
    defer { undoManager?.enableUndoRegistration() }
    return try body()
  }
}

// Recording changes before they are made. These methods are called only if there is an undo manager.
extension ManagedObjectContext {
  /// Records a slot before its first change in a group.
  func noteUndo(_ object: ManagedObject, _ slot: Int) {
    // The deletion of the object has recorded everything else.
    if object.isDeletionUnsaved { return noteUndoOfDenial(object, slot) }
    guard object.exists, object.scope.plan.isUndoable(slot),
      let group = undoManager?.group(in: self)
    else { return }
    let index = group.index(of: object) ?? group.add(UndoEntry(object, existed: true))
    // The undo of a new object removes it as a whole.
    guard group.entries[index].existed else { return }
    note(slot, of: object, in: &group.entries[index])
  }

  /// Records a reference of a deleted object before it is changed.
  private func noteUndoOfDenial(_ object: ManagedObject, _ slot: Int) {
    guard object.isDenial(slot), let group = undoManager?.group(in: self) else { return }
    let index = group.index(of: object) ?? group.add(UndoEntry(object, existed: false))
    let entry = group.entries[index]
    guard !entry.existed, entry.denials[slot] == nil else { return }
    group.entries[index].denials[slot] = object.storedValue(slot)
  }

  func noteUndoOfInsertion(_ object: ManagedObject) {
    object.flags.insert(.tracked)
    guard let group = undoManager?.group(in: self), group.index(of: object) == nil else { return }
    var entry = UndoEntry(object, existed: false)
    entry.isInsertion = true
    _ = group.add(entry)
  }

  /// Records that a deleted object is about to exist again.
  func noteUndoOfReturn(_ object: ManagedObject) {
    guard let group = undoManager?.group(in: self), group.index(of: object) == nil else { return }
    _ = group.add(UndoEntry(object, existed: false))
  }

  /// Records a pair before its first change in a group.
  func noteUndo(_ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject) {
    guard object.exists, member.exists, let id = UndoPair.ID(object, relationship, member),
      let group = undoManager?.group(in: self)
    else { return }
    note(id, object, relationship, member, in: group)
  }

  /// Records a pair in its current state.
  func notePair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject, in group: UndoGroup
  ) {
    guard object.exists, member.exists, let id = UndoPair.ID(object, relationship, member) else { return }
    note(id, object, relationship, member, in: group)
  }

  /// Records whether two objects, one of which is deleted, were related when it was deleted. The relationship state
  /// of the deleted object tells.
  func noteFormerPair(_ pair: UndoPair, in group: UndoGroup, where isWanted: (Bool) -> Bool = { _ in true }) {
    guard let id = UndoPair.ID(pair.object, pair.relationship, pair.member), !group.hasPair(id) else {
      return
    }
    var state = pair.object.extras?.toManyState(pair.relationship.slot)
    var key = pair.member.key
    if pair.object.exists, let inverse = pair.relationship.inverseSlot {
      state = pair.member.extras?.toManyState(inverse)
      key = pair.object.key
    }
    guard let state else { return }
    let isRelated =
      state.keys != nil
      ? state.keys?.contains(key) == true : state.added.contains(key) || !state.removed.contains(key)
    guard isWanted(isRelated) else { return }
    group.add(
      UndoPair(
        object: pair.object, relationship: pair.relationship, member: pair.member, wasRelated: isRelated), id)
  }

  private func note(
    _ id: UndoPair.ID, _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject,
    in group: UndoGroup, isOfDeletion: Bool = false
  ) {
    guard !group.hasPair(id) else { return }
    group.add(
      UndoPair(
        object: object, relationship: relationship, member: member,
        wasRelated: hasPair(object, relationship, member),
        wasAdded: hasChangedPair(object, relationship, member, to: true), isOfDeletion: isOfDeletion), id)
  }

  /// Records an object that is about to be deleted as a whole, and the objects that refer to it.
  func noteUndoOfDeletion(_ object: ManagedObject) {
    guard let group = undoManager?.group(in: self) else { return }
    let index = group.index(of: object) ?? group.add(UndoEntry(object, existed: true))
    let others = oneSidedReferrers(of: object)
    if group.entries[index].existed {
      var entry = group.entries[index]
      noteWhole(object, others, in: &entry)
      // Undoing the group restores other values for references that the group itself has set to the object.
      entry.referrers.removeAll { referrer in
        guard let referrerEntry = group.index(of: referrer.object).map({ group.entries[$0] }) else {
          return false
        }
        let former = referrerEntry.values[referrer.relationship.slot] ?? .int(object.key)
        return !referrerEntry.existed || former != .int(object.key)
      }
      group.entries[index] = entry
    } else if !object.flags.contains(.inserted) {
      // The group has inserted the object, which has been saved since. When undo removes the object, no reference may
      // refuse that.
      for slot in object.scope.plan.slots where object.isDenial(slot.number) {
        group.entries[index].denials[slot.number] = .null
      }
    }
    notePairs(of: object, others, in: group)
    // The order of these objects is lost with the object.
    for case let relationship? in object.scope.plan.relationships {
      guard let inverse = inverse(of: relationship), inverse.isOrdered else { continue }
      let others =
        relationship.isToMany
        ? objects(of: object, relationship) : object.relatedObject(relationship).map { [$0] } ?? []
      for other in others { noteUndo(other, inverse.slot) }
    }
    for other in others { noteUndo(other.object, other.relationship.slot) }
  }

  /// Records an object that the group deletes as a whole, in its current state.
  func noteWhole(_ object: ManagedObject, in entry: inout UndoEntry, of group: UndoGroup) {
    let others = oneSidedReferrers(of: object)
    noteWhole(object, others, in: &entry)
    notePairs(of: object, others, in: group)
  }

  private func noteWhole(_ object: ManagedObject, _ others: [UndoReferrer], in entry: inout UndoEntry) {
    entry.isDeletion = true
    object.readLargeValues()
    for slot in object.scope.plan.slots where object.scope.plan.isUndoable(slot.number) {
      if entry.values[slot.number] == nil, entry.lists[slot.number] == nil {
        entry.deletedSlots.insert(slot.number)
      }
      note(slot.number, of: object, in: &entry)
    }
    entry.referrers = others.filter { !$0.relationship.isToMany } + unaffectedReferrers(of: object)
  }

  private func notePairs(of object: ManagedObject, _ others: [UndoReferrer], in group: UndoGroup) {
    for case let relationship? in object.scope.plan.relationships {
      guard case .join = relationship.storage else { continue }
      for member in objects(of: object, relationship) {
        if let id = UndoPair.ID(object, relationship, member) {
          note(id, object, relationship, member, in: group, isOfDeletion: true)
        }
      }
    }
    for other in others {
      if let id = UndoPair.ID(other.object, other.relationship, object) {
        note(id, other.object, other.relationship, object, in: group, isOfDeletion: true)
      }
    }
  }

  private func note(_ slot: Int, of object: ManagedObject, in entry: inout UndoEntry) {
    if object.scope.plan.relationships[slot]?.isToMany == true {
      if entry.lists[slot] == nil { entry.lists[slot] = visibleKeys(of: object, slot) }
    } else if entry.values[slot] == nil {
      object._willRead()
      entry.note(slot)
    }
  }

  /// The existing objects of a to-many relationship.
  func visibleKeys(of object: ManagedObject, _ slot: Int) -> [ObjectKey] {
    guard let relationship = object.scope.plan.relationships[slot] else { return [] }
    let state = object.toManyState(slot)
    if state.keys == nil { load(object, relationship, state) }
    let root = model.entities[relationship.destination].root
    return (state.keys?.keys ?? []).filter { registered($0, root: root)?.exists ?? true }
  }
}

extension EntityPlan {
  /// Whether undo restores a slot by itself. A derived attribute is computed again; a relationship that other objects
  /// store is restored with their references; a pair belongs to two objects.
  func isUndoable(_ slot: Int) -> Bool {
    guard slot < slots.count else { return false }
    switch slots[slot].kind {
    case .attribute(let attribute, _), .composite(let attribute, _): return attribute.derivation == nil
    case .relationship(let relationship):
      switch relationship.storage {
      case .reference: return true
      case .referencesOfOthers, .join: return relationship.isOrdered
      case .inverseReference: return false
      }
    }
  }
}

// Whether two objects have a pair: answered without loading a relationship.
extension ManagedObjectContext {
  /// Whether two objects are related. Does not load a relationship.
  func hasPair(_ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject) -> Bool {
    for (state, key) in states(of: object, relationship, member) {
      if state.keys != nil { return state.keys?.contains(key) == true }
    }
    for (state, key) in states(of: object, relationship, member) {
      if state.added.contains(key) { return true }
      if state.removed.contains(key) { return false }
    }
    return hasPairRow(object, relationship, member)
  }

  /// Whether two objects are related in the store.
  func hasStoredPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> Bool {
    // New objects have no pairs in the store.
    if object.flags.contains(.inserted) || member.flags.contains(.inserted) { return false }
    for (state, key) in states(of: object, relationship, member) where state.keys != nil {
      let isMember = state.keys?.contains(key) == true
      let isChanged = isMember ? state.added.contains(key) : state.removed.contains(key)
      return isMember != (isChanged && !state.isShared(key))
    }
    return hasPairRow(object, relationship, member)
  }

  /// Whether the context has related two objects since its last save, and another context has done so too.
  func hasSharedPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> Bool {
    // An outdated state does not know the changes of other contexts.
    guard
      let (state, key) = states(of: object, relationship, member).first(where: { state, key in
        !state.isOutdated && state.added.contains(key) && !state.removed.contains(key)
      })
    else { return false }
    if state.keys != nil { return state.isShared(key) }
    return hasPairRow(object, relationship, member)
  }

  /// Whether the context has added or removed a pair since its last save.
  func hasChangedPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject, to isRelated: Bool
  ) -> Bool {
    states(of: object, relationship, member).contains { state, key in
      isRelated ? state.added.contains(key) : state.removed.contains(key)
    }
  }

  /// The relationship states of both objects of a pair, each with the key of the other object.
  private func states(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> [(state: ToManyState, key: ObjectKey)] {
    let own = object.extras?.toManyState(relationship.slot).map { ($0, member.key) }
    let other = relationship.inverseSlot.flatMap { member.extras?.toManyState($0) }.map { ($0, object.key) }
    return [own, other].compactMap { $0 }
  }

  func hasPairRow(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> Bool {
    guard case .join(let index, let isSource) = relationship.storage,
      !object.flags.contains(.inserted), !member.flags.contains(.inserted)
    else { return false }
    if let parent {
      guard let original = parentInstance(of: object), let other = self.parentInstance(of: member) else {
        return false
      }
      return parent.hasPair(original, relationship, other)
    }
    do {
      return try reader().hasPair(
        ofJoin: index, source: isSource ? object.key : member.key, target: isSource ? member.key : object.key)
    } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return false
    }
  }
}

// The objects that refer to an object and are not changed by its deletion.
extension ManagedObjectContext {
  /// The objects that refer to an object in a relationship whose delete rule leaves their references unchanged.
  private func unaffectedReferrers(of object: ManagedObject) -> [UndoReferrer] {
    var result: [UndoReferrer] = []
    for case let relationship? in object.scope.plan.relationships {
      guard !relationship.description.deleteRule.separates, let inverse = inverse(of: relationship),
        !inverse.isToMany
      else { continue }
      let others: [ManagedObject]
      switch relationship.storage {
      case .reference where relationship.isSymmetric:
        // The partner stores the reference in its own row.
        let partner = object.relatedObject(relationship)
        partner?._willRead()
        others =
          partner.map { $0.referenceKey(inverse.slot) == object.key && $0 !== object ? [$0] : [] } ?? []
      case .reference: continue
      case .referencesOfOthers, .join: others = objects(of: object, relationship)
      case .inverseReference: others = partner(of: object, relationship).map { [$0] } ?? []
      }
      result += others.map { UndoReferrer($0, inverse) }
    }
    return result
  }

  /// The objects, in memory or not, that refer to an object by a relationship without an inverse.
  private func oneSidedReferrers(of object: ManagedObject) -> [UndoReferrer] {
    var result: [UndoReferrer] = []
    let known = parent.flatMap { parent in
      parentInstance(of: object).map { parent.oneSidedReferrers(of: $0) }
    }
    let lineage = object.scope.plan.lineage
    for plan in model.entities where storeReader.hasStore(of: plan) {
      for case let relationship? in plan.relationships
      where !relationship.hasInverse && relationship.owner == plan.name
        && lineage.contains(relationship.destination)
      {
        var seen: Set<ObjectKey> = []
        func add(_ referrer: ManagedObject) {
          guard referrer.exists, seen.insert(referrer.key).inserted else { return }
          referrer._willRead()
          let refers =
            relationship.isToMany
            ? visibleKeys(of: referrer, relationship.slot).contains(object.key)
            : referrer.referenceKey(relationship.slot) == object.key
          if refers { result.append(UndoReferrer(referrer, relationship)) }
        }
        for referrer in pending where referrer.isPending && referrer.scope.plan.isKind(of: plan) {
          add(referrer)
        }
        guard !object.flags.contains(.inserted) else { continue }
        if parent != nil {
          let others = known?.filter { $0.relationship === relationship }.map(\.object) ?? []
          for referrer in childInstances(of: others) { add(referrer) }
          continue
        }
        for key in keysOfReferrers(to: object, relationship, plan) {
          if let referrer = registered(key, root: plan.root) ?? (try? fetchObject(key, plan)) {
            add(referrer)
          }
        }
      }
    }
    return result
  }

  private func keysOfReferrers(
    to object: ManagedObject, _ relationship: RelationshipPlan, _ plan: EntityPlan
  ) -> [ObjectKey] {
    do {
      return try reader().referrers(by: relationship, of: plan, to: object.key)
    } catch {
      object.report(.readFailed("\(error)"))
      return []
    }
  }
}
