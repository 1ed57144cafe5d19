// Conflicts: a save writes, finds conflicts, resolves them in memory and writes again.
extension ManagedObjectContext {
  /// How often a save is tried before it throws its conflicts. Before each new attempt another context has saved.
  private static let maximumAttempts = 1000

  /// Writes the pending changes, again and again until all conflicts are resolved.
  ///
  /// - Returns: Nil if no changes are left.
  @_optimize(none)
  func writeResolvingConflicts(_ hooks: inout SaveHooks) throws -> SavePlan? {
    for attempt in 1... {
      var encountered = EncounteredConflicts()
      do {
        return try write(&encountered)
      } catch let error as SaveError where attempt < Self.maximumAttempts {
        switch error {
        case .conflict, .notUnique: try resolve(encountered.all, error, notUnique: encountered.notUnique)
        case .danglingReferences(let ids): guard try clearDangling(ids) else { throw error }
        case .validation, .unstableObjects, .partlySaved, .nested, .changedWhileWriting, .changesLost:
          throw error
        }
      }
      hooks.hasResolved = true
      pendingChanges.removeGone()
      guard hasChanges else { break }
      hooks.validateAnew()
      try prepareToWrite(&hooks)
      guard hasChanges else { break }
    }
    return nil
  }

  /// Asks the merge policy about each conflict and applies its resolution.
  ///
  /// - Parameters:
  ///   - error: The error that the save has thrown for the conflicts.
  ///   - notUnique: The error to throw for unique values that the policy cannot resolve; nil for `error`.
  @_optimize(none)
  func resolve(_ conflicts: [SaveConflict], _ error: SaveError, notUnique: SaveError? = nil) throws {
    var denials: [ValidationError] = []
    // Captured before the first resolution, because resolving a conflict refreshes other objects.
    let versions = conflicts.reduce(into: [ManagedObjectID: ContestedValues]()) { versions, conflict in
      guard conflict.reason == .changed, let object = registeredObject(for: conflict.objectID) else { return }
      versions[conflict.objectID] = ContestedValues(of: object)
    }
    // Some relationships were read before their objects took over the rows of other contexts. The next derivation reads them.
    defer { readRelationshipsAgain(to: pendingChanges.contestedRoots) }
    for conflict in conflicts {
      // The resolution of another conflict may have removed this one.
      guard let object = registeredObject(for: conflict.objectID), object.isPending else { continue }
      // Whatever the resolution is, objects may join or leave its relationships together with its row.
      noteChange(of: object)
      pendingChanges.noteContested(root: object.scope.plan.root)
      do {
        switch conflict.reason {
        case .changed, .deleted: try resolveRow(of: object, versions[conflict.objectID])
        case .partnerTaken: try resolvePartner(of: object, conflict)
        case .notUnique: try resolveUnique(object, conflict, notUnique ?? error)
        case .related: denials += try resolveReferrers(of: object, conflict)
        }
      } catch is RevertedByPolicy {
        // The save tries again with the changes that are left.
        return
      }
    }
    if !denials.isEmpty { throw SaveError.validation(denials) }
  }

  /// A merge policy has rolled back or reset the context.
  private struct RevertedByPolicy: Error {}

  /// Returns the merge policy's resolution of a conflict, after a check that an object can take the values that the policy
  /// has chosen. Otherwise the conflict would be half resolved when the save throws the error, and the next save would write
  /// what nobody has decided.
  @_optimize(none)
  func resolution(
    of conflict: SaveConflict, for object: ManagedObject
  ) throws -> MergePolicy.Resolution {
    let resolution = try self.resolution(of: conflict)
    guard case .values(let values) = resolution else { return resolution }
    for (key, value) in values.orderedByKey() {
      try object.checkValue(chosen(value, object), forKey: key)
    }
    return resolution
  }

  /// Returns the merge policy's resolution of a conflict.
  func resolution(of conflict: SaveConflict) throws -> MergePolicy.Resolution {
    let reverts = pendingChanges.revertCount
    let resolution = try activity.run(.mergePolicy) { try mergePolicy.resolution(of: conflict) }
    if pendingChanges.revertCount != reverts { throw RevertedByPolicy() }
    return resolution
  }

  // MARK: Derived values

