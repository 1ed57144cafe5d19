// Deletion: delete rules apply at once, except for `deny`, which the save checks.
extension ManagedObjectContext {
  /// Deletes an object. The delete rules of its relationships apply at once; the save checks `deny` rules.
  ///
  /// Does nothing with an object of another context, or with an object whose row is gone. If the store cannot be read, the
  /// object is not deleted, and the next ``save()`` throws the error.
  public func delete(_ object: ManagedObject) {
    guard object.scope.context === self else { return }
    // Unlike values that `awakeFromFetch()` sets, a deletion in it is a change, with the references that it clears.
    if activity.isAwakening { return withoutUndo { activity.notAwakening { delete(object) } } }
    children.noteDeletion()
    // A list instead of recursion: a chain of cascades may be long.
    var waiting = [DoomedObject(object)]
    var roots: Set<Int> = []
    var announced: [ManagedObject] = []
    defer { activity.didDelete(announced) }
    let hasLifecycle = model.hasLifecycle
    let reverts = pendingChanges.revertCount
    func apply(_ doomed: DoomedObject) {
      delete(doomed, &waiting)
      if changeNotices.hasUnnotifiedObservers { roots.insert(doomed.object.scope.plan.root) }
    }
    // A rollback in the app's methods takes back the whole deletion and stops the rest of it.
    while pendingChanges.revertCount == reverts, let next = waiting.popLast() {
      guard hasLifecycle else {
        apply(next)
        continue
      }
      for doomed in prepare(next, &announced) where pendingChanges.revertCount == reverts { apply(doomed) }
    }
    // The deletion does not notify objects whose relationship has no inverse, or has a rule that leaves them
    // unchanged.
    registry.dropCaches()
    noteDeletionsUnnotified(to: roots)
    if changeNotices.isAnyDue { notifyObservers() }
  }

  /// Calls ``ManagedObjectLifecycle/prepareForDeletion()`` of an object and of the objects that its deletion deletes too.
  /// All of them still have their related objects.
  ///
  /// - Parameter announced: Gets the objects that are announced as doomed: other deletions leave them to this one.
  /// - Returns: The objects to be deleted, unless the context has been reverted meanwhile.
  private func prepare(_ doomed: DoomedObject, _ announced: inout [ManagedObject]) -> [DoomedObject] {
    var prepared: [DoomedObject] = []
    var waiting = [doomed]
    let reverts = pendingChanges.revertCount
    while let doomed = waiting.popLast() {
      let next = doomed.object
      if next.isDeleted { continue }
      guard activity.willDelete(next) else {
        // Another object's method deletes it. Its own method has returned, so it need not wait for the others.
        if activity.isPrepared(next) { prepared.append(doomed) }
        continue
      }
      announced.append(next)
      do {
        try fireForCaller(next)
        guard !next.isInaccessible else { continue }
        if doomed.isElsewhere {
          // The same deletion may delete its other owner, and then the object too.
          announced.removeLast()
          activity.didDelete([next])
          continue
        }
        if let lifecycle = next.lifecycle {
          activity.run(.prepareForDeletion) { lifecycle.prepareForDeletion() }
          guard pendingChanges.revertCount == reverts else { break }
          // The method may have removed the object from the context.
          guard !next.isDeleted, !next.isInaccessible else { continue }
        }
        waiting.append(contentsOf: try ownedObjects(of: next))
        prepared.append(doomed)
        activity.didPrepare(next)
      } catch { noteFailure(error, of: next) }
    }
    return prepared
  }

  private func delete(_ doomed: DoomedObject, _ cascaded: inout [DoomedObject]) {
    let object = doomed.object
    guard !object.isDeleted else { return }
    do { try fireForCaller(object) } catch { return noteFailure(error, of: object) }
    guard !object.isInaccessible, !doomed.isElsewhere else { return }
    let owned: [DoomedObject]
    do {
      // The deletion of a row that another context has inserted meanwhile is a deletion that the save writes.
      if object.flags.contains(.inserted), object.version != 0 || parent != nil { try becomeUpdate(object) }
      owned = try ownedObjects(of: object)
    } catch {
      return noteFailure(error, of: object)
    }
    if undoManager != nil { noteUndoOfDeletion(object) }
    for case let relationship? in object.scope.plan.relationships {
      let rule = relationship.description.deleteRule
      // An object that was never saved has no row that a rule could protect. No reference may lead to it from now on.
      if rule.separates || object.flags.contains(.inserted) { separate(object, relationship) }
    }
    cascaded.append(contentsOf: owned)
    object.mark(.deleted, in: self)
  }

