// Putting relationships back: what others know of a reference, pairs and orders.
extension UndoRestoration {
  func registered(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    let object = context.registered(key, root: context.model.entities[relationship.destination].root)
    // A child's fault may be of an object that its parent has deleted.
    if context.parent != nil { object?._willRead() }
    return object
  }

  func live(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    if let object = registered(key, relationship) { return object.exists ? object : nil }
    return try? context.fetchObject(key, context.model.entities[relationship.destination])
  }

  /// Brings what another object knows of an object's reference into line with it.
  mutating func settle(
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

  /// Puts back the references of a deleted object that refuse its deletion.
  func putDenials(_ entry: UndoEntry) {
    let object = entry.object
    for (slot, value) in entry.denials.sorted(by: { $0.key < $1.key }) {
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
      // Who takes the other object away later has to find the reference.
      if let partner = registered(key, relationship), partner.extras?.partners[inverse.slot] ?? 0 == 0 {
        partner.requireExtras().partners[inverse.slot] = object.key
      }
    }
  }

  private mutating func touch(_ object: ManagedObject, _ slot: Int) {
    // After the change: what a fact means is known only then.
    object.willChange(slot)
    object.noteTouch(slot)
    touched[ObjectIdentifier(object)] = object
  }

  /// Puts a pair in or out, on both sides.
  mutating func putPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject, isRelated: Bool
  ) {
    if !isRelated, !group.isSaved, object.exists, member.exists,
      context.hasSharedPair(object, relationship, member)
    {
      // Without the context's own change it is what others have made.
      for (object, slot, key) in [
        (object, relationship.slot, member.key), (member, relationship.inverseSlot ?? -1, object.key),
      ] where slot >= 0 {
        object.extras?.toManyState(slot)?.forgetChange(of: key)
        touch(object, slot)
      }
      return
    }
    let isStored = context.hasStoredPair(object, relationship, member)
    object.toManyState(relationship.slot).put(member.key, isMember: isRelated, isStored: isStored)
    touch(object, relationship.slot)
    guard let inverse = relationship.inverseSlot, !(relationship.isSymmetric && member === object) else {
      return
    }
    member.toManyState(inverse).put(object.key, isMember: isRelated, isStored: isStored)
    touch(member, inverse)
  }

  mutating func putOrders(_ entry: UndoEntry) {
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
}
