#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ManagedObjectContext {
  /// Writes all changes to the store in one transaction.
  ///
  /// An initialiser of a generated class cannot throw. If it cannot insert its object, because the model does not
  /// have the entity or no key can be reserved, it returns an inaccessible object that no save writes. The first save
  /// afterwards throws the error once; the next one saves the rest. ``insert(entityNamed:)`` throws at once instead.
  ///
  /// A deletion needs the values of its object, and a relationship that is set as a whole needs its former objects. If the
  /// store cannot be read, nothing is changed, and the first save afterwards throws the error in the same way.
  /// The save itself reads what the model's rules and derived attributes need. It writes nothing if the store cannot be read.
  ///
  /// Properties that were set on deleted objects are lost. The first save afterwards throws
  /// ``SaveError/changesLost(_:)`` once, and the next one saves the rest.
  ///
  /// If another context or process has changed the same rows, ``mergePolicy`` decides about the conflict. By default,
  /// the save throws an error.
  ///
  /// A child's save validates its changes and gives them to the parent, without writing anything: see
  /// ``init(parent:)``. A stored value that both the child and the parent have changed since the child read it is a
  /// conflict. It is also a conflict if one side has deleted an object that the other has changed. Values that only
  /// one side has changed are combined. Unique values are checked when the store is written. If the parent has to read
  /// objects and the store cannot be read, the child's save throws the error, and neither of the two has changed.
  ///
  /// The context's hooks cannot call this method: it throws ``SaveError/nested(in:)`` in them. Only
  /// ``ManagedObjectLifecycle/didSave()`` can call it.
  ///
  /// - Throws: ``SaveError`` with every mistake, or ``StoreError``. Nothing has been written then, and the changes
  ///   are still in the context; conflicts that a policy has resolved before stay resolved. The exception is
  ///   ``SaveError/partlySaved(written:reason:)``: some of several stores have been written. A save to a server throws
  ///   `CancellationError` if the task is cancelled while the save waits, and has written nothing then.
  public func save() throws {
    try activity.checkMaySave()
    if let error = pendingChanges.takeFailures() { throw error }
    let lost = pendingChanges.takeLostChanges()
    if !lost.isEmpty { throw SaveError.changesLost(lost) }
    noticeRemovalsNow()
    defer { undoManager?.endEvent() }
    guard hasChanges else { return finishUnwritten() }
    // Before the save begins, because observers may change objects.
    notifyObservers()
    defer { notifyObservers() }
    let signpost = Signpost("save")
    defer { signpost.end() }
    try activity.save { try saveChanges() }
  }

  private func saveChanges() throws {
    var hooks = SaveHooks()
    try prepareToWrite(&hooks)
    // Hooks may have taken all changes back.
    guard hasChanges else { return finishUnwritten() }
    if let parent { return try save(to: parent, &hooks) }
    if let importTarget {
      let plan = SavePlan(pending)
      endSnapshot()
      try importTarget.write(plan, of: self)
      return finish(plan)
    }
    guard let plan = try writeDerivingAnew(&hooks) else {
      return finishUnwritten(hasResolved: hooks.hasResolved)
    }
    let saved = savedObjects(plan)
    let changes = changeNotices.isObserved ? self.changes(of: plan) : nil
    finish(plan)
    if hooks.hasResolved, !children.isEmpty { invalidateChildren() }
    // Before `didSave()`, which may save again, and before controllers of children fetch, which may find later saves:
    // observers learn of changes in the order in which they were saved.
    if let changes { changeNotices.publish(changes) }
    if hooks.hasResolved, !children.isEmpty { publishUnwrittenInChildren() }
    callDidSave(saved)
  }

  /// How often a save is tried if others save what its derived attributes are computed from. Before each new attempt,
  /// another context has saved.
  private static let maximumDerivations = 1000

  /// Writes the pending changes. If derived attributes were computed from objects that others have changed meanwhile, the
  /// context learns of these changes, computes the attributes anew, and writes again. It does the same after conflicts of
  /// rows in which only derived attributes have changed here, because nothing needs to be decided.
  ///
  /// - Returns: Nil if no changes are left.
  @_optimize(none)
  private func writeDerivingAnew(_ hooks: inout SaveHooks) throws -> SavePlan? {
    for attempt in 1... {
      do {
        return mergePolicy.isError
          ? try write() : try withoutUndo { try writeResolvingConflicts(&hooks) }
      } catch let outdated as OutdatedDerivations {
        guard attempt < Self.maximumDerivations else { throw StoreError.busy(outdated.stores.map(\.url)) }
        endSnapshot()
        try catchUp(reader(), with: outdated.stores)
      } catch SaveError.conflict(let conflicts)
        where mergePolicy.isError && attempt < Self.maximumDerivations && areOnlyOfDerivedValues(conflicts)
      {
        withoutUndo { readAgain(conflicts) }
      }
      pendingChanges.removeGone()
      guard hasChanges else { break }
      hooks.validateAnew()
      try prepareToWrite(&hooks)
      guard hasChanges else { break }
    }
    return nil
  }

  /// Calls ``ManagedObjectLifecycle/didSave()``, which may change objects and save them.
  func callDidSave(_ objects: [any ManagedObjectLifecycle]) {
    activity.didWrite()
    for object in objects { object.didSave() }
    if parent == nil { engine.watch.announce() }
  }

  /// Writes the pending changes.
  ///
  /// - Parameter met: Set to the conflicts that the save has met, if it throws.
  func write(_ encountered: inout EncounteredConflicts) throws -> SavePlan {
    let plan = SavePlan(pending)
    // Reads end before the write begins, so that no read continues on the old state afterwards.
    endSnapshot()
    var partial: PartialSave?
    let mark = pendingChanges.changeCount
    // A save that writes the rest of an earlier one has the mark of that one.
    let id = UUID.random()
    let sharedID = historyPosition.unfinished?.id ?? id
    try engine.save { session in
      let run = try SaveRun(
        context: self, session: session, plan: plan, id: id, sharedID: sharedID, changeCount: mark)
      do {
        partial = try run.write()
      } catch {
        encountered = EncounteredConflicts(all: run.conflicts + run.refusals, notUnique: run.notUnique())
        if !encountered.all.isEmpty { StoreLog.report(.conflicts(encountered.all.map(\.objectID))) }
        throw error
      }
      historyPosition.noteOwnSaves(
        run.saves, unfinished: partial.map { (sharedID, Set($0.written.map(\.index))) })
    }
    if let partial { try finish(plan, partial) }
    return plan
  }

  private func write() throws -> SavePlan {
    var encountered = EncounteredConflicts()
    return try write(&encountered)
  }

  /// Ends a save that has reached some of several stores: their objects are saved, the others are not.
  @_optimize(none)
  private func finish(_ plan: SavePlan, _ partial: PartialSave) throws {
    let storeIndices = Set(partial.written.map(\.index))
    var own = SavePlan(pending.filter { $0.scope.plan.storeIndex.map(storeIndices.contains) ?? false })
    own.versionStamp = plan.versionStamp
    let saved = savedObjects(own)
    let changes = changeNotices.isObserved ? self.changes(of: own) : nil
    finish(own, in: storeIndices)
    // The rows of either side may store an order, so relationships are read again.
    let roots = Set(model.entities.map(\.root))
    forgetRelationships(to: roots, lost: roots)
    if let changes { changeNotices.publish(changes) }
    callDidSave(saved)
    throw SaveError.partlySaved(written: partial.written.map(\.url), reason: partial.reason)
  }

  /// - Parameter storeIndices: The indices of the stores that have been written; nil for all.
  private func finish(_ plan: SavePlan, in storeIndices: Set<Int>? = nil) {
    for object in plan.deleted { end(object) }
    let hasChildren = !children.isEmpty
    for object in plan.inserted {
      let former = object.version
      object.version = object.nextVersion(plan.versionStamp)
      if hasChildren { noteVersionInChildren(of: object, former: former) }
    }
    for object in plan.updated {
      let former = object.version
      object.version += 1
      if hasChildren { noteVersionInChildren(of: object, former: former) }
    }
    var rest: [ManagedObject] = []
    for object in pending where !object.flags.contains(.deletionSaved) {
      if let storeIndices, object.scope.plan.storeIndex.map(storeIndices.contains) != true {
        rest.append(object)
        continue
      }
      if object.flags.isSuperset(of: [.inserted, .deleted]) { end(object) }
      let unwritten = storeIndices.map { unwrittenRelationships(of: object, writtenStores: $0) } ?? SlotSet()
      forgetSaved(object, except: unwritten)
      if !unwritten.isEmpty { rest.append(object) }
      applyExternalChanges(object)
      if !children.isEmpty { noteSaveInChildren(of: object) }
    }
    pendingChanges.keepOnly(rest)
    let left = Set(plan.deleted.filter { $0.scope.plan.leavesPairs }.map(\.scope.plan.root))
    if !left.isEmpty { forgetRelationships(to: left, lost: left) }
    undoManager?.noteSave()
    readContestedRelationships()
  }

  /// The changed relationships of an object whose rows are in stores that have not been written, although the object's own
  /// row is in a store that has been.
  @_optimize(none)
  private func unwrittenRelationships(of object: ManagedObject, writtenStores: Set<Int>) -> SlotSet {
    var slots = SlotSet()
    guard let extras = object.extras else { return slots }
    for case let relationship? in object.scope.plan.relationships {
      let slot = relationship.slot
      let isChanged =
        switch relationship.storage {
        case .reference: false
        case .inverseReference:
          // The changes of a new object are not recorded one by one.
          object.flags.contains(.inserted)
            ? extras.partners[slot] ?? 0 != 0 : extras.partners[slot] != nil && extras.changed.contains(slot)
        case .join, .referencesOfOthers: extras.toManyState(slot)?.isChanged == true
        }
      guard isChanged, let store = model.owner(ofRowsOf: relationship).storeIndex else { continue }
      if !writtenStores.contains(store) { slots.insert(slot) }
    }
    return slots
  }

  /// Forgets the changes of an object once the store has them.
  ///
  /// - Parameter unwritten: Relationships whose changes another store is yet to get.
  private func forgetSaved(_ object: ManagedObject, except unwritten: SlotSet = SlotSet()) {
    object.flags.subtract([.inserted, .draft, .tracked, .reinserted, .updated, .changedOutsideRow, .listed])
    guard let extras = object.extras else { return }
    forgetChangesKeepingValues(of: extras)
    for entry in extras.toMany where !unwritten.contains(entry.slot) { entry.state.didSave() }
    if extras.hasOutdatedPartners {
      extras.partners = extras.partners.filter { unwritten.contains($0.key) }
      extras.hasOutdatedPartners = false
    }
    if unwritten.isEmpty { return }
    extras.changed = unwritten
    object.flags.formUnion([.changedOutsideRow, .listed])
  }

  /// Ends an object whose deletion has been saved, and forgets its changes and relationships. Without an undo manager, the
  /// identity map forgets it too. An undo, or a row that another context inserts again, may bring it back.
  private func end(_ object: ManagedObject) {
    leaveLoadedRelationships(of: object)
    // References to an object that an undo may bring back must find it deleted.
    if undoManager == nil { registry.remove(object) }
    object.flags.become([.deletionSaved, .inaccessible])
    guard let extras = object.extras else { return }
    forgetChangesKeepingValues(of: extras)
    extras.toMany.removeAll()
    extras.partners.removeAll()
  }

  /// Ends an object that an undo has brought back and that was deleted again, because another context has inserted its row.
  /// From now on another object stands for the row.
  func endDiscarded(_ object: ManagedObject) {
    end(object)
    pendingChanges.remove(object)
  }

  /// Removes a deleted object from the relationships of objects that it still refers to: a `deny` or `noAction` rule
  /// has kept the references until the save, or another context has deleted its row.
  func leaveLoadedRelationships(of object: ManagedObject) {
    for case let relationship? in object.scope.plan.relationships {
      guard case .reference = relationship.storage, let inverse = relationship.inverseSlot else { continue }
      let key = object.referenceKey(relationship.slot)
      guard key != 0,
        let referent = registered(key, root: model.entities[relationship.destination].root)
      else { continue }
      if referent.extras?.partners[inverse] == object.key {
        noteChange(of: referent) { $0.number == inverse }
        referent.extras?.partners[inverse] = nil
      }
      guard let state = referent.extras?.toManyState(inverse), state.keys?.contains(object.key) == true else {
        continue
      }
      noteChange(of: referent) { $0.number == inverse }
      state.keys?.remove(object.key)
      state.forgetChange(of: object.key)
      state.cache = nil
    }
  }

  /// Ends a save that has nothing to write, and the objects that were inserted and deleted again.
  ///
  /// - Parameter hasResolved: Whether conflicts have been resolved, which may have taken changes back.
  private func finishUnwritten(hasResolved: Bool = false) {
    // This includes references to objects that were never saved.
    forgetSetBackValues()
    let isAny = !pending.isEmpty
    for object in pending {
      forgetDerivedChanges(of: object)
      forgetSaved(object)
      if object.flags.contains(.deleted) { end(object) }
      applyExternalChanges(object)
    }
    pendingChanges.keepOnly([])
    readContestedRelationships()
    // The objects follow the parent or the store again, and the children's objects follow them.
    if hasResolved || isAny && parent != nil, !children.isEmpty {
      invalidateChildren()
      publishUnwrittenInChildren()
    }
    if hasResolved || isAny { changeNotices.publishUnwritten() }
  }
}