  /// Whether conflicts are only about derived values, which are computed anew, so that nothing needs to be decided.
  @_optimize(none)
  func areOnlyOfDerivedValues(_ conflicts: [SaveConflict]) -> Bool {
    conflicts.allSatisfy { conflict in
      // Another context may have deleted an object that this one has related to others. Only people can decide which of
      // the two is right.
      conflict.reason == .changed
        && registeredObject(for: conflict.objectID)?.hasOnlyDerivedChanges == true
    }
  }

  /// Reads the rows of such conflicts again. The next derivation changes them.
  @_optimize(none)
  func readAgain(_ conflicts: [SaveConflict]) {
    for object in conflicts.compactMap({ registeredObject(for: $0.objectID) }) {
      noteChange(of: object)
      forgetDerivedChanges(of: object)
      refreshKeepingChanges(of: object)
    }
  }

  // MARK: Rows

  /// Takes back what the refresh of an object has forgotten, after a merge policy has not decided: it has thrown an error, or
  /// has chosen values that the object cannot take. The next save then meets the same conflict, and does not overwrite the
  /// other context's values.
  ///
  /// - Parameter former: The object's flags before the refresh.
  @_optimize(none)
  private func keepConflict(
    of object: ManagedObject, version: Int64, snapshot: [Int: AttributeValue], _ former: ObjectFlags
  ) {
    object.version = version
    if former.contains(.inserted), !object.flags.contains(.inserted) {
      // The refresh has turned the insertion of a row again into an update. It has no values from before.
      becomeNew(object)
      object.flags.formUnion(former.intersection([.draft, .tracked, .reinserted]))
      return
    }
    // If the changes are taken back instead, the object reads its row again.
    if parent == nil { object.flags.insert(.outdated) }
    guard let extras = object.extras else { return }
    for index in extras.old.indices {
      if let value = snapshot[extras.old[index].slot] { extras.old[index].value = value }
    }
    noteContestedReferences(of: object)
  }

  /// Resolves a conflict with the object's row as it is now. The row may have changed again since the save met the
  /// conflict.
  ///
  /// - Parameter met: The object's values when the save met the conflict; nil for the current values.
  @_optimize(none)
  private func resolveRow(of object: ManagedObject, _ encountered: ContestedValues?) throws {
    let mine = encountered?.object(withChangesOf: object) ?? object.currentValues()
    let snapshot = encountered?.snapshot ?? object.snapshotValues()
    let isDeleting = object.flags.contains(.deleted)
    // Its row has no other changes: the object was only related to others.
    let isDerived = object.hasOnlyDerivedChanges
    let pairs = pendingChanges.addingPairsOfLostRow(of: object, to: knownPairs(of: object))
    let (version, flags) = (object.version, object.flags)
    refreshKeepingChanges(of: object)
    if object.flags.contains(.inaccessible) {
      if isDeleting { return }
      // If the row still exists, the store could not be read, and this throws.
      try checkIsGone(object)
      if isDerived { return acceptDeletion(of: object) }
      switch try self.resolution(
        of: object.conflict(.deleted, object: mine, snapshot: snapshot, store: nil), for: object)
      {
      case .storeWins, .rollback: acceptDeletion(of: object)
      case .objectWins, .overwrite: try reviveRow(of: object, pairs)
      case .values(let values):
        try reviveRow(of: object, pairs)
        try setChosenValues(values, object)
      }
      return
    }
    var store = object.currentValues(toCompareWith: mine)
    for old in object.extras?.old ?? [] where store[old.slot] != nil { store[old.slot] = old.value }
    // A deletion is of the values too that the object has not read.
    let conflict = object.conflict(
      .changed, object: mine, snapshot: snapshot, store: store, namesUnread: isDeleting)
    // The row has its former values: another context has set its changes back, or has written equal values.
    guard !conflict.keys.isEmpty else {
      if !isDeleting { resolvePartners(of: object) }
      return
    }
    let resolution: MergePolicy.Resolution
    do {
      // A deletion is carried out or taken back: it takes no values.
      resolution = try isDeleting ? self.resolution(of: conflict) : self.resolution(of: conflict, for: object)
    } catch {
      if !(error is RevertedByPolicy) {
        keepConflict(of: object, version: version, snapshot: snapshot, flags)
      }
      throw error
    }
    if isDeleting {
      if resolution == .storeWins || resolution == .rollback {
        revertDeletion(of: object)
        resolvePartners(of: object)
      } else {
        removeFromStoredReferents(of: object, store, snapshot)
      }
      return
    }
    switch resolution {
    case .objectWins: releasePartners(of: object, in: store)
    case .storeWins:
      for slot in object.scope.plan.storedSlots
      where store[slot] != snapshot[slot] && object.extras?.changed.contains(slot) == true {
        let value = store[slot] ?? .null
        set(object, slot, value)
        // The value refers to an object that is deleted here, so `set` has cleared it. That deletion is another
        // conflict.
        if object.storedValue(slot) != value { object.setStoredValues([slot: value]) }
        object.forgetLargeWrite(slot)
      }
      forgetEqualChanges(of: object)
    case .overwrite:
      // A value that the object has not read, or could not read, is missing in its values, and stays as it is in the store.
      for (slot, value) in mine.orderedByKey() where value != store[slot] {
        set(object, slot, value)
      }
      releasePartners(of: object, in: store)
    case .rollback: dropContestedChanges(of: object)
    case .values(let values):
      releasePartners(of: object, in: store)
      try setChosenValues(values, object)
    }
    removeFromStoredReferents(of: object, store, snapshot)
    resolvePartners(of: object)
  }

