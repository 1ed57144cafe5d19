// Changes that other contexts and other processes have saved.
extension ManagedObjectContext {
  /// Updates the objects in memory to the changes that the stores' histories have of other contexts: objects whose
  /// rows were changed become faults, objects whose rows were deleted become inaccessible, and relationships are read
  /// again. Objects with unsaved changes keep their values until these changes end; their save detects conflicts.
  ///
  /// Called when a snapshot begins, and before a fetch without a snapshot.
  ///
  /// The session may do so with the next rows that it reads. It must not if there are unsaved changes: before a fetch reads
  /// rows, it compares the changed objects with its condition, and these may read others. Stores in files are used while
  /// the server of other stores is away, and so they do not wait for it: see ``catchUpWithServer(of:)``.
  func catchUp(_ session: any StoreSession) throws {
    // No other context writes to a store that a migration is creating.
    if importTarget != nil { return }
    if session.isRemote, pending.isEmpty && children.isEmpty || session.isPartlyRemote {
      let isDone = try session.whenRowsAreRead { [weak self, unowned session] newest in
        guard let self else { return }
        let position = historyPosition
        let known = newest.map { position.newestKnown(of: $0.store) }
        for (one, before) in zip(newest, known) {
          try catchUp(to: one.number, of: one.store, since: before, session)
        }
      }
      if isDone { return }
    }
    try catchUp(session, with: storeReader.stores.all)
  }

  /// Does the same at once, for some of the stores.
  func catchUp(_ session: any StoreSession, with stores: [any AttachedStore]) throws {
    for store in stores {
      let known = historyPosition.newestKnown(of: store)
      try catchUp(to: session.newestSave(of: store), of: store, since: known, session)
    }
  }

  /// - Parameters:
  ///   - newest: The number of the newest save. It is old if observers have been told of saves since it was asked for, and
  ///     have read or saved: of saves in another store, or of those that an earlier question has found.
  ///   - known: The newest save that the context knew when the number was asked for.
  private func catchUp(
    to newest: Int64, of store: any AttachedStore, since known: Int64?, _ session: any StoreSession
  ) throws {
    let isOld = historyPosition.newestKnown(of: store) != known
    let newest = try isOld ? session.newestSave(of: store) : newest
    try historyPosition.advance(to: newest, of: store) { seen in
      try apply(saves: seen, to: newest, of: store, session)
    }
  }

  /// Updates the objects in memory to the saves after a number.
  ///
  /// - Parameters:
  ///   - seen: The number; nil if the history lacks saves that this context has seen.
  ///   - newest: The number of the last save to apply. Without a snapshot, the history may have later ones by now.
  @_optimize(none)
  private func apply(
    saves seen: Int64?, to newest: Int64, of store: any AttachedStore, _ session: any StoreSession
  ) throws {
    var roots: Set<Int> = []
    var lost: Set<Int> = []
    // Root entities of objects that are read again although their rows have not been written.
    var referrers: Set<Int> = []
    var combined = changeNotices.isObserved || !children.isEmpty ? CombinedChanges() : nil
    @_optimize(none)
    func noteUnknownSaves() {
      let known = registeredObjects.filter { $0.scope.plan.storeIndex == store.index }
      for object in known {
        // A row that was gone may be there again, as the next read or the save finds out. It replaces values that were set
        // while it was gone.
        if !object.isPending || object.flags.contains(.rowDeletedElsewhere) {
          if object.flags.contains(.inaccessible) { pendingChanges.confirmLostChanges(of: object) }
          object.flags.subtract([.rowDeletedElsewhere, .inaccessible])
        }
        noteUpdate(of: object)
      }
      let stale = known.filter { !$0.isPending }
      combined?.append(ObjectChanges(refreshed: ManagedObjectIDs(stale.map(\.objectID))))
      roots.formUnion(model.entities.filter { $0.storeIndex == store.index }.map(\.root))
      lost = roots
    }
    if let seen {
      // No number follows the last one, which only another program can have written.
      var expected = seen &+ 1
      try session.forEachSave(of: store, after: seen) { id, text in
        if id > newest, expected > newest { return }
        // The history has been purged of saves that this context has not seen: any object may have changed.
        if id != expected { noteUnknownSaves() }
        expected = id &+ 1
        if id > newest { return }
        if historyPosition.takeOwnSave(id, of: store) { return }
        // A text that this release cannot read is skipped: the rows' versions protect the data.
        guard let json = try? JSONValue(parsing: text), case .object(let members) = json else { return }
        for member in members {
          guard let plan = model.entity(member.key) else { continue }
          roots.insert(plan.root)
          combined?.append(Self.changes(member, of: store))
          merge(HistoryText.ranges(member.value["updated"]), of: plan.root) { noteUpdate(of: $0) }
          let inserted = HistoryText.ranges(member.value["inserted"])
          noteReturn(to: inserted, of: plan.root)
          referrers.formUnion(forgetReferences(to: inserted, of: plan.root))
          let deleted = HistoryText.ranges(member.value["deleted"])
          if !deleted.isEmpty { lost.insert(plan.root) }
          merge(deleted, of: plan.root) { noteDeletion(of: $0) }
        }
      }
    } else {
      noteUnknownSaves()
    }
    let changes = combined?.all
    if !roots.isEmpty { forgetRelationships(to: roots, lost: lost) }
    if !children.isEmpty, !roots.isEmpty { invalidateChildren(of: roots.union(referrers)) }
    // Observers may fetch, which calls this method again.
    if let changes { publishWithChildren(changes) }
    notifyObserversUnlessReading()
  }

