// Stores that were removed from the coordinator.
extension ManagedObjectContext {
  /// Drops stores that were removed since the last call. Does nothing while a snapshot is held or rows are being
  /// read, which ends soon.
  @inline(__always) func noticeRemovals() {
    if storeReader.canLeaveStores, storeReader.hasRemovedStores { leave(for: engine.stores) }
  }

  /// Continues with the remaining stores. The objects of the other stores become inaccessible, including changed and
  /// new objects. Their changes stay, so that the save refuses them.
  @_optimize(none)
  func leave(for remaining: StoreSet) {
    let former = storeReader.leave(for: remaining)
    registry.forgetLastScopes()
    var roots: Set<Int> = []
    for plan in model.entities where plan.root == plan.index {
      guard former.store(of: plan) != nil, remaining.store(of: plan) == nil else { continue }
      roots.insert(plan.index)
      registry.removeAll(ofRoot: plan.index) { object in
        object.flags.insert(.inaccessible)
        noteChange(of: object)
      }
      observe(.storeRemoved, plan.name)
    }
    registry.dropCaches()
    forgetRelationships(to: roots, lost: roots)
  }

  /// Whether an object's store was removed.
  func isOfRemovedStore(_ object: ManagedObject) -> Bool {
    storeReader.stores.removals > 0 && object.scope.plan.storeIndex != nil
      && !storeReader.hasStore(of: object.scope.plan)
  }

  /// Ends the snapshot and drops removed stores.
  func noticeRemovalsNow() {
    guard storeReader.hasRemovedStores else { return }
    endReading()
    noticeRemovals()
    notifyObservers()
  }
}
