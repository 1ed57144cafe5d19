// Stores that were removed from the coordinator.
extension ManagedObjectContext {
  /// Drops stores that were removed since the last call. Does nothing while a snapshot is held or rows are being
  /// read, which ends soon.
  @inline(__always) func noticeRemovals() {
    if engine.removalCount != stores.removals, !reading.isOpen, runningReads == 0 {
      leave(for: engine.stores)
    }
  }

  /// Continues with the remaining stores. The objects of the other stores become inaccessible, including changed and
  /// new objects. Their changes stay, so that the save refuses them.
  @_optimize(none)
  func leave(for remaining: StoreSet) {
    // Queries of the session are released before the session.
    lastMatch = nil
    valueMatches.removeAll()
    if let session { engine.returnSession(session) }
    session = nil
    let former = stores
    stores = remaining
    reading.isEnabled = !remaining.isInMemory && parent == nil
    registry.forgetLastScopes()
    var roots: Set<Int> = []
    for plan in model.entities where plan.root == plan.index {
      guard former.store(of: plan) != nil, remaining.store(of: plan) == nil else { continue }
      roots.insert(plan.index)
      registry.removeAll(ofRoot: plan.index) { object in
        object.flags.insert(.inaccessible)
        noteChange(of: object)
      }
      observe(ObservedError(reason: .storeRemoved, entity: plan.name, property: nil, objectID: nil))
    }
    registry.dropCaches()
    forgetRelationships(to: roots, lost: roots)
  }

  /// Whether an object's store was removed.
  func isOfRemovedStore(_ object: ManagedObject) -> Bool {
    stores.removals > 0 && object.scope.plan.storeIndex != nil && stores.store(of: object.scope.plan) == nil
  }

  /// Ends the snapshot and drops removed stores.
  func noticeRemovalsNow() {
    guard engine.removalCount != stores.removals else { return }
    endReading()
    noticeRemovals()
    notifyObservers()
  }
}