  /// Removes the object from relationships that another context added it to, unless this context's own change keeps
  /// it there. A deleted object is removed only from relationships with a minimum, so that the save checks them, and from
  /// those that derived attributes read, so that the save computes these.
  @_optimize(none)
  private func removeFromStoredReferents(
    of object: ManagedObject, _ store: [Int: AttributeValue], _ snapshot: [Int: AttributeValue]
  ) {
    for case let relationship? in object.scope.plan.relationships where !relationship.isSymmetric {
      guard case .reference = relationship.storage, case .int(let key)? = store[relationship.slot], key != 0,
        store[relationship.slot] != snapshot[relationship.slot],
        let inverse = inverse(of: relationship),
        object.isDeleted
          ? inverse.hasMinimum || model.hasDerivation(through: inverse)
          : object.referenceKey(relationship.slot) != key,
        let former = self.object(key, relationship)
      else { continue }
      if inverse.isToMany, let state = former.extras?.toManyState(inverse.slot),
        state.keys?.contains(object.key) == false
      {
        // It was loaded before another context added the object.
        state.unload()
      }
      remove(object, fromInverse: inverse, of: former)
    }
  }

  /// Makes both sides of a symmetric reference agree. Each side stores the reference in its own row, and another
  /// context may have changed one of the rows.
  @_optimize(none)
  private func resolvePartners(of object: ManagedObject) {
    for case let relationship? in object.scope.plan.relationships where relationship.isSymmetric {
      guard case .reference = relationship.storage else { continue }
      let slot = relationship.slot
      let key = object.referenceKey(slot)
      guard key != 0, key != object.key, let partner = self.object(key, relationship) else { continue }
      // Without a snapshot the context may not know of changes to the other row yet.
      refreshRelationships(of: partner, reading: relationship)
      partner._willRead()
      if partner.referenceKey(slot) == object.key { continue }
      let isOwn = object.extras?.changed.contains(slot) == true
      if isOwn, partner.extras?.changed.contains(slot) != true {
        setReference(of: partner, relationship, to: object)
      } else {
        // The context has given the partner another object or nil, and that was not a conflict.
        setReference(of: object, relationship, to: nil)
      }
    }
  }

  /// Clears the references of partners that the object has in the store but not in this context. In a symmetric
  /// relationship the partner stores the reference in its own row.
  @_optimize(none)
  private func releasePartners(of object: ManagedObject, in store: [Int: AttributeValue]) {
    for case let relationship? in object.scope.plan.relationships where relationship.isSymmetric {
      guard case .reference = relationship.storage, case .int(let key)? = store[relationship.slot], key != 0,
        key != object.key, key != object.referenceKey(relationship.slot),
        let partner = self.object(key, relationship)
      else { continue }
      refreshRelationships(of: partner, reading: relationship)
      partner._willRead()
      if partner.referenceKey(relationship.slot) == object.key {
        setReference(of: partner, relationship, to: nil)
      }
    }
  }

  @_optimize(none)
  private func checkIsGone(_ object: ManagedObject) throws {
    if let parent {
      guard try parent.liveObject(object.key, object.scope.plan) != nil else { return }
      throw SaveError.conflict([SaveConflict(reason: .changed, objectID: object.objectID)])
    }
    if try hasRow(object) {
      throw SaveError.conflict([SaveConflict(reason: .changed, objectID: object.objectID)])
    }
  }