/// The objects that a save writes.
///
/// They are in the order of rows, table by table: SQLite then visits its pages once, whatever the order of the
/// changes, and one statement serves many rows in succession.
struct SavePlan {
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  /// Objects with changed to-many relationships.
  var related: [ManagedObject] = []
  /// The base of the versions of rows that are inserted again.
  var versionStamp = UInt32.random(in: 65_536 ... .max - 65_536)

  init(_ pending: [ManagedObject]) {
    for object in pending {
      let flags = object.flags
      if flags.contains(.deleted) {
        if !flags.contains(.inserted) { deleted.append(object) }
        continue
      }
      if flags.contains(.inserted) {
        inserted.append(object)
      } else if flags.contains(.updated) {
        updated.append(object)
      }
      if object.extras?.toMany.contains(where: { $0.state.isChanged }) == true { related.append(object) }
    }
    inserted = Self.inOrderOfRows(inserted)
    updated = Self.inOrderOfRows(updated)
    deleted = Self.inOrderOfRows(deleted)
  }

  /// Returns the stores whose rows the save writes.
  ///
  /// - Parameter written: The indexes of the stores that an unfinished save has reached. They have the rows of objects of
  ///   which only relationships are left to be saved.
  /// - Throws: ``StoreError/noStore(entity:)`` if the store of an object was removed while the save was being
  ///   prepared.
  func stores(
    among stores: StoreSet, _ model: ModelPlan, written: Set<Int>
  ) throws -> [any AttachedStore] {
    if stores.all.count == 1, stores.removals == 0 { return stores.all }
    var storeIndices: Set<Int> = []
    func add(_ object: ManagedObject) throws {
      guard let store = stores.store(of: object.scope.plan) else {
        throw StoreError.noStore(entity: object.scope.plan.name)
      }
      storeIndices.insert(store.index)
    }
    for object in inserted + updated + deleted { try add(object) }
    for object in related {
      if object.scope.plan.storeIndex.map(written.contains) != true { try add(object) }
      for (slot, state) in object.extras?.toMany ?? [] where state.isChanged {
        guard let relationship = object.scope.plan.relationships[slot] else { continue }
        // The rows of the other side may have the pairs or the positions. If they have the references, they are changed objects.
        if case .referencesOfOthers = relationship.storage, !relationship.isOrdered || !state.isOrderChanged {
          continue
        }
        if let store = stores.store(of: model.owner(ofRowsOf: relationship)) {
          storeIndices.insert(store.index)
        }
      }
    }
    return stores.all.filter { storeIndices.contains($0.index) }
  }

  @_optimize(speed)
  private static func inOrderOfRows(_ objects: [ManagedObject]) -> [ManagedObject] {
    struct Row {
      let table: Int
      let key: ObjectKey
      let index: Int

      static func precedes(_ left: Row, _ right: Row) -> Bool {
        (left.table, left.key) < (right.table, right.key)
      }
    }
    let rows = objects.enumerated().map { index, object in
      Row(table: object.scope.plan.root, key: object.key, index: index)
    }
    if !zip(rows, rows.dropFirst()).contains(where: { Row.precedes($1, $0) }) { return objects }
    return rows.sorted(by: Row.precedes).map { objects[$0.index] }
  }
}