  /// The objects that the deletion of an object deletes too.
  ///
  /// - Throws: The error of a store that cannot be read.
  private func ownedObjects(of object: ManagedObject) throws -> [DoomedObject] {
    var owned: [DoomedObject] = []
    for case let relationship? in object.scope.plan.relationships
    where relationship.description.deleteRule.owns {
      if relationship.isToMany {
        for related in try objectsForCaller(of: object, relationship) {
          owned.append(DoomedObject(related, of: object, relationship))
        }
      } else if let related = object.relatedObject(relationship) {
        owned.append(DoomedObject(related, of: object, relationship))
      }
    }
    return owned
  }

  /// Removes a deleted object from the other side of a relationship.
  private func separate(_ object: ManagedObject, _ relationship: RelationshipPlan) {
    guard let slot = relationship.inverseSlot,
      let inverse = model.entities[relationship.destination].relationships[slot]
    else { return }
    switch relationship.storage {
    case .reference:
      let key = object.referenceKey(relationship.slot)
      if relationship.isSymmetric {
        // The other object stores the reference in its own row.
        guard key != 0, let other = self.object(key, relationship), other !== object else { return }
        setReference(of: other, inverse, to: nil)
        return
      }
      guard key != 0 else { return }
      let known = registered(key, root: model.entities[relationship.destination].root)
      // An object that is not in memory finds the deleted object missing when it is loaded. If its relationship has a
      // minimum, it is fetched, so that the save checks it.
      guard let other = known ?? (inverse.hasMinimum ? self.object(key, relationship) : nil) else { return }
      // A child's fault may stand for an object that its parent has deleted.
      if parent != nil { other._willRead() }
      guard other.flags.isDisjoint(with: [.deletionSaved, .inaccessible]) else { return }
      other.willChange(slot)
      if inverse.isToMany {
        other.toManyState(slot).remove(object.key)
      } else {
        other.requireExtras().partners[slot] = 0
      }
      other.noteChangeOutsideRow(slot)
    case .inverseReference:
      if let other = partner(of: object, relationship) { remove(other, from: object, relationship) }
    case .referencesOfOthers:
      for other in objects(of: object, relationship) { remove(other, from: object, relationship) }
    case .join:
      for other in objects(of: object, relationship) where other !== object {
        other.willChange(slot)
        other.toManyState(slot).remove(object.key)
        other.noteChangeOutsideRow(slot)
      }
    }
  }
}

/// An object that a deletion deletes.
private struct DoomedObject {
  let object: ManagedObject
  /// The owner with which the object is deleted, and the slot of the object's reference to it. Nil without an owner, if
  /// the object's row has no such reference, and if this context has set the reference: no other can have changed it then.
  let owner: (key: ObjectKey, slot: Int)?

  init(_ object: ManagedObject) {
    self.object = object
    owner = nil
  }

  init(_ related: ManagedObject, of owner: ManagedObject, _ relationship: RelationshipPlan) {
    object = related
    switch relationship.storage {
    case .referencesOfOthers, .inverseReference:
      // The deletion of the owner clears the reference. If the reference had been nil before this context set it, that is
      // no change any more, so this must be asked before.
      let slot = relationship.inverseSlot.flatMap { related.extras?.changed.contains($0) == true ? nil : $0 }
      self.owner = slot.map { (key: owner.key, slot: $0) }
    case .reference, .join: self.owner = nil
    }
  }

  /// Whether another context has given the object to another owner since the deletion has found it. A read of the deletion
  /// itself can tell of that.
  var isElsewhere: Bool {
    // The deletion of the owner clears the reference, which is a change. The changes of a new object are not recorded.
    guard let owner, !object.flags.contains(.inserted), object.extras?.changed.contains(owner.slot) != true
    else { return false }
    return object.referenceKey(owner.slot) != owner.key
  }
}