  /// The changes of an entity in another context's save.
  private static func changes(_ member: JSONValue.Member, of store: any AttachedStore) -> ObjectChanges {
    func ids(_ kind: String) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: [
          ManagedObjectIDs.Group(
            storeID: store.storeID, entityName: member.key, keys: HistoryText.ranges(member.value[kind]))
        ])
    }
    return ObjectChanges(inserted: ids("inserted"), deleted: ids("deleted"), refreshed: ids("updated"))
  }

  /// Handles an update of an object's row by another context.
  func noteUpdate(of object: ManagedObject) {
    forgetChangesNotToWrite(of: object)
    // The objects on the other side are not notified of pairs of a relationship without an inverse.
    if object.isPending, let extras = object.extras {
      forgetRelationships(extras, of: object) { !$0.hasInverse }
    }
    if !object.hasOwnChanges {
      object.becomeStale()
    } else if !object.flags.contains(.inserted) {
      object.flags.insert(.outdated)
      noteContestedReferences(of: object)
    }
  }

  /// Lets objects follow their rows again if their changes were set back after other contexts had changed the rows. They have
  /// the values of old rows, from which no attribute must be derived.
  func followRowsOfSetBackObjects() {
    var roots: Set<Int> = []
    for object in pending where !object.flags.isDisjoint(with: [.outdated, .rowDeletedElsewhere]) {
      forgetChangesNotToWrite(of: object)
      if object.hasOwnChanges { continue }
      roots.insert(object.scope.plan.root)
      if object.isPending, object.flags.contains(.outdated) {
        object.flags.remove(.outdated)
        object.becomeStale()
      } else {
        applyExternalChanges(object)
      }
    }
    readRelationshipsAgain(to: roots)
  }

  /// Forgets changes that were set back, and then derived values if these are the only changes left.
  private func forgetChangesNotToWrite(of object: ManagedObject) {
    forgetEqualChanges(of: object)
    forgetDerivedChanges(of: object)
  }

  /// Handles a deletion of an object's row by another context.
  func noteDeletion(of object: ManagedObject) {
    forgetChangesNotToWrite(of: object)
    if !object.isPending {
      removeVanished(object)
    } else if !object.flags.contains(.inserted) {
      object.flags.insert(.rowDeletedElsewhere)
      // Relationships are read again, and the store has no pairs of the object any more.
      pendingChanges.notePairsOfLostRow(of: object, knownPairs(of: object))
      noteContestedReferences(of: object)
    }
  }

  /// Records the partners that an object with changes refers to in one-to-one relationships that it has not changed,
  /// if another context has changed or deleted its row.
  func noteContestedReferences(of object: ManagedObject) {
    guard !object.flags.isDisjoint(with: [.outdated, .rowDeletedElsewhere]) else { return }
    for case let relationship? in object.scope.plan.relationships where relationship.isOneToOne {
      guard case .reference = relationship.storage, !relationship.isSymmetric,
        object.extras?.changed.contains(relationship.slot) != true
      else { continue }
      let key = object.referenceKey(relationship.slot)
      if key == 0 { continue }
      let partner = OneToOnePartner(relationship, of: object, to: key)
      pendingChanges.noteContestedReferrer(object.key, to: partner)
    }
  }

  /// Handles insertions of rows by other contexts. Some may be rows of objects with changes that had been deleted.
  func noteReturn(to ranges: [ClosedRange<ObjectKey>], of root: Int) {
    guard !ranges.isEmpty else { return }
    for object in pending {
      let isDiscarded = object.flags.isSuperset(of: [.inserted, .deleted])
      guard isDiscarded || object.flags.contains(.rowDeletedElsewhere), object.scope.plan.root == root,
        ranges.contains(where: { $0.contains(object.key) })
      else { continue }
      if isDiscarded {
        endDiscarded(object)
      } else {
        object.flags.subtract([.rowDeletedElsewhere, .inaccessible])
        noteUpdate(of: object)
      }
    }
    // A reference has led to a fault while there was no row. From now on another object stands for the row.
    merge(ranges, of: root) { object in
      if object.flags.contains(.inaccessible), !object.isPending { registry.remove(object) }
    }
  }

  /// Applies what other contexts have done to an object's row, once the object has no more changes.
  func applyExternalChanges(_ object: ManagedObject) {
    if !object.flags.isDisjoint(with: [.outdated, .rowDeletedElsewhere]) { forgetDerivedChanges(of: object) }
    if object.isPending { return }
    // A child reads values from its parent and does not follow the history.
    if parent != nil {
      object.flags.subtract([.outdated, .rowDeletedElsewhere])
      return object.flags.contains(.deletionSaved) ? () : object.becomeStale()
    }
    guard !object.flags.isDisjoint(with: [.outdated, .rowDeletedElsewhere]) else {
      // A value of a merge policy may have led to a missing row. No reference must find this object.
      let root = object.scope.plan.root
      if object.flags.contains(.inaccessible), registered(object.key, root: root) === object {
        registry.remove(object)
      }
      return
    }
    let isGone = object.flags.contains(.rowDeletedElsewhere)
    pendingChanges.noteContested(root: object.scope.plan.root)
    object.flags.subtract([.outdated, .rowDeletedElsewhere])
    if object.flags.contains(.deletionSaved) { return }
    if object.flags.contains(.inaccessible) {
      // Its deletion has been reported. If another context inserts the row again, another object stands for it.
      if isGone { registry.remove(object) }
    } else if isGone {
      removeVanished(object)
    } else {
      object.becomeStale()
    }
  }

  /// Makes relationships to certain objects be read again: the changes of these objects have ended, and another
  /// context had changed their rows too. The relationships were read while the changes existed.
  func readContestedRelationships() {
    if let roots = pendingChanges.takeContestedRoots() { readRelationshipsAgain(to: roots) }
  }

  /// Makes all relationships to the given root entities be read again. Changes are kept.
  func readRelationshipsAgain(to roots: Set<Int>) {
    if roots.isEmpty { return }
    forgetRelationships(to: roots, lost: roots)
    registry.dropCaches()
    if !children.isEmpty { invalidateChildren(of: roots) }
  }

  /// Removes an object whose row is gone from the context.
  private func removeVanished(_ object: ManagedObject) {
    registry.remove(object)
    object.flags.insert(.inaccessible)
    noteChange(of: object)
    object.report(.objectGone)
  }

  /// Rereads references without an inverse if they lead to inserted rows.
  ///
  /// When a row is deleted, the store clears these references and nobody is notified: the references in memory lead
  /// to an object that is not found. If a row with the same key is inserted later, by an undo or a merge policy, they
  /// would wrongly lead to it.
  ///
  /// - Returns: The root entities of the objects that have such references.
  @discardableResult
  func forgetReferences(to ranges: [ClosedRange<ObjectKey>], of root: Int) -> Set<Int> {
    guard !ranges.isEmpty, let references = model.clearedReferences[root] else { return [] }
    let sorted = KeyRanges.normalized(ranges)
    func isAmong(_ key: ObjectKey) -> Bool { KeyRanges.contains(key, in: sorted) }
    var roots: Set<Int> = []
    for (entity, slot) in references {
      for object in registry.objects(ofRoot: entity.root) {
        guard object.scope.plan === entity,
          object.flags.isDisjoint(with: [.fault, .deletionSaved, .inaccessible])
        else { continue }
        if case .int(let former)? = object.extras?.oldValue(slot), isAmong(former) {
          forgetFormerReference(of: object, slot)
        }
        guard isAmong(object.referenceKey(slot)) else { continue }
        roots.insert(entity.root)
        if object.isPending { forgetReference(of: object, slot) } else { object.becomeStale() }
      }
    }
    return roots
  }

  /// Clears a reference of an object with changes if the store has cleared it. A reference that was changed since
  /// stays.
  private func forgetReference(of object: ManagedObject, _ slot: Int) {
    guard object.extras?.changed.contains(slot) != true, hasLostReference(object, slot) else { return }
    noteChange(of: object) { $0.number == slot }
    object._setReference(slot, 0)
  }

  /// Clears the recorded former reference of a changed slot if the store has cleared it: setting the same object
  /// again is then a change.
  private func forgetFormerReference(of object: ManagedObject, _ slot: Int) {
    guard let index = object.extras?.old.firstIndex(where: { $0.slot == slot }),
      hasLostReference(object, slot)
    else { return }
    object.extras?.old[index].value = .null
  }

  /// Whether a reference is nil in an object's row, or in the parent. If the store cannot be read, returns false, and the
  /// save detects a conflict.
  private func hasLostReference(_ object: ManagedObject, _ slot: Int) -> Bool {
    guard !object.flags.contains(.inserted),
      case .reference(let column)? = object.scope.plan.relationships[slot]?.storage
    else { return false }
    if parent != nil {
      guard let parentObject = parentInstance(of: object) else { return false }
      parentObject._willRead()
      return parentObject.referenceKey(slot) == 0
    }
    let plan = object.scope.plan
    return (try? reader().isNil(plan.columns[column], of: plan, object.key)) == true
  }

  /// Calls a closure with the objects in memory that have the given keys.
  func merge(
    _ ranges: [ClosedRange<ObjectKey>], of root: Int, _ change: (ManagedObject) -> Void
  ) {
    guard let map = registry.map(of: model.entities[root]), !ranges.isEmpty else { return }
    map.adoptAll()
    // The ranges come from a file and may be of any length.
    let count = ranges.reduce(0) { $0.addingReportingOverflow($1.count).overflow ? Int.max : $0 + $1.count }
    // Iterate over the shorter one of the two: the keys or the objects in memory.
    let objects: [ManagedObject]
    if count <= map.count {
      objects = ranges.lazy.joined().compactMap { map[$0] }
    } else {
      let sorted = KeyRanges.normalized(ranges)
      objects = map.objects.filter { KeyRanges.contains($0.key, in: sorted) }
    }
    for object in objects where !object.flags.contains(.deletionSaved) { change(object) }
  }

  /// Makes relationships to certain entities be read again. An object's changes are kept.
  ///
  /// - Parameter lost: The root entities, among `roots`, whose objects may be gone.
  func forgetRelationships(to roots: Set<Int>, lost: Set<Int>) {
    for plan in model.entities where plan.root == plan.index {
      for object in registry.objects(ofRoot: plan.index) {
        guard let extras = object.extras else { continue }
        noteChange(of: object) { slot in
          guard let relationship = slot.relationship else { return false }
          let root = model.entities[relationship.destination].root
          if case .reference = relationship.storage { return lost.contains(root) }
          return roots.contains(root)
        }
        forgetRelationships(extras, of: object) { roots.contains(model.entities[$0.destination].root) }
      }
    }
  }
}

extension ManagedObject {
  /// Whether the object's own row has changes. The row of an object that was only related to others can be read
  /// again.
  final var hasOwnChanges: Bool {
    !flags.isDisjoint(with: [.inserted, .updated, .deleted]) || isPending && extras?.old.isEmpty == false
  }

  /// Makes the object read its values again when one is next used.
  final func becomeStale() {
    if flags.contains(.observed) { scope.context?.noteChange(of: self) }
    flags.insert(.fault)
    for (_, state) in extras?.toMany ?? [] where !state.isChanged { state.forget() }
  }
}