  /// Sets a stored value; for a reference, the other side too.
  @_optimize(none)
  func set(_ object: ManagedObject, _ slot: Int, _ value: AttributeValue) {
    guard object.storedValue(slot) != value else { return }
    guard let relationship = object.scope.plan.relationships[slot] else {
      object.willSet(slot)
      object.setStoredValues([slot: value])
      return object.didChange(slot)
    }
    var related: ManagedObject?
    if case .int(let key) = value, key != 0 { related = self.object(key, relationship) }
    setReference(of: object, relationship, to: related)
  }

  /// Gives an object the values that a custom policy has chosen.
  @_optimize(none)
  func setChosenValues(_ values: [String: FetchedValue], _ object: ManagedObject) throws {
    for (key, value) in values.orderedByKey() {
      try object.setValue(chosen(value, object), forKey: key)
    }
  }

  /// A value that a custom policy has chosen for an object. It may lead to the object itself, whose row may be gone.
  private func chosen(_ value: FetchedValue, _ object: ManagedObject) throws -> PropertyValue {
    switch value {
    case .attribute(let value): .attribute(value)
    case .object(let id):
      .object(try id.map { id in try id == object.objectID ? object : existingObject(with: id) })
    }
  }

  /// Forgets changes of slots that have the snapshot's values again.
  func forgetEqualChanges(of object: ManagedObject) {
    guard let extras = object.extras, object.flags.isDisjoint(with: [.inserted, .deleted]) else { return }
    extras.old.removeAll { slot, value in
      if object.isChanged(slot, from: value) { return false }
      if value == .null, value != object.storedValue(slot) { object._setReference(slot, 0) }
      extras.changed.remove(slot)
      return true
    }
    if !extras.old.contains(where: { object.scope.plan.slots[$0.slot].isStored }) {
      object.flags.remove(.updated)
    }
  }

  // MARK: Rows that are gone

  private func acceptDeletion(of object: ManagedObject) {
    leaveLoadedRelationships(of: object)
    removeFromContext(object)
    clearReferences(to: object)
  }

  /// Removes an object from the context. Its row is gone or will not be inserted.
  @_optimize(none)
  func removeFromContext(_ object: ManagedObject) {
    registry.remove(object)
    object.flags.become([.deletionSaved, .inaccessible])
    object.extras?.toMany.removeAll()
    registry.dropCaches()
    noteDeletionsUnnotified(to: [object.scope.plan.root])
  }

  /// Removes an object that is gone from the relationships of all changed objects. A mandatory reference stays, so
  /// that the save refuses it.
  @_optimize(none)
  func clearReferences(to object: ManagedObject) {
    for other in pending where other.isPending && !other.flags.contains(.deleted) {
      for case let relationship? in other.scope.plan.relationships
      where model.entities[relationship.destination].root == object.scope.plan.root {
        noteChange(of: other) { $0.number == relationship.slot }
        if let state = other.extras?.toManyState(relationship.slot) {
          state.cache = nil
          state.keys?.remove(object.key)
          state.forgetChange(of: object.key)
        }
        if other.extras?.partners[relationship.slot] == object.key {
          other.extras?.partners[relationship.slot] = 0
        }
        if case .reference = relationship.storage, relationship.description.isOptional,
          other.referenceKey(relationship.slot) == object.key
        {
          other.willSet(relationship.slot)
          other._setReference(relationship.slot, 0)
        }
      }
    }
  }

  /// Clears the references and pairs of objects that lead to missing rows.
  ///
  /// - Returns: Whether any could be cleared.
  @_optimize(none)
  private func clearDangling(_ ids: [ManagedObjectID]) throws -> Bool {
    var isAny = false
    for object in ids.compactMap(registeredObject) where object.isPending {
      if !object.isInserted, try isGone(object.key, object.scope.plan) {
        // It was only related to others: otherwise its missing row would be a conflict.
        noteChange(of: object)
        acceptDeletion(of: object)
        isAny = true
        continue
      }
      for case let relationship? in object.scope.plan.relationships {
        let keys: [ObjectKey]
        switch relationship.storage {
        case .reference: keys = [object.referenceKey(relationship.slot)]
        case .join: keys = object.extras?.toManyState(relationship.slot)?.added.keys ?? []
        case .inverseReference, .referencesOfOthers: continue
        }
        for key in keys where key != 0 {
          guard try isGone(key, relationship) else { continue }
          noteChange(of: object) { $0.number == relationship.slot }
          if case .join = relationship.storage {
            object.extras?.toManyState(relationship.slot)?.remove(key)
          } else if relationship.description.isOptional {
            object.willSet(relationship.slot)
            object._setReference(relationship.slot, 0)
          } else {
            continue
          }
          isAny = true
        }
      }
    }
    return isAny
  }

