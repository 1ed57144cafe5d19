/// Puts objects back to what they were before a group of changes.
///
/// No rule and no inverse is followed: a group has the facts of all objects that its changes met. What a fact means
/// for the store is told by what the store has now, of which a save since then has made something else: an object
/// whose deletion was saved gets a row anew, and a value that is that of the row again is no change.
struct UndoRestoration {
  let context: ManagedObjectContext
  let group: UndoGroup
  /// What the group's lists have now.
  private var current: [ObjectIdentifier: [Int: [ObjectKey]]] = [:]
  /// Objects whose relationships were put right.
  private var touched: [ObjectIdentifier: ManagedObject] = [:]

  init(_ group: UndoGroup, in context: ManagedObjectContext) {
    self.group = group
    self.context = context
  }

  /// - Returns: The group that puts the objects back to what they are now.
  mutating func run() -> UndoGroup {
    // Everything is looked at before anything is changed.
    let inverse = noteCurrent()
    for entry in group.entries where entry.existed && !entry.existedAfter && !entry.object.exists {
      bringBack(entry)
    }
    for entry in group.entries where entry.existed && entry.object.exists { putValues(entry) }
    for entry in group.entries where !entry.existed && entry.existedAfter && entry.object.exists {
      takeAway(entry.object)
    }
    for pair in group.pairs where pair.object.exists && pair.member.exists {
      putPair(pair.object, pair.relationship, pair.member, isRelated: pair.wasRelated)
    }
    for entry in group.entries where !entry.referrers.isEmpty && entry.object.exists {
      for referrer in entry.referrers { restore(referrer, to: entry.object) }
    }
    for entry in group.entries where entry.existed && entry.object.exists { putOrders(entry) }
    context.dropCaches()
    if context.model.hasDerivedSlots { context.deriveForFetch() }
    forgetEqual()
    inverse.close(in: context)
    if !context.children.isEmpty { context.tellChildren() }
    return inverse
  }

  private mutating func noteCurrent() -> UndoGroup {
    let inverse = UndoGroup()
    inverse.name = group.name
    for entry in group.entries {
      let object = entry.object
      if object.exists { object._willRead() }
      var now = UndoEntry(object, existed: object.exists)
      if now.existed {
        if entry.existed {
          for slot in entry.values.keys { now.values[slot] = object.storedValue(slot) }
          for slot in entry.lists.keys { now.lists[slot] = context.visibleKeys(of: object, slot) }
        } else {
          context.noteWhole(object, in: &now, of: inverse)
        }
        current[ObjectIdentifier(object)] = now.lists
      }
      _ = inverse.add(now)
    }
    for pair in group.pairs {
      context.notePair(pair.object, pair.relationship, pair.member, in: inverse)
    }
    return inverse
  }

  // MARK: Existence

  private mutating func bringBack(_ entry: UndoEntry) {
    let object = entry.object
    guard object.scope.context === context else { return }
    let root = object.scope.plan.root
    if object.flags.contains(.gone) {
      // A row that others have written anew is theirs.
      let known = context.registered(object.key, root: root)
      guard known == nil || known === object else { return }
      if known == nil { context.addToMap(object) }
      let extras = object.requireExtras()
      context.forgetChanges(of: extras)
      extras.toMany.removeAll()
      extras.partners.removeAll()
      // Rows may still lead to it, even where it never had one itself.
      object.flags = [.tracked, .revived]
      object.mark(.inserted, in: context)
    } else if object.flags.contains(.deleted), !object.flags.contains(.inaccessible) {
      object.flags.remove(.deleted)
    } else {
      // One that others have deleted is gone.
      return
    }
    if entry.isDraft { object.flags.insert(.draft) }
  }

