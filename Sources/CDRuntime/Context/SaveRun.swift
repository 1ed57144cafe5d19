#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A save to several stores that has not reached all of them.
struct PartialSave {
  let written: [any AttachedStore]
  let reason: StoreError
}

/// One save's transaction: deletes, updates, inserts, pairs, positions, history.
///
/// Unique indexes are checked by SQLite at each statement, so that the order matters: rows that go make room
/// first. Updates that stand in each other's way are tried again when others have moved, and where they stand
/// in a circle their unique columns get passing values.
struct SaveRun {
  let context: ManagedObjectContext
  let session: any StoreWriteSession
  let plan: SavePlan
  /// The context's count of changes when the plan was made.
  let changeCount: Int
  /// The history's rows of this save.
  var saves: [(store: any AttachedStore, id: Int64)] = []
  /// The objects whose rows have been updated. They are added while rows are written, for what an object has changed is
  /// in the processor's caches then.
  var updated = ObjectGroups()
  /// What the rows of a save to several stores have in common.
  var saveID: UUID?
  var conflicts: [SaveConflict] = []
  /// The rows that have the values of refused objects, for merge policies: what there was at each refusal.
  var obstacles: [UniqueObstacle] = []
  /// The objects whose rows `unique:` lists refuse, in the order of the refusals.
  var refused: [ManagedObject] = []
  /// The objects with the same values; thrown where there are no conflicts.
  var equals: [UniquenessConflict] = []
  /// The positions that have been written, for their relationships to know once they are there to stay.
  var positions: [(state: ToManyState, changes: [(key: ObjectKey, position: Int64)])] = []
  /// The stores that the session has open.
  let stores: StoreSet
  /// Those whose rows are written.
  let touched: [any AttachedStore]
  /// The large values; nil where the model or the store has none.
  let external: ExternalValues?
  var model: ModelPlan { context.model }

  /// - Throws: ``StoreError`` where a large value cannot be written.
  init(
    context: ManagedObjectContext, session: any StoreWriteSession, plan: SavePlan, changeCount: Int
  ) throws {
    self.context = context
    self.session = session
    self.plan = plan
    self.changeCount = changeCount
    stores = session.reader.stores
    touched = try plan.stores(among: stores)
    for store in touched {
      try store.checkIdentity()
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
    }
    external =
      context.model.hasExternalSlots
      ? try ExternalValues(
        of: plan, session: session, importTarget: context.importTarget) : nil
  }

  /// Writes everything.
  ///
  /// - Returns: What has been written where the files of several stores have not all been; nil for everything.
  /// - Throws: ``SaveError`` or ``StoreError``; nothing has been written then.
  mutating func write() throws -> PartialSave? {
    try session.begin()
    do {
      for object in plan.deleted { try delete(object) }
      try update()
      for object in plan.inserted { try insert(object) }
      if !refused.isEmpty { try findEquals() }
      guard conflicts.isEmpty else { throw SaveError.conflict(conflicts) }
      if let error = notUnique() { throw error }
      for object in plan.related { try writePairs(of: object) }
      // After all pairs, for the other side may write them.
      for object in plan.related { try writePositions(of: object) }
      if context.importTarget == nil { try writeHistory() }
      try external?.keep()
      if let partial = try commit() {
        external?.discard(exceptIn: Set(partial.written.map(\.place)))
        return partial
      }
      for (state, changes) in positions {
        for change in changes { state.positions[change.key] = change.position }
      }
      return nil
    } catch {
      session.rollback()
      external?.discard()
      throw error
    }
  }

  private mutating func commit() throws -> PartialSave? {
    do {
      try session.commit(changed: touched) {
        // Values are encoded, and formats write, by code of the app's.
        guard context.changeCount == changeCount else { throw SaveError.changedWhileWriting }
      }
      return nil
    } catch is ReferenceViolation {
      conflicts = try conflictsOfReferrers()
      guard conflicts.isEmpty else { throw SaveError.conflict(conflicts) }
      throw SaveError.danglingReferences(try danglingObjects())
    } catch let error as StoreError where touched.count > 1 {
      // SQLite commits one file after another, and cannot take back what one has where the next one fails.
      session.rollback()
      saves = saves.filter { isWritten($0.id, in: $0.store) }
      if saves.isEmpty { throw error }
      return PartialSave(written: saves.map(\.store), reason: error)
    }
  }

  /// The objects whose rows, or whose pairs, lead to rows that are not there: a hundred at the most.
  private func danglingObjects() throws -> [ManagedObjectID] {
    var result: [ManagedObjectID] = []
    func add(_ key: ObjectKey, _ entity: EntityPlan, _ store: any AttachedStore) {
      let id =
        context.registered(key, root: entity.root)?.objectID
        ?? ManagedObjectID(storeID: store.storeID, entityName: entity.name, key: key)
      if result.count < 100, !result.contains(id) { result.append(id) }
    }
    for store in touched {
      for row in try session.danglingRows(in: store) { add(row.key, row.root, store) }
    }
    // Rows of pairs have no number of their own by which SQLite could name them.
    var lost: [(object: ManagedObject, store: any AttachedStore)] = []
    for object in plan.related {
      guard let store = stores.store(of: object.scope.plan) else { continue }
      for (slot, state) in object.extras?.toMany ?? [] where !state.added.isEmpty {
        guard let relationship = object.scope.plan.relationships[slot], case .join = relationship.storage
        else {
          continue
        }
        let destination = model.entities[relationship.destination]
        for key in state.added.keys where try !session.reader.hasRow(key, of: destination) {
          add(object.key, object.scope.plan, store)
        }
        if try !session.reader.hasRow(object.key, of: object.scope.plan) {
          lost.append((object, store))
        }
      }
    }
    // Where all others have let go of it, it is the object without a row itself that has the pairs.
    if result.isEmpty { for (object, store) in lost { add(object.key, object.scope.plan, store) } }
    return result
  }
}