  /// Whether a key has no row, and the save will not insert one.
  private func isGone(_ key: ObjectKey, _ relationship: RelationshipPlan) throws -> Bool {
    try isGone(key, model.entities[relationship.destination])
  }

  @_optimize(none)
  func isGone(_ key: ObjectKey, _ plan: EntityPlan) throws -> Bool {
    if registered(key, root: plan.root)?.isInserted == true { return false }
    if let parent { return try parent.liveObject(key, plan) == nil }
    return try !reader().hasRow(key, of: plan)
  }

  /// The members of the object's many-to-many relationships: all of a loaded relationship, otherwise the added ones.
  @_optimize(none)
  func knownPairs(of object: ManagedObject) -> [(slot: Int, keys: [ObjectKey])] {
    (object.extras?.toMany ?? []).compactMap { slot, state in
      guard let relationship = object.scope.plan.relationships[slot], case .join = relationship.storage else {
        return nil
      }
      let keys = state.keys?.keys ?? state.added.keys
      return keys.isEmpty ? nil : (slot, keys)
    }
  }

  /// The objects that still refer to an object whose row another context has deleted, because a `noAction` rule has
  /// left their references, by relationship. They are related to the object again as soon as it has a row.
  @_optimize(none)
  private func remainingReferrers(
    of object: ManagedObject
  ) -> [(relationship: RelationshipPlan, keys: [ObjectKey])] {
    guard parent == nil else { return [] }
    return object.scope.plan.relationships.compactMap { relationship in
      guard let relationship, relationship.description.deleteRule.leavesReferences, !relationship.isSymmetric,
        let inverse = inverse(of: relationship), case .reference = inverse.storage,
        let stored = try? reader().relatedKeys(of: relationship, of: object.key)
      else { return nil }
      let keys = stored.filter { key in
        guard let other = self.object(key, relationship) else { return false }
        other._willRead()
        return other.referenceKey(inverse.slot) == object.key
      }
      return keys.isEmpty ? nil : (relationship, keys)
    }
  }

  /// Makes the save insert an object's row again, with its known pairs. Another context has deleted the row.
  ///
  /// - Throws: ``SaveError/conflict(_:)`` if the object has not read all values of the row, so that they are lost.
  @_optimize(none)
  private func reviveRow(of object: ManagedObject, _ pairs: [(slot: Int, keys: [ObjectKey])]) throws {
    let lost = object.unreadSlots + object.unreadableSlots
    guard lost.isEmpty else {
      throw SaveError.conflict([
        SaveConflict(
          reason: .deleted, objectID: object.objectID, keys: lost.map { object.scope.plan.slots[$0].name })
      ])
    }
    let referrers = remainingReferrers(of: object)
    becomeNew(object)
    for (relationship, keys) in referrers {
      if relationship.isToMany {
        object.toManyState(relationship.slot).become(new: keys)
      } else {
        object.requireExtras().partners[relationship.slot] = keys.first ?? 0
      }
    }
    for (slot, keys) in pairs {
      let state = object.toManyState(slot)
      guard let relationship = object.scope.plan.relationships[slot] else { continue }
      let kept = keys.filter { (try? isGone($0, relationship)) != true }
      state.become(new: kept)
      // The member's side may be the one that writes the pairs, and derived attributes may read it.
      guard case .join = relationship.storage, let inverse = relationship.inverseSlot else { continue }
      for key in kept where key != object.key || !relationship.isSymmetric {
        guard let member = self.object(key, relationship) else { continue }
        let other = member.toManyState(inverse)
        member.willChange(inverse)
        other.add(object.key)
        other.noteAddition(of: object.key)
        member.noteChangeOutsideRow(inverse)
      }
    }
    for case let relationship? in object.scope.plan.relationships {
      guard case .reference = relationship.storage, relationship.description.isOptional else { continue }
      let key = object.referenceKey(relationship.slot)
      guard key != 0 else { continue }
      if (try? isGone(key, relationship)) == true {
        object._setReference(relationship.slot, 0)
      } else if relationship.isSymmetric, key != object.key, let partner = self.object(key, relationship) {
        // The partner's own row may have lost the reference, or may refer to another object by now.
        refreshRelationships(of: partner, reading: relationship)
        partner._willRead()
        object._setReference(relationship.slot, 0)
        if partner.referenceKey(relationship.slot) == object.key {
          object._setReference(relationship.slot, key)
        } else if partner.referenceKey(relationship.slot) == 0 {
          setReference(of: object, relationship, to: partner)
        }
      } else if !relationship.isSymmetric, let inverse = inverse(of: relationship),
        let referent = self.object(key, relationship),
        inverse.isToMany || partner(of: referent, inverse) == nil
      {
        // Relationships that were read in the meantime do not include the object.
        object._setReference(relationship.slot, 0)
        setReference(of: object, relationship, to: referent)
      }
    }
  }

