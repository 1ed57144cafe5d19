// Stores that the coordinator has let go of.
extension ManagedObjectContext {
  /// Lets go of what was removed since the context last looked. While a state of the stores is held, or rows are being
  /// read, nothing changes: the end of that is soon.
  @inline(__always) func noticeRemovals() {
    if engine.removalCount != stores.removals, !reading.isOpen, runningReads == 0 {
      leave(for: engine.stores)
    }
  }

  /// Goes on with the stores that are left. The objects of the others are inaccessible, changed ones and new ones
  /// too; their changes stay, for the save to refuse.
  func leave(for remaining: StoreSet) {
    // What was asked by the session goes before it does.
    lastMatch = nil
    valueMatches.removeAll()
    if let session { engine.giveBack(session) }
    session = nil
    let former = stores
    stores = remaining
    reading.isEnabled = !remaining.isInMemory && parent == nil
    insertionScope = nil
    lookupScope = nil
    var roots: Set<Int> = []
    for plan in model.entities where plan.root == plan.index {
      guard former.store(of: plan) != nil, remaining.store(of: plan) == nil, let map = maps[plan.index] else {
        continue
      }
      roots.insert(plan.index)
      keys[plan.index] = 0..<0
      for object in map.objects {
        object.flags.insert(.inaccessible)
        noteChange(of: object)
      }
      map.removeAll()
      observe(ObservedError(reason: .storeRemoved, entity: plan.name, property: nil, objectID: nil))
    }
    dropCaches()
    forgetRelationships(to: roots, lost: roots)
  }

  /// Whether an object is of a store that was removed.
  func isOfRemovedStore(_ object: ManagedObject) -> Bool {
    stores.removals > 0 && object.scope.plan.storeIndex != nil && stores.store(of: object.scope.plan) == nil
  }

  /// Lets go of the state that is read from and of what was removed.
  func noticeRemovalsNow() {
    guard engine.removalCount != stores.removals else { return }
    endReading()
    noticeRemovals()
    tellObservers()
  }
}
