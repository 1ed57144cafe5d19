// To-one relationships: what they hold, and how a change of one side changes the other.
extension ManagedObjectContext {
  func inverse(of relationship: RelationshipPlan) -> RelationshipPlan? {
    relationship.inverseSlot.flatMap { model.entities[relationship.destination].relationships[$0] }
  }

  /// Sets a reference that stands in the object's own table, and the inverse.
  func setReference(of object: ManagedObject, _ relationship: RelationshipPlan, to new: ManagedObject?) {
    object._willRead()
    let slot = relationship.slot
    let oldKey = object.referenceKey(slot)
    let newKey = new?.key ?? 0
    guard oldKey != newKey else { return }
    guard let inverse = inverse(of: relationship) else {
      if newKey == 0, isVoid(oldKey, relationship) { return }
      object.writeReference(newKey, slot)
      return
    }
    if currentUndoManager != nil {
      if oldKey != 0, let old = holder(oldKey, relationship) { noteUndo(old, inverse.slot) }
      if let new { noteUndo(new, inverse.slot) }
    }
    if inverse.isToMany {
      object.writeReference(newKey, slot)
      if oldKey != 0, let old = holder(oldKey, relationship) { take(object, outOf: inverse, of: old) }
      if let new {
        new.willChange(inverse.slot)
        new.toManyState(inverse.slot).add(object.key)
        new.noteTouch(inverse.slot)
      }
    } else if relationship.isSymmetric {
      setSymmetric(object, relationship, oldKey: oldKey, new: new)
    } else {
      let formers = new.map { referrers(of: $0, inverse) } ?? []
      for former in formers where former !== object { former.writeReference(0, slot) }
      object.writeReference(newKey, slot)
      if oldKey != 0, let old = holder(oldKey, relationship) { take(object, outOf: inverse, of: old) }
      if let new {
        new.willChange(inverse.slot)
        new.requireExtras().partners[inverse.slot] = object.key
        new.noteTouch(inverse.slot)
      }
    }
  }

  /// Whether a reference without an inverse leads to an object that was deleted before it was ever saved, here or in a
  /// parent. It is nil already: nobody looks for such references when the object is deleted, and the save clears them.
  func isVoid(_ key: ObjectKey, _ relationship: RelationshipPlan) -> Bool {
    guard key != 0, relationship.inverse == nil else { return false }
    let known = registered(key, root: model.entities[relationship.destination].root)
    if let known, known.flags.contains(.inserted) { return known.flags.contains(.deleted) }
    return parent?.isVoid(key, relationship) == true
  }

  /// Takes an object whose reference leads elsewhere out of the other side's relationship.
  func take(_ object: ManagedObject, outOf inverse: RelationshipPlan, of former: ManagedObject) {
    former.willChange(inverse.slot)
    if inverse.isToMany {
      former.toManyState(inverse.slot).remove(object.key)
    } else {
      let extras = former.requireExtras()
      // Somebody else's save may have given the former one a partner beside the one that it has here.
      if extras.partners[inverse.slot] ?? object.key == object.key { extras.partners[inverse.slot] = 0 }
    }
    former.noteTouch(inverse.slot)
  }

  private func setSymmetric(
    _ object: ManagedObject, _ relationship: RelationshipPlan, oldKey: ObjectKey, new: ManagedObject?
  ) {
    let slot = relationship.slot
    if oldKey != 0, oldKey != object.key, let old = holder(oldKey, relationship) {
      if referenceKey(of: old, slot) != object.key, old.flags.isDisjoint(with: [.inserted, .deleted]),
        old.extras?.changed.contains(slot) != true
      {
        // Its changes have kept it from being read again since others made the two partners.
        refresh(old, mergeChanges: true)
      }
      if referenceKey(of: old, slot) == object.key { old.writeReference(0, slot) }
    }
    if let new, new !== object {
      let formerKey = referenceKey(of: new, slot)
      if formerKey != 0, formerKey != object.key, formerKey != new.key,
        let former = holder(formerKey, relationship)
      {
        former.writeReference(0, slot)
      }
      new.writeReference(object.key, slot)
    }
    object.writeReference(new?.key ?? 0, slot)
  }