  /// Makes an object new, so that the save inserts its row with its current values and pairs. References to the former row,
  /// which the store has cleared, are cleared in memory too.
  @_optimize(none)
  func becomeNew(_ object: ManagedObject) {
    object.flags.subtract([
      .inaccessible, .updated, .changedOutsideRow, .fault, .deleted, .deletionSaved, .outdated,
      .rowDeletedElsewhere,
    ])
    object.mark(.inserted, in: self)
    // A child that has inserted the object does not know the version that its row had.
    if object.version == 0 { object.version = 1 }
    if registered(object.key, root: object.scope.plan.root) == nil { registry.add(object) }
    let extras = object.requireExtras()
    forgetChangesKeepingValues(of: extras)
    for (slot, state) in extras.toMany {
      guard let relationship = object.scope.plan.relationships[slot] else { continue }
      var keys = state.keys?.keys ?? state.added.keys
      if case .referencesOfOthers = relationship.storage, let inverse = relationship.inverseSlot {
        let root = model.entities[relationship.destination].root
        keys = keys.filter { registered($0, root: root)?.referenceKey(inverse) == object.key }
      }
      state.become(new: keys)
      state.positions.removeAll()
      state.isOrderChanged = true
    }
    for case let relationship? in object.scope.plan.relationships {
      // There is no row to read the pairs and partners from.
      if relationship.isToMany {
        let state = object.toManyState(relationship.slot)
        if state.keys == nil { state.load([]) }
      } else if case .inverseReference = relationship.storage, let inverse = relationship.inverseSlot,
        let key = extras.partners[relationship.slot], key != 0
      {
        let partner = registered(key, root: model.entities[relationship.destination].root)
        if partner?.referenceKey(inverse) != object.key { extras.partners[relationship.slot] = 0 }
      }
    }
    forgetReferences(to: [object.key...object.key], of: object.scope.plan.root)
  }

  // MARK: Partners

  @_optimize(none)
  private func resolvePartner(of object: ManagedObject, _ conflict: SaveConflict) throws {
    guard let key = conflict.keys.first, let slot = object.scope.plan.slot(key),
      let relationship = slot.relationship
    else { return }
    let wanted = object.referenceKey(slot.number)
    // The other object may have lost the partner since.
    guard wanted != 0, let id = conflict.otherID, let rival = try? existingObject(with: id) else { return }
    guard rival !== object else { return }
    refreshRelationships(of: rival, reading: relationship)
    guard !rival.isInaccessible else { return }
    rival._willRead()
    guard rival.referenceKey(slot.number) == wanted else { return }
    let old = object.extras?.oldValue(slot.number) ?? .null
    let value = SaveConflict.Value(
      key: key, object: object.fetchedValue(.int(wanted), slot), snapshot: object.fetchedValue(old, slot),
      store: object.fetchedValue(old, slot))
    let full = SaveConflict(
      reason: .partnerTaken, objectID: object.objectID, keys: [key], values: [value], otherID: id)
    @_optimize(none)
    func yieldPartner() {
      setReference(of: object, relationship, to: nil)
      // The partner reads this relationship from the store again.
      let root = model.entities[relationship.destination].root
      if let inverse = relationship.inverseSlot, !relationship.isSymmetric {
        let partner = registered(wanted, root: root)
        partner?.extras?.partners[inverse] = nil
        if let partner { noteChange(of: partner) { $0.number == inverse } }
      }
    }
    @_optimize(none)
    func claimPartner() {
      setReference(of: rival, relationship, to: nil)
      guard let inverse = inverse(of: relationship), !relationship.isSymmetric,
        let partner = self.object(wanted, relationship)
      else { return }
      partner.requireExtras().partners[inverse.slot] = object.key
      partner.noteChangeOutsideRow(inverse.slot)
    }
    switch try self.resolution(of: full, for: object) {
    case .objectWins, .overwrite: claimPartner()
    case .values(let values):
      try self.setChosenValues(values, object)
      if object.referenceKey(slot.number) == wanted { claimPartner() }
    case .storeWins: yieldPartner()
    case .rollback:
      yieldPartner()
      dropContestedChanges(of: object)
    }
  }
}