  /// Lets an object be no more. What is related to it is put back by facts of its own, as far as the undo manager
  /// knows of it; the rest lets go of it.
  private mutating func takeAway(_ object: ManagedObject) {
    object.mark(.deleted, in: context)
    for case let relationship? in object.scope.plan.relationships {
      switch relationship.storage {
      case .reference:
        let key = object.referenceKey(relationship.slot)
        if key != 0 { settle(object, relationship, key) }
        if relationship.isSymmetric, key != 0, let other = live(key, relationship) {
          release(other, relationship, from: object)
        }
      case .join:
        let state = object.extras?.toManyState(relationship.slot)
        for key in (state?.keys?.keys ?? []) + (state?.added.keys ?? []) {
          guard let other = registered(key, relationship), other.exists else { continue }
          putPair(object, relationship, other, isRelated: false)
        }
      case .inverseReference, .referencesOfOthers:
        guard relationship.description.deleteRule != .noAction,
          let inverse = context.inverse(of: relationship)
        else { continue }
        let keys =
          object.extras?.toManyState(relationship.slot)?.keys?.keys
          ?? object.extras?.partners[relationship.slot].map { [$0] } ?? []
        for key in keys {
          if let other = registered(key, relationship), other.exists { release(other, inverse, from: object) }
        }
      }
    }
  }

  private mutating func release(
    _ other: ManagedObject, _ relationship: RelationshipPlan, from object: ManagedObject
  ) {
    other._willRead()
    if other.referenceKey(relationship.slot) == object.key { putReference(0, other, relationship) }
  }

  // MARK: Values

  private mutating func putValues(_ entry: UndoEntry) {
    let object = entry.object
    object._willRead()
    var attributes: [Int: AttributeValue] = [:]
    for (slot, value) in entry.values.sorted(by: { $0.key < $1.key }) {
      guard let relationship = object.scope.plan.relationships[slot] else {
        guard object.storedValue(slot) != value else { continue }
        object._willWrite(slot)
        attributes[slot] = value
        continue
      }
      var key: ObjectKey = 0
      if case .int(let number) = value { key = number }
      // One that others have deleted cannot be had again. One that is deleted here can be referred to, unseen.
      if key != 0, registered(key, relationship) == nil, live(key, relationship) == nil {
        guard relationship.description.isOptional else { continue }
        key = 0
      }
      putReference(key, object, relationship)
    }
    if !attributes.isEmpty { object.setStoredValues(attributes) }
    if object.flags.isSuperset(of: [.inserted, .draft]) { object.requireExtras().assigned = entry.assigned }
  }

  private mutating func putReference(
    _ key: ObjectKey, _ object: ManagedObject, _ relationship: RelationshipPlan
  ) {
    object._willRead()
    let former = object.referenceKey(relationship.slot)
    if former != key {
      object._willWrite(relationship.slot)
      object._setReference(relationship.slot, key)
      object.extras?.faults.removeAll { $0.property == relationship.name }
      if former != 0 { settle(object, relationship, former) }
    }
    if key != 0 { settle(object, relationship, key) }
  }

  /// Puts back a reference to an object that has come back.
  private mutating func restore(_ referrer: UndoReferrer, to object: ManagedObject) {
    let (holder, relationship) = (referrer.object, referrer.relationship)
    guard holder.exists else { return }
    holder._willRead()
    let key = holder.referenceKey(relationship.slot)
    guard key == 0 || key == object.key else { return }
    // The store has cleared a reference that nobody else knows of when the row went.
    if relationship.inverse == nil, object.flags.contains(.inserted), !holder.flags.contains(.inserted) {
      if let place = holder.extras?.old.firstIndex(where: { $0.slot == relationship.slot }) {
        if holder.extras?.old[place].value == .int(object.key) { holder.extras?.old[place].value = .null }
      } else {
        holder._setReference(relationship.slot, 0)
      }
    }
    putReference(object.key, holder, relationship)
  }

  // MARK: Relationships

  private func registered(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    context.registered(key, root: context.model.entities[relationship.destination].root)
  }

  private func live(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    if let object = registered(key, relationship) { return object.exists ? object : nil }
    return try? context.fetchObject(key, context.model.entities[relationship.destination])
  }

  /// Brings what another object knows of an object's reference into line with it.
  private mutating func settle(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ key: ObjectKey
  ) {
    guard !relationship.isSymmetric, let inverse = context.inverse(of: relationship),
      let holder = registered(key, relationship) ?? live(key, relationship),
      holder.flags.isDisjoint(with: [.gone, .inaccessible])
    else { return }
    let isMember = object.exists && object.referenceKey(relationship.slot) == key
    if inverse.isToMany {
      let old = object.extras?.old.first { $0.slot == relationship.slot }?.value
      let isStored =
        !object.flags.contains(.inserted)
        && (old.map { $0 == .int(key) } ?? (object.referenceKey(relationship.slot) == key))
      holder.toManyState(inverse.slot).put(object.key, isMember: isMember, isStored: isStored)
    } else if isMember {
      holder.requireExtras().partners[inverse.slot] = object.key
    } else if holder.extras?.partners[inverse.slot] ?? object.key == object.key {
      holder.requireExtras().partners[inverse.slot] = 0
    }
    touch(holder, inverse.slot)
  }