  /// The object that a reference leads to, also where the context has deleted it: its rules are still to be checked. One
  /// that is gone has no rules any more, and must not become a changed object.
  func holder(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    guard let known = registered(key, root: model.entities[relationship.destination].root) else {
      return object(key, relationship)
    }
    // A child's fault may be of an object that its parent has deleted.
    if parent != nil { known._willRead() }
    // Others may have written the row of one that is gone anew.
    if known.flags.contains(.gone) { return object(key, relationship) }
    return known.flags.contains(.inaccessible) ? nil : known
  }

  private func referenceKey(of object: ManagedObject, _ slot: Int) -> ObjectKey {
    object._willRead()
    return object.referenceKey(slot)
  }

  /// The object on the other side of a one-to-one relationship whose reference stands there.
  func partner(of object: ManagedObject, _ relationship: RelationshipPlan) -> ManagedObject? {
    if let known = object.extras?.partners[relationship.slot] {
      return known == 0 ? nil : self.object(known, relationship)
    }
    let referrers = readReferrers(of: object, relationship)
    let found = referrers?.first { !$0.isDeleted }
    // Nothing is noted of a deleted one, for a rollback brings it back.
    if let referrers, found != nil || referrers.isEmpty {
      object.requireExtras().partners[relationship.slot] = found?.key ?? 0
    }
    return found
  }

  /// The objects whose references lead to an object by a one-to-one relationship: its partner, and those whose deletion
  /// is unsaved. A rule of `deny` refuses the deletion as long as the reference is there.
  private func referrers(of object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject] {
    if let known = object.extras?.partners[relationship.slot] {
      return known == 0 ? [] : holder(known, relationship).map { [$0] } ?? []
    }
    return readReferrers(of: object, relationship) ?? []
  }

  /// The same by the store's rows and by objects with changes that have not followed theirs; nil where the store cannot be
  /// read, and where there can be none.
  private func readReferrers(
    of object: ManagedObject, _ relationship: RelationshipPlan
  ) -> [ManagedObject]? {
    guard let inverse = inverse(of: relationship), object.mayHaveRowsOfOthers,
      !object.flags.contains(.inaccessible), let column = model.referenceColumn(behind: relationship)
    else { return nil }
    do {
      // The row's object may have been changed since, or deleted.
      let found = try holders(of: object, relationship, column).filter {
        $0.referenceKey(inverse.slot) == object.key
      }
      return contestedHolders.isEmpty
        ? found : found + contestedHolders(of: object, relationship, beside: found)
    } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return nil
    }
  }

  /// The objects that refer to one as their rows did before others changed these.
  private func contestedHolders(
    of object: ManagedObject, _ relationship: RelationshipPlan, beside known: [ManagedObject]
  ) -> [ManagedObject] {
    let partner = OneToOnePartner(relationship, object.key, model)
    guard let keys = contestedHolders[partner] else { return [] }
    return keys.compactMap { registered($0, root: partner.root) }.filter { holder in
      holder.isPending && !holder.flags.isDisjoint(with: [.outdated, .vanished])
        && holder.flags.isDisjoint(with: [.gone, .inaccessible])
        && holder.referenceKey(partner.slot) == object.key && !known.contains { $0 === holder }
    }
  }

  /// The objects whose rows refer to an object.
  private func holders(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ column: ColumnPlan
  ) throws -> [ManagedObject] {
    if let parent { return partnerCopy(of: object, relationship, parent) }
    let plan = model.entities[relationship.destination]
    try importTarget?.index(relationship)
    return try objects(from: reader().rows(ofKind: plan, referringBy: column, to: object.key), of: plan)
  }

  func setPartner(of object: ManagedObject, _ relationship: RelationshipPlan, to new: ManagedObject?) {
    guard let inverse = inverse(of: relationship) else { return }
    for former in referrers(of: object, relationship) where former !== new {
      setReference(of: former, inverse, to: nil)
    }
    if let new { setReference(of: new, inverse, to: object) }
  }
}