/// The values of an object whose row another context has changed, captured before the save resolves any conflict.
private struct ContestedValues {
  let object: [Int: AttributeValue]
  let snapshot: [Int: AttributeValue]

  init(of object: ManagedObject) {
    (self.object, snapshot) = (object.currentValues(), object.snapshotValues())
  }

  /// Returns the captured values, with the current values of changed slots.
  @_optimize(none)
  func object(withChangesOf object: ManagedObject) -> [Int: AttributeValue] {
    let current = object.currentValues()
    return self.object.merging(current.filter { object.extras?.changed.contains($0.key) == true }) { $1 }
  }
}

/// The conflicts that a save has met.
struct EncounteredConflicts {
  var all: [SaveConflict] = []
  /// The error that the save would throw for unique values alone; nil if there are none. A save that has met
  /// conflicts of rows too throws those first.
  var notUnique: SaveError?
}

// Conflicts of deleted objects to which another context has related objects.
extension ManagedObjectContext {
  /// Takes the deletion of an object back, or applies its delete rules to the objects that another context has
  /// related to it.
  ///
  /// Merge policies do not decide about a `deny` rule: if the related objects had been known before the save, it
  /// would have been refused for them.
  ///
  /// - Returns: The errors of `deny` rules.
  @_optimize(none)
  private func resolveReferrers(of object: ManagedObject, _ conflict: SaveConflict) throws
    -> [ValidationError]
  {
    guard object.flags.contains(.deleted) else { return [] }
    let related = object.scope.plan.relationships.compactMap { relationship in
      relationship.flatMap { ruled in (ruled, addedByOthers(to: object, ruled)) }
    }
    let denying = related.filter { $0.0.description.deleteRule.refusesDeletion && !$0.1.isEmpty }
    if !denying.isEmpty {
      return denying.map { relationship, others in
        ValidationError(.deleteDenied, of: object, relationship.name, denyingCount: others.count)
      }
    }
    switch try resolution(of: conflict) {
    case .storeWins, .rollback:
      refreshKeepingChanges(of: object)
      if !object.flags.contains(.inaccessible) { revertDeletion(of: object) }
    case .objectWins, .overwrite, .values:
      for (relationship, others) in related { applyDeleteRule(relationship, to: others) }
    }
    return []
  }

  /// Applies the delete rule of a deleted object's relationship to objects that another context has added to it.
  @_optimize(none)
  private func applyDeleteRule(_ relationship: RelationshipPlan, to others: [ManagedObject]) {
    if let inverse = inverse(of: relationship), !inverse.isToMany {
      for other in others { setReference(of: other, inverse, to: nil) }
    }
    if relationship.description.deleteRule.owns { for other in others { delete(other) } }
  }

  /// The objects that the store relates to a deleted object, and that this context has neither deleted nor removed
  /// from the relationship.
  @_optimize(none)
  private func addedByOthers(
    to object: ManagedObject, _ relationship: RelationshipPlan
  ) -> [ManagedObject] {
    if relationship.description.deleteRule.leavesReferences { return [] }
    // The object's own row holds this reference, so no other context has added it.
    if case .reference = relationship.storage, !relationship.isSymmetric { return [] }
    let stored = ToManyState()
    load(object, relationship, stored)
    var removed = object.extras?.toManyState(relationship.slot)?.removed
    let others = (stored.keys?.keys ?? []).compactMap { self.object($0, relationship) }
    let reference = inverse(of: relationship).flatMap { $0.isToMany ? nil : $0 }
    return others.filter { other in
      if other.isPending { refreshRelationships(of: other, reading: reference) }
      other._willRead()
      guard let reference else { return removed?.contains(other.key) != true }
      return other.referenceKey(reference.slot) == object.key
    }
  }
}