  private mutating func touch(_ object: ManagedObject, _ slot: Int) {
    object.noteTouch(slot)
    touched[ObjectIdentifier(object)] = object
  }

  /// Puts a pair in or out, on both sides.
  private mutating func putPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject, isRelated: Bool
  ) {
    let isStored = context.hasStoredPair(object, relationship, member)
    object.toManyState(relationship.slot).put(member.key, isMember: isRelated, isStored: isStored)
    touch(object, relationship.slot)
    guard let inverse = relationship.inverseSlot, !(relationship.isSymmetric && member === object) else {
      return
    }
    member.toManyState(inverse).put(object.key, isMember: isRelated, isStored: isStored)
    touch(member, inverse)
  }

  private mutating func putOrders(_ entry: UndoEntry) {
    let object = entry.object
    for (slot, wanted) in entry.lists {
      guard let relationship = object.scope.plan.relationships[slot], relationship.isOrdered else { continue }
      let members = context.visibleKeys(of: object, slot)
      let now = current[ObjectIdentifier(object)]?[slot] ?? []
      var order = wanted
      if entry.listsAfter[slot] != now {
        // What others have brought stays, behind the rest.
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

  // MARK: What is as the store has it

  /// Forgets changes that are none any more.
  private func forgetEqual() {
    var objects = touched
    for entry in group.entries { objects[ObjectIdentifier(entry.object)] = entry.object }
    if context.model.hasDerivedSlots {
      for object in context.pending { objects[ObjectIdentifier(object)] = object }
    }
    let changed = objects.values.filter {
      $0.exists && !$0.flags.contains(.inserted) && !$0.flags.isDisjoint(with: [.updated, .touched])
    }
    for object in changed { context.forgetEqualChanges(of: object) }
    var contested: Set<Partner>?
    for object in changed {
      guard let extras = object.extras else { continue }
      for case let relationship? in object.scope.plan.relationships
      where extras.changed.contains(relationship.slot) {
        switch relationship.storage {
        case .reference: continue
        case .inverseReference:
          let known = contested ?? contestedPartners()
          contested = known
          if known.contains(Partner(relationship, object.key, context.model)) { continue }
        case .referencesOfOthers, .join:
          guard let state = extras.toManyState(relationship.slot) else { break }
          if state.lacksPositions(relationship) {
            try? context.readPositions(object, relationship, state)
          }
          if !state.isSettled(relationship) { continue }
        }
        extras.changed.remove(relationship.slot)
      }
      if extras.changed.isEmpty, extras.faults.isEmpty { object.flags.subtract([.updated, .touched]) }
    }
  }

  /// An object as one that others may refer to by a one-to-one relationship.
  private struct Partner: Hashable {
    let root: Int
    let slot: Int
    let key: ObjectKey

    /// - Parameter relationship: The side that has no reference.
    init(_ relationship: RelationshipPlan, _ key: ObjectKey, _ model: ModelPlan) {
      root = model.entities[relationship.destination].root
      slot = relationship.inverseSlot ?? 0
      self.key = key
    }

    init(root: Int, slot: Int, key: ObjectKey) { (self.root, self.slot, self.key) = (root, slot, key) }
  }

  /// Those to which unsaved references lead by one-to-one relationships, or have led before.
  private func contestedPartners() -> Set<Partner> {
    var result: Set<Partner> = []
    for object in context.pending where object.isPending {
      let isWhole = !object.flags.isDisjoint(with: [.inserted, .deleted])
      for case let relationship? in object.scope.plan.relationships where relationship.isOneToOne {
        guard case .reference = relationship.storage else { continue }
        let slot = relationship.slot
        guard isWhole || object.extras?.changed.contains(slot) == true else { continue }
        let root = object.scope.plan.root
        result.insert(Partner(root: root, slot: slot, key: object.referenceKey(slot)))
        if case .int(let old)? = object.extras?.old.first(where: { $0.slot == slot })?.value {
          result.insert(Partner(root: root, slot: slot, key: old))
        }
      }
    }
    return result
  }
}
