// To-many relationships: how they are changed, and the other side with them.
extension ManagedObjectContext {
  /// Adds an object to a to-many relationship, at an index of an ordered one. What has not been loaded is
  /// not, unless an index asks for it.
  func add(
    _ member: ManagedObject, to object: ManagedObject, _ relationship: RelationshipPlan, at index: Int?
  ) {
    let state = object.toManyState(relationship.slot)
    if index != nil, relationship.isOrdered, state.keys == nil { load(object, relationship, state) }
    switch relationship.storage {
    case .join:
      let isNew: Bool
      if state.keys != nil {
        isNew = state.keys?.contains(member.key) == false
      } else {
        isNew = !state.added.contains(member.key)
      }
      if isNew {
        if state.isOutdated { settleOutdated(member, in: state, of: object, relationship) }
        willRelate(object, relationship, member)
        state.add(member.key)
        object.noteTouch(relationship.slot)
        if let inverse = inverse(of: relationship), !(relationship.isSymmetric && member === object) {
          let other = member.toManyState(inverse.slot)
          if other.keys == nil || other.keys?.contains(object.key) == false {
            if other.isOutdated { settleOutdated(object, in: other, of: member, inverse) }
            member.willChange(inverse.slot)
            other.add(object.key)
            member.noteTouch(inverse.slot)
          }
        }
      }
    case .referencesOfOthers, .reference, .inverseReference:
      if let inverse = inverse(of: relationship) { setReference(of: member, inverse, to: object) }
    }
    guard let index, relationship.isOrdered else { return }
    // What an undo manager notes of the other side may have had this side read again.
    if state.keys == nil { load(object, relationship, state) }
    if var keys = state.keys {
      // The index is one among the objects that can be seen: deleted ones have a key in the list until the save.
      let others = objects(of: object, relationship).filter { $0 !== member }
      keys.remove(member.key)
      let place = index < others.count ? keys.keys.firstIndex(of: others[max(0, index)].key) : nil
      keys.insert(member.key, at: place ?? keys.count)
      setOrder(of: object, relationship, to: keys.keys)
    }
  }

  func remove(_ member: ManagedObject, from object: ManagedObject, _ relationship: RelationshipPlan) {
    switch relationship.storage {
    case .join:
      let state = object.toManyState(relationship.slot)
      settle(member, in: state, of: object, relationship)
      if state.keys != nil, state.keys?.contains(member.key) == false { return }
      willRelate(object, relationship, member)
      state.remove(member.key)
      object.noteTouch(relationship.slot)
      if let inverse = inverse(of: relationship), !(relationship.isSymmetric && member === object) {
        let other = member.toManyState(inverse.slot)
        settle(object, in: other, of: member, inverse)
        member.willChange(inverse.slot)
        other.remove(object.key)
        member.noteTouch(inverse.slot)
      }
    case .referencesOfOthers, .reference, .inverseReference:
      guard let inverse = inverse(of: relationship) else { return }
      member._willRead()
      if member.referenceKey(inverse.slot) == object.key { setReference(of: member, inverse, to: nil) }
    }
  }

  /// Finds out whether others have made the change of a pair too that is about to be taken back. If they have not, the two
  /// changes come to none, and the save takes nothing away that others have added since.
  @inline(__always) private func settle(
    _ member: ManagedObject, in state: ToManyState, of object: ManagedObject, _ relationship: RelationshipPlan
  ) {
    if state.keys == nil {
      if state.added.contains(member.key) { load(object, relationship, state) }
    } else if state.isOutdated {
      settleOutdated(member, in: state, of: object, relationship)
    }
  }

  /// The same for an ordered relationship, which is not read again before the save.
  private func settleOutdated(
    _ member: ManagedObject, in state: ToManyState, of object: ManagedObject, _ relationship: RelationshipPlan
  ) {
    let isAdded = state.added.contains(member.key)
    guard isAdded || state.removed.contains(member.key) else { return }
    if hasPairRow(object, relationship, member) == isAdded { state.share(member.key) }
  }

  /// Called before a pair comes or goes.
  @inline(__always) private func willRelate(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) {
    object.willChange(relationship.slot)
    guard currentUndoManager != nil else { return }
    noteUndo(object, relationship.slot)
    if let inverse = relationship.inverseSlot { noteUndo(member, inverse) }
    noteUndo(object, relationship, member)
  }

  /// Sets the order of an ordered relationship's objects, which are all in it.
  func setOrder(of object: ManagedObject, _ relationship: RelationshipPlan, to keys: [ObjectKey]) {
    let state = object.toManyState(relationship.slot)
    guard state.keys?.keys != keys else { return }
    if currentUndoManager != nil { noteUndo(object, relationship.slot) }
    object.willChange(relationship.slot)
    var seen: Set<ObjectKey> = []
    state.keys = KeyList(keys.filter { seen.insert($0).inserted })
    state.cache = nil
    state.isOrderChanged = true
    object.noteTouch(relationship.slot)
  }
}
