// What others have saved: other contexts, and other processes.
extension ManagedObjectContext {
  /// Brings the objects in memory up to what others have saved, as the stores' histories tell: objects whose rows
  /// were changed become faults, those whose rows were deleted are inaccessible, and relationships are read again.
  /// Objects with changes keep their values until they have none any more: their save finds out.
  ///
  /// Called when a snapshot begins, and before a fetch where none is held.
  func catchUp(_ session: any StoreSession) throws {
    // Nobody else writes to a store that is being made.
    if importTarget != nil { return }
    for store in stores.all {
      let last = try session.newestSave(of: store)
      guard let seen = seenSaves[store.place] else {
        seenSaves[store.place] = last
        continue
      }
      guard last > seen else { continue }
      seenSaves[store.place] = last
      do {
        try apply(saves: seen, of: store, session)
      } catch {
        // What was not told is told the next time.
        seenSaves[store.place] = seen
        throw error
      }
    }
  }

  private func apply(saves seen: Int64, of store: any AttachedStore, _ session: any StoreSession) throws {
    var roots: Set<Int> = []
    var lost: Set<Int> = []
    // Those of objects that are read again though their rows have not been written.
    var holders: Set<Int> = []
    var changes = changeObservers == nil && children.isEmpty ? nil : ObjectChanges()
    var expected = seen + 1
    try session.forEachSave(of: store, after: seen) { id, text in
      if id != expected {
        // Somebody has purged what this context has not seen: anything may be another one now.
        let known = registeredObjects.filter { $0.scope.plan.storeIndex == store.place }
        for object in known { noteUpdate(of: object) }
        let stale = known.filter { !$0.isPending }
        changes = changes?.followed(by: ObjectChanges(refreshed: ManagedObjectIDs(stale.map(\.objectID))))
        roots.formUnion(model.entities.filter { $0.storeIndex == store.place }.map(\.root))
        lost = roots
      }
      expected = id + 1
      if ownSaves[store.place]?.remove(id) != nil { return }
      // A text that this release cannot read changes nothing: the optimistic lock is what protects data.
      guard let json = try? JSONValue(parsing: text), case .object(let members) = json else { return }
      for member in members {
        guard let plan = model.entity(member.key) else { continue }
        roots.insert(plan.root)
        changes = changes?.followed(by: Self.changes(member, of: store))
        merge(HistoryText.ranges(member.value["updated"]), of: plan.root) { noteUpdate(of: $0) }
        let inserted = HistoryText.ranges(member.value["inserted"])
        noteReturn(to: inserted, of: plan.root)
        holders.formUnion(forgetReferences(to: inserted, of: plan.root))
        let deleted = HistoryText.ranges(member.value["deleted"])
        if !deleted.isEmpty { lost.insert(plan.root) }
        merge(deleted, of: plan.root) { noteDeletion(of: $0) }
      }
    }
    if !roots.isEmpty { forgetRelationships(to: roots, lost: lost) }
    // Who is told may fetch, and come here again.
    if !children.isEmpty, !roots.isEmpty { tellChildren(changes, of: roots.union(holders)) }
    if let changes { changeObservers?.tell(changes) }
    tellObserversUnlessReading()
  }

  /// What somebody else has changed of an entity.
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

  /// Notes that others have written an object's row.
  func noteUpdate(of object: ManagedObject) {
    forgetDerivedChanges(of: object)
    forgetEqualChanges(of: object)
    // The other end of a relationship without an inverse is told nothing of its pairs.
    if object.isPending, let extras = object.extras {
      forgetRelationships(extras, of: object) { $0.inverse == nil }
    }
    if !object.hasOwnChanges {
      object.becomeStale()
    } else if !object.flags.contains(.inserted) {
      object.flags.insert(.outdated)
      noteContestedReferences(of: object)
    }
  }

  /// Notes that others have deleted an object's row.
  func noteDeletion(of object: ManagedObject) {
    forgetDerivedChanges(of: object)
    forgetEqualChanges(of: object)
    if !object.isPending {
      lose(object)
    } else if !object.flags.contains(.inserted) {
      object.flags.insert(.vanished)
      noteContestedReferences(of: object)
    }
  }

