// Deletion: rules apply at once, and only `deny` waits for the save.
extension ManagedObjectContext {
  /// Deletes an object. Its relationships' delete rules apply at once; a rule of `deny` is checked at the save.
  ///
  /// An object of another context, or one whose row is gone, is left alone.
  public func delete(_ object: ManagedObject) {
    guard object.scope.context === self else { return }
    deletionCount += 1
    // A list in place of recursion: a chain of cascades may be long.
    var waiting = [object]
    var roots: Set<Int> = []
    let reverts = revertCount
    while let next = waiting.popLast() {
      delete(next, &waiting)
      // A rollback in a hook takes back the whole deletion, the part that was to come included.
      if revertCount != reverts { break }
      if !looseFollowers.isEmpty { roots.insert(next.scope.plan.root) }
    }
    // Nobody tells the objects that are related by one side alone, or by a rule that leaves the others as they are.
    dropCaches()
    noteLoose(to: roots)
    if !notices.isEmpty { tellObservers() }
  }

  private func delete(_ object: ManagedObject, _ cascaded: inout [ManagedObject]) {
    guard !object.isDeleted else { return }
    object._willRead()
    guard !object.isInaccessible else { return }
    if let lifecycle = object.lifecycle {
      let reverts = revertCount
      running(.prepareForDeletion) { lifecycle.prepareForDeletion() }
      // It may have deleted the object itself, or taken it out of the context.
      guard revertCount == reverts, !object.isDeleted, !object.isInaccessible else { return }
    }
    if currentUndoManager != nil { noteUndoOfDeletion(object) }
    for case let relationship? in object.scope.plan.relationships {
      switch relationship.description.deleteRule {
      // What was never saved has no row that could be refused or left. Nothing may lead to it from here on.
      case .noAction, .deny: if object.flags.contains(.inserted) { separate(object, relationship) }
      case .cascade:
        if relationship.isToMany {
          cascaded.append(contentsOf: object.relatedObjects(relationship))
        } else if let related = object.relatedObject(relationship) {
          cascaded.append(related)
        }
        separate(object, relationship)
      case .nullify: separate(object, relationship)
      }
    }
    object.mark(.deleted, in: self)
  }

  /// Takes a deleted object out of the other side of a relationship.
  private func separate(_ object: ManagedObject, _ relationship: RelationshipPlan) {
    guard let slot = relationship.inverseSlot,
      let inverse = model.entities[relationship.destination].relationships[slot]
    else { return }
    switch relationship.storage {
    case .reference:
      let key = object.referenceKey(relationship.slot)
      if relationship.isSymmetric {
        // The other one refers to this one in its own row.
        guard key != 0, let other = self.object(key, relationship), other !== object else { return }
        setReference(of: other, inverse, to: nil)
        return
      }
      guard key != 0 else { return }
      let known = registered(key, root: model.entities[relationship.destination].root)
      // What is not in memory finds the deleted object missing when it is loaded. The save has to check it all the same
      // where it may not be without.
      guard let other = known ?? (inverse.hasMinimum ? self.object(key, relationship) : nil) else { return }
      // A child's fault may be of an object that its parent has deleted.
      if parent != nil { other._willRead() }
      guard other.flags.isDisjoint(with: [.gone, .inaccessible]) else { return }
      other.willChange(slot)
      if inverse.isToMany {
        other.toManyState(slot).remove(object.key)
      } else {
        other.requireExtras().partners[slot] = 0
      }
      other.noteTouch(slot)
    case .inverseReference:
      if let other = partner(of: object, relationship) { setReference(of: other, inverse, to: nil) }
    case .referencesOfOthers:
      for other in objects(of: object, relationship) { setReference(of: other, inverse, to: nil) }
    case .join:
      for other in objects(of: object, relationship) where other !== object {
        other.willChange(slot)
        other.toManyState(slot).remove(object.key)
        other.noteTouch(slot)
      }
    }
  }
}
