// Deletions that a merge policy takes back, with what they did to other objects.
extension ManagedObjectContext {
  /// Takes the deletion of an object back, with what its rules did to others: references and pairs that they cleared.
  func takeBackDeletion(of object: ManagedObject) {
    object.flags.remove(.deleted)
    for case let relationship? in object.scope.plan.relationships {
      guard let inverse = inverse(of: relationship) else { continue }
      let root = model.entities[relationship.destination].root
      switch relationship.storage {
      case .reference where relationship.isSymmetric: break
      case .reference:
        let key = object.referenceKey(relationship.slot)
        // What is not in memory has nothing to be told. One that is gone may have a row again, and none must become a
        // changed object.
        guard key != 0, registered(key, root: root) != nil, let other = holder(key, relationship) else {
          continue
        }
        other.willChange(inverse.slot)
        if inverse.isToMany {
          takeBackRemoval(of: object.key, from: other, inverse)
        } else {
          other.requireExtras().partners[inverse.slot] = object.key
        }
        other.noteTouch(inverse.slot)
      case .join:
        // Those that had pairs with it: the object itself has read its relationships anew by now.
        for other in pending where other.scope.plan.root == root && other !== object {
          guard let state = other.extras?.toManyState(inverse.slot), state.removed.contains(object.key) else {
            continue
          }
          if other.flags.contains(.deleted) {
            // The rule of its own deletion is about the object again.
            state.forgetChange(of: object.key)
            continue
          }
          other.willChange(inverse.slot)
          takeBackRemoval(of: object.key, from: other, inverse)
          other.noteTouch(inverse.slot)
        }
      case .inverseReference, .referencesOfOthers: break
      }
      guard !inverse.isToMany else { continue }
      for other in pending where other.scope.plan.root == root && !other.flags.contains(.deleted) {
        guard let old = other.extras?.old.first(where: { $0.slot == inverse.slot })?.value,
          old == .int(object.key), other.referenceKey(inverse.slot) == 0
        else { continue }
        setReference(of: other, inverse, to: object)
        forgetEqualChanges(of: other)
        // The store has it where it was.
        object.extras?.toManyState(relationship.slot)?.forgetChange(of: other.key)
      }
      findReferrersAgain(of: object, relationship)
    }
    dropCaches()
    noteLoose(to: [object.scope.plan.root])
    dropContestedChanges(of: object)
  }

  /// Lets an object whose deletion is taken back find those again that refer to it: their own deletions may have been taken
  /// back before, when the object was still deleted.
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

  /// Puts an object back into a to-many relationship out of which its deletion has taken it, at the place that it has
  /// in the store.
  private func takeBackRemoval(
    of key: ObjectKey, from holder: ManagedObject, _ relationship: RelationshipPlan
  ) {
    let state = holder.toManyState(relationship.slot)
    state.cache = nil
    let wasRemoved = state.removed.remove(key)
    if !state.isChanged { return state.forget() }
    guard let members = state.keys?.keys, !members.contains(key) else { return }
    // Others have brought it here since this was read.
    guard wasRemoved else { return state.add(key) }
    var place = members.count
    if relationship.isOrdered, (try? readPositions(holder, relationship, state)) != nil {
      let stored = state.positions.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
      let before = stored.prefix { $0 != key }.last(where: Set(members).contains)
      place = before.flatMap(members.firstIndex).map { $0 + 1 } ?? 0
    }
    state.keys?.insert(key, at: place)
  }
}