  /// Notes to whom an object with changes refers in one-to-one relationships that it has not changed, where others have
  /// changed or deleted its row.
  func noteContestedReferences(of object: ManagedObject) {
    guard !object.flags.isDisjoint(with: [.outdated, .vanished]) else { return }
    for case let relationship? in object.scope.plan.relationships where relationship.isOneToOne {
      guard case .reference = relationship.storage, !relationship.isSymmetric,
        object.extras?.changed.contains(relationship.slot) != true
      else { continue }
      let key = object.referenceKey(relationship.slot)
      if key == 0 { continue }
      let partner = OneToOnePartner(relationship, of: object, to: key)
      if contestedHolders[partner]?.contains(object.key) == true { continue }
      contestedHolders[partner, default: []].append(object.key)
    }
  }

  /// Notes that others have inserted rows: some may be those of objects with changes whose rows they had deleted.
  func noteReturn(to ranges: [ClosedRange<ObjectKey>], of root: Int) {
    guard !ranges.isEmpty else { return }
    for object in pending where object.flags.contains(.vanished) && object.scope.plan.root == root {
      guard ranges.contains(where: { $0.contains(object.key) }) else { continue }
      object.flags.remove(.vanished)
      noteUpdate(of: object)
    }
  }

  /// Lets an object that has no changes any more be what others have made of its row while it had some.
  func takeOver(_ object: ManagedObject) {
    if !object.flags.isDisjoint(with: [.outdated, .vanished]) { forgetDerivedChanges(of: object) }
    if object.isPending { return }
    // A child asks its parent for the values, which knows of no history.
    if parent != nil { return object.flags.contains(.gone) ? () : object.becomeStale() }
    guard !object.flags.isDisjoint(with: [.outdated, .vanished]) else {
      // A policy's value may have led to a row that is not there: no reference is to lead to its object.
      let root = object.scope.plan.root
      if object.flags.contains(.inaccessible), registered(object.key, root: root) === object {
        maps[root]?.remove(object.key)
      }
      return
    }
    let isGone = object.flags.contains(.vanished)
    contestedRoots.insert(object.scope.plan.root)
    object.flags.subtract([.outdated, .vanished])
    if object.flags.contains(.gone) { return }
    if object.flags.contains(.inaccessible) {
      // Its end has been told. Should somebody write the row anew, that is another object's.
      if isGone { maps[object.scope.plan.root]?.remove(object.key) }
    } else if isGone {
      lose(object)
    } else {
      object.becomeStale()
    }
  }

  /// Lets relationships to objects be read again whose changes have ended and whose rows others had changed too: what was
  /// read meanwhile was read beside these changes.
  func readContestedRelationships() {
    if pending.isEmpty { contestedHolders.removeAll() }
    if contestedRoots.isEmpty { return }
    let roots = contestedRoots
    contestedRoots.removeAll()
    forgetRelationships(to: roots, lost: roots)
    dropCaches()
    if !children.isEmpty { tellChildren(of: roots) }
  }

  /// Lets go of an object whose row is gone.
  private func lose(_ object: ManagedObject) {
    maps[object.scope.plan.root]?.remove(object.key)
    object.flags.insert(.inaccessible)
    noteChange(of: object)
    object.report(.objectGone)
  }