// Deletions that a merge policy takes back, with their effects on other objects.
extension ManagedObjectContext {
  /// Takes the deletion of an object back, with the references and pairs of other objects that its rules cleared.
  func revertDeletion(of object: ManagedObject) {
    object.flags.remove(.deleted)
    undoManager?.noteDeletionTakenBack(object)
    for case let relationship? in object.scope.plan.relationships {
      guard let inverse = inverse(of: relationship) else { continue }
      let destination = model.entities[relationship.destination]
      switch relationship.storage {
      case .reference where relationship.isSymmetric: break
      case .reference:
        let key = object.referenceKey(relationship.slot)
        // An object that is not in memory needs no update. An object that is gone must not become a changed object,
        // and its row may exist again.
        guard key != 0, registered(key, root: destination.root) != nil,
          let other = referent(key, relationship)
        else { continue }
        other.willChange(inverse.slot)
        if inverse.isToMany {
          revertRemoval(of: object.key, from: other, inverse)
        } else {
          other.requireExtras().partners[inverse.slot] = object.key
        }
        other.noteChangeOutsideRow(inverse.slot)
      case .join:
        // Objects that had pairs with it. The object itself has read its relationships again by now. Entities that share a
        // table may have another property at the slot.
        for other in pending where other.scope.plan.isKind(of: destination) && other !== object {
          guard let state = other.extras?.toManyState(inverse.slot), state.removed.contains(object.key) else {
            continue
          }
          if other.flags.contains(.deleted) {
            // The delete rule of the other object applies to this object again.
            state.forgetChange(of: object.key)
            continue
          }
          other.willChange(inverse.slot)
          revertRemoval(of: object.key, from: other, inverse)
          other.noteChangeOutsideRow(inverse.slot)
        }
      case .inverseReference, .referencesOfOthers: break
      }
      guard !inverse.isToMany else { continue }
      for other in pending
      where other.scope.plan.isKind(of: destination) && !other.flags.contains(.deleted) {
        guard let old = other.extras?.oldValue(inverse.slot),
          old == .int(object.key), other.referenceKey(inverse.slot) == 0
        else { continue }
        setReference(of: other, inverse, to: object)
        forgetEqualChanges(of: other)
        // The store has the object in this relationship, so this is not a change.
        object.extras?.toManyState(relationship.slot)?.forgetChange(of: other.key)
      }
      findReferrersAgain(of: object, relationship)
    }
    registry.dropCaches()
    noteDeletionsUnnotified(to: [object.scope.plan.root])
    dropContestedChanges(of: object)
  }

  /// Finds the objects that refer to an object whose deletion is taken back. Their own deletions may have been taken
  /// back while this object was still deleted.
  private func findReferrersAgain(of object: ManagedObject, _ relationship: RelationshipPlan) {
    guard let slot = relationship.inverseSlot, let extras = object.extras else { return }
    switch relationship.storage {
    case .reference, .join: return
    case .inverseReference:
      if extras.partners[relationship.slot] == 0 { extras.partners[relationship.slot] = nil }
    case .referencesOfOthers:
      guard let state = extras.toManyState(relationship.slot) else { return }
      let root = model.entities[relationship.destination].root
      for key in state.removed.keys {
        guard let other = registered(key, root: root), other.exists, other.referenceKey(slot) == object.key
        else { continue }
        state.forgetChange(of: key)
      }
      if state.added.isEmpty, state.removed.isEmpty { state.forget() } else { state.unload() }
    }
  }

  /// Adds an object back to a to-many relationship from which its deletion has removed it, at its position in the
  /// store.
  private func revertRemoval(
    of key: ObjectKey, from referrer: ManagedObject, _ relationship: RelationshipPlan
  ) {
    let state = referrer.toManyState(relationship.slot)
    state.cache = nil
    let wasRemoved = state.removed.remove(key)
    if !state.isChanged { return state.forget() }
    guard let members = state.keys?.keys, !members.contains(key) else { return }
    // Another context has added it since the relationship was read.
    guard wasRemoved else { return state.add(key) }
    var index = members.count
    if relationship.isOrdered, (try? readPositions(referrer, relationship, state)) != nil {
      let stored = state.positions.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
      let before = stored.prefix { $0 != key }.last(where: Set(members).contains)
      index = before.flatMap(members.firstIndex).map { $0 + 1 } ?? 0
    }
    state.keys?.insert(key, at: index)
  }
}

extension ManagedObject {
  /// Deletes the object, as ``ManagedObjectContext/delete(_:)`` does. Does nothing if the object's context is gone.
  public final func delete() {
    managedObjectContext?.delete(self)
  }
}