  /// Lets one-sided references be read again that lead to rows which have come to a table.
  ///
  /// When a row goes the store clears them, and nobody is told: the object that they led to is not found. Where a row of
  /// the same key comes back later, by an undo or a merge policy, they would lead to it again.
  ///
  /// - Returns: The roots of the objects that have such references.
  @discardableResult
  func forgetReferences(to ranges: [ClosedRange<ObjectKey>], of root: Int) -> Set<Int> {
    guard !ranges.isEmpty, let references = model.clearedReferences[root] else { return [] }
    let sorted = KeyRanges.normalized(ranges)
    func isAmong(_ key: ObjectKey) -> Bool {
      var (low, high) = (0, sorted.count)
      while low < high {
        let middle = (low + high) / 2
        if sorted[middle].upperBound < key { low = middle + 1 } else { high = middle }
      }
      return low < sorted.count && sorted[low].contains(key)
    }
    var roots: Set<Int> = []
    for (entity, slot) in references {
      for object in maps[entity.root]?.objects ?? [] {
        guard object.scope.plan === entity, object.flags.isDisjoint(with: [.fault, .gone, .inaccessible])
        else { continue }
        if case .int(let former)? = object.extras?.old.first(where: { $0.slot == slot })?.value,
          isAmong(former)
        {
          forgetFormerReference(of: object, slot)
        }
        guard isAmong(object.referenceKey(slot)) else { continue }
        roots.insert(entity.root)
        if object.isPending { forgetReference(of: object, slot) } else { object.becomeStale() }
      }
    }
    return roots
  }

  /// Clears an unsaved object's reference where the store has cleared it, too. What the object was given since stays.
  private func forgetReference(of object: ManagedObject, _ slot: Int) {
    guard object.extras?.changed.contains(slot) != true, hasLostReference(object, slot) else { return }
    noteChange(of: object) { $0.number == slot }
    object._setReference(slot, 0)
  }

  /// Clears the reference that an object had before its change, where the store has cleared it: to be given the same object
  /// again is a change.
  private func forgetFormerReference(of object: ManagedObject, _ slot: Int) {
    guard let place = object.extras?.old.firstIndex(where: { $0.slot == slot }),
      hasLostReference(object, slot)
    else { return }
    object.extras?.old[place].value = .null
  }

  /// Whether a reference is nil in an object's row. Should the store not be readable it is taken to be there, and the save
  /// finds out.
  private func hasLostReference(_ object: ManagedObject, _ slot: Int) -> Bool {
    guard !object.flags.contains(.inserted), parent == nil,
      case .reference(let column)? = object.scope.plan.relationships[slot]?.storage
    else { return false }
    let plan = object.scope.plan
    return (try? reader().isNil(plan.columns[column], of: plan, object.key)) == true
  }

  /// Calls a closure with the objects of some keys that are in memory.
  func merge(
    _ ranges: [ClosedRange<ObjectKey>], of root: Int, _ change: (ManagedObject) -> Void
  ) {
    guard let map = maps[root], !ranges.isEmpty else { return }
    map.adoptAll()
    // Ranges are what a file says, and may be of any length.
    let count = ranges.reduce(0) { $0.addingReportingOverflow($1.count).overflow ? Int.max : $0 + $1.count }
    // Whichever is shorter: the keys, or what is in memory.
    let objects =
      count <= map.count
      ? ranges.lazy.joined().compactMap { map[$0] }
      : map.objects.filter { object in ranges.contains { $0.contains(object.key) } }
    for object in objects where !object.flags.contains(.gone) { change(object) }
  }

  /// Lets relationships that lead to certain entities be read again. An object's changes are kept.
  ///
  /// - Parameter lost: Those of them whose objects may be gone.
  func forgetRelationships(to roots: Set<Int>, lost: Set<Int>) {
    for plan in model.entities where plan.root == plan.index {
      for object in maps[plan.index]?.objects ?? [] {
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

  /// Notes a save of the context's own, whose changes its objects have.
  func noteOwnSave(_ id: Int64, in store: any AttachedStore) {
    if seenSaves[store.place] == nil {
      // Nothing has been read before: the objects in memory are those of this save.
      seenSaves[store.place] = id
    } else {
      ownSaves[store.place, default: []].insert(id)
    }
  }
}

extension ManagedObject {
  /// Whether the object has changes of its own row. Of one that was merely related to others the row can be read again.
  fileprivate final var hasOwnChanges: Bool {
    !flags.isDisjoint(with: [.inserted, .updated, .deleted]) || isPending && extras?.old.isEmpty == false
  }

  /// Lets the values be read again when one is next asked for.
  final func becomeStale() {
    if flags.contains(.observed) { scope.context?.noteChange(of: self) }
    flags.insert(.fault)
    for (_, state) in extras?.toMany ?? [] where !state.isChanged { state.forget() }
  }
}
