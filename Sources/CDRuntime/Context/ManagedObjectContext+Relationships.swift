// To-one relationships: reading them, and changing both sides together.
extension ManagedObjectContext {
  func inverse(of relationship: RelationshipPlan) -> RelationshipPlan? {
    relationship.inverseSlot.flatMap { model.entities[relationship.destination].relationships[$0] }
  }

  /// Sets a reference in the object's own table, and the other side of the relationship.
  func setReference(of object: ManagedObject, _ relationship: RelationshipPlan, to new: ManagedObject?) {
    object._willRead()
    let slot = relationship.slot
    let oldKey = object.referenceKey(slot)
    let newKey = new?.key ?? 0
    guard oldKey != newKey else { return }
    guard let inverse = inverse(of: relationship) else {
      if newKey == 0, refersToDiscarded(oldKey, relationship) { return }
      object.writeReference(newKey, slot)
      return
    }
    if undoManager != nil {
      if oldKey != 0, let old = referent(oldKey, relationship) { noteUndo(old, inverse.slot) }
      if let new { noteUndo(new, inverse.slot) }
    }
    if inverse.isToMany {
      object.writeReference(newKey, slot)
      if oldKey != 0, let old = referent(oldKey, relationship) {
        remove(object, fromInverse: inverse, of: old)
      }
      if let new {
        new.willChange(inverse.slot)
        let state = new.toManyState(inverse.slot)
        state.add(object.key)
        // The list may have been read when the row still referred to the object. It is read again later.
        if object.version != 0, object.storedReferenceKey(slot) != newKey {
          state.noteAddition(of: object.key)
        }
        new.noteChangeOutsideRow(inverse.slot)
      }
    } else if relationship.isSymmetric {
      setSymmetric(object, relationship, oldKey: oldKey, new: new)
    } else {
      let formers: [ManagedObject]
      do { formers = try new.map { try referrers(of: $0, inverse) } ?? [] } catch {
        return noteFailure(error, of: object, slot: slot)
      }
      for former in formers where former !== object { former.writeReference(0, slot) }
      object.writeReference(newKey, slot)
      if oldKey != 0, let old = referent(oldKey, relationship) {
        remove(object, fromInverse: inverse, of: old)
      }
      if let new {
        new.willChange(inverse.slot)
        new.requireExtras().partners[inverse.slot] = object.key
        new.noteChangeOutsideRow(inverse.slot)
      }
    }
  }

  /// Whether a reference without an inverse leads to an object that was deleted before it was ever saved, here or in
  /// a parent. The reference counts as nil already: the deletion does not search for it, and the save clears it.
  func refersToDiscarded(_ key: ObjectKey, _ relationship: RelationshipPlan) -> Bool {
    guard key != 0, !relationship.hasInverse else { return false }
    let known = registered(key, root: model.entities[relationship.destination].root)
    if let known, known.flags.contains(.inserted) { return known.flags.contains(.deleted) }
    // Its own changes are in conflict with the deletion. The merge policy may bring the object back.
    if let known, known.isPending, known.exists { return false }
    return parent?.refersToDiscarded(key, relationship) == true
  }

  /// Removes an object from the other side's relationship after its reference has changed.
  func remove(_ object: ManagedObject, fromInverse inverse: RelationshipPlan, of former: ManagedObject) {
    former.willChange(inverse.slot)
    if inverse.isToMany {
      let state = former.toManyState(inverse.slot)
      if state.keys == nil, state.added.contains(object.key), let slot = inverse.inverseSlot,
        object.storedReferenceKey(slot) != former.key
      {
        // The row did not refer to the former object. If another context has related the two meanwhile, they stay related.
        state.forgetChange(of: object.key)
      } else {
        state.remove(object.key)
      }
    } else {
      let extras = former.requireExtras()
      // Another context's save may have given the former object another partner.
      if extras.partners[inverse.slot] ?? object.key == object.key { extras.partners[inverse.slot] = 0 }
    }
    former.noteChangeOutsideRow(inverse.slot)
  }

  private func setSymmetric(
    _ object: ManagedObject, _ relationship: RelationshipPlan, oldKey: ObjectKey, new: ManagedObject?
  ) {
    let slot = relationship.slot
    if oldKey != 0, oldKey != object.key, let old = referent(oldKey, relationship) {
      if referenceKey(of: old, slot) != object.key, old.flags.isDisjoint(with: [.inserted, .deleted]),
        old.extras?.changed.contains(slot) != true
      {
        // Its changes have kept it from being read again since another context made the two partners.
        refreshRelationships(of: old, reading: relationship)
      }
      if referenceKey(of: old, slot) == object.key { old.writeReference(0, slot) }
    }
    if let new, new !== object {
      let formerKey = referenceKey(of: new, slot)
      if formerKey != 0, formerKey != object.key, formerKey != new.key,
        let former = referent(formerKey, relationship)
      {
        former.writeReference(0, slot)
      }
      new.writeReference(object.key, slot)
    }
    object.writeReference(new?.key ?? 0, slot)
  }

  /// The object that a reference leads to, even if this context has deleted it: its rules still have to be checked.
  /// Nil for an object that is gone: it has no rules any more, and must not become a changed object.
  func referent(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    guard let known = registered(key, root: model.entities[relationship.destination].root) else {
      return object(key, relationship)
    }
    // A child's fault may stand for an object that its parent has deleted.
    if parent != nil { known._willRead() }
    // Another context may have inserted the row of a gone object again.
    if known.flags.contains(.deletionSaved) { return object(key, relationship) }
    return known.flags.contains(.inaccessible) ? nil : known
  }

  private func referenceKey(of object: ManagedObject, _ slot: Int) -> ObjectKey {
    object._willRead()
    return object.referenceKey(slot)
  }

  /// The object on the other side of a one-to-one relationship whose reference the other side stores.
  func partner(of object: ManagedObject, _ relationship: RelationshipPlan) -> ManagedObject? {
    do { return try partnerForCaller(of: object, relationship) } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return nil
    }
  }

  /// The same object, for a caller that must not take it for gone if the store cannot be read.
  ///
  /// - Throws: The error of a store that cannot be read.
  func partnerForCaller(
    of object: ManagedObject, _ relationship: RelationshipPlan
  ) throws -> ManagedObject? {
    if let known = object.extras?.partners[relationship.slot] {
      return known == 0 ? nil : self.object(known, relationship)
    }
    let referrers = try readReferrers(of: object, relationship)
    let found = referrers?.first { !$0.isDeleted }
    // A deleted partner is not recorded, because a rollback brings it back.
    if let referrers, found != nil || referrers.isEmpty {
      object.requireExtras().partners[relationship.slot] = found?.key ?? 0
    }
    return found
  }

  /// The objects whose references lead to an object in a one-to-one relationship: its partner, and objects whose
  /// deletion is unsaved. A `deny` rule refuses a deletion as long as the reference exists.
  func referrers(
    of object: ManagedObject, _ relationship: RelationshipPlan
  ) throws -> [ManagedObject] {
    if let known = object.extras?.partners[relationship.slot] {
      return known == 0 ? [] : referent(known, relationship).map { [$0] } ?? []
    }
    return try readReferrers(of: object, relationship) ?? []
  }

  /// Finds these objects by the store's rows, and by objects with changes that have not been read again. Nil if no row
  /// can refer to the object.
  func readReferrers(
    of object: ManagedObject, _ relationship: RelationshipPlan
  ) throws -> [ManagedObject]? {
    guard let inverse = inverse(of: relationship), object.mayHaveRowsOfOthers,
      !object.flags.contains(.inaccessible), let column = model.inverseReferenceColumn(of: relationship)
    else { return nil }
    // The object of a row may have been changed or deleted since.
    let found = try storedReferrers(of: object, relationship, column).filter {
      $0.referenceKey(inverse.slot) == object.key
    }
    return pendingChanges.hasContestedReferrers
      ? found + contestedReferrers(of: object, relationship, besides: found) : found
  }

  /// The objects that still refer to an object as their rows did before another context changed the rows.
  private func contestedReferrers(
    of object: ManagedObject, _ relationship: RelationshipPlan, besides known: [ManagedObject]
  ) -> [ManagedObject] {
    let partner = OneToOnePartner(relationship, object.key, model)
    let keys = pendingChanges.contestedReferrers(to: partner)
    return keys.compactMap { registered($0, root: partner.root) }.filter { referrer in
      referrer.isPending && !referrer.flags.isDisjoint(with: [.outdated, .rowDeletedElsewhere])
        && referrer.flags.isDisjoint(with: [.deletionSaved, .inaccessible])
        && referrer.referenceKey(partner.slot) == object.key && !known.contains { $0 === referrer }
    }
  }

  /// The objects whose rows refer to an object.
  private func storedReferrers(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ column: ColumnPlan
  ) throws -> [ManagedObject] {
    if let parent { return try partnerChildInstance(of: object, relationship, parent) }
    let plan = model.entities[relationship.destination]
    try importTarget?.index(relationship)
    return try objects(from: reader().rows(ofSubtree: plan, referringBy: column, to: object.key), of: plan)
  }

  func setPartner(of object: ManagedObject, _ relationship: RelationshipPlan, to new: ManagedObject?) {
    guard let inverse = inverse(of: relationship) else { return }
    let formers: [ManagedObject]
    do { formers = try referrers(of: object, relationship) } catch {
      return noteFailure(error, of: object, slot: relationship.slot)
    }
    for former in formers where former !== new {
      setReference(of: former, inverse, to: nil)
    }
    if let new { setReference(of: new, inverse, to: object) }
  }
}

// To-many relationships: reading their objects on first use.
extension ManagedObjectContext {
  /// The objects of a to-many relationship. If the store cannot be read, these are the ones in memory.
  func objects(of object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject] {
    do { return try objectsForCaller(of: object, relationship) } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      let root = model.entities[relationship.destination].root
      let keys = object.toManyState(relationship.slot).keys?.keys ?? []
      return keys.compactMap { registered($0, root: root) }.filter { !$0.isDeleted }
    }
  }

  /// The objects of a to-many relationship, for a caller that needs all of them.
  ///
  /// - Throws: The error of a store that cannot be read.
  func objectsForCaller(
    of object: ManagedObject, _ relationship: RelationshipPlan
  ) throws -> [ManagedObject] {
    try objects(of: object, relationship, object.toManyState(relationship.slot))
  }

  /// - Parameter state: The object's state of the relationship, or another one with the same changes.
  private func objects(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws -> [ManagedObject] {
    if let cache = state.cache { return cache }
    if state.keys == nil, let loaded = try loadForCaller(object, relationship, state) { return loaded }
    guard let keys = state.keys else { return [] }
    let plan = model.entities[relationship.destination]
    var objects: [ManagedObject] = []
    objects.reserveCapacity(keys.count)
    var isComplete = true
    for key in keys.keys {
      guard let member = registered(key, root: plan.root) else {
        isComplete = false
        break
      }
      if try isMember(member) { objects.append(member) }
    }
    if !isComplete { objects = try readMembers(of: object, relationship, state, keys) }
    // These reads may have told of another context's save, which makes the relationship be read again.
    if state.keys == nil { return try self.objects(of: object, relationship, state) }
    registry.cache(objects, of: state)
    return objects
  }

  /// Whether an object of a loaded relationship has not been deleted. An object that the parent has deleted is a fault in
  /// the child, and still in a relationship that the child has changed.
  ///
  /// - Throws: The error of a store that the parent cannot read.
  private func isMember(_ object: ManagedObject) throws -> Bool {
    if parent != nil, object.isFault, try parentInstanceForCaller(of: object) == nil { return false }
    return !object.isDeleted
  }

  /// Fetches the objects of a loaded relationship again with one statement, because some are not in memory. Objects
  /// that it does not find are gone, and are removed from the relationship.
  private func readMembers(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState, _ keys: KeyList
  ) throws -> [ManagedObject] {
    let rows = try relatedRows(object, relationship, state)
    return try withExtendedLifetime(rows) {
      let root = model.entities[relationship.destination].root
      return try keys.keys.compactMap { key in
        if let member = registered(key, root: root) { return try isMember(member) ? member : nil }
        if state.added.contains(key), let member = self.object(key, relationship) { return member }
        state.keys?.remove(key)
        return nil
      }
    }
  }

  /// The objects that a to-many relationship will have after the save. An ordered relationship with changes is not read
  /// again before the save, but another context may have added or removed objects.
  func objectsWithOthers(of object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject] {
    guard let state = object.extras?.toManyState(relationship.slot), state.isOutdated else {
      return objects(of: object, relationship)
    }
    let newest = ToManyState()
    (newest.added, newest.removed) = (state.added, state.removed)
    do { return try objects(of: object, relationship, newest) } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return objects(of: object, relationship)
    }
  }

  /// Reads the objects of a relationship. If the store cannot be read, the relationship is not loaded afterwards.
  ///
  /// - Returns: The objects, if there are no unsaved changes to take into account; nil otherwise.
  @discardableResult
  func load(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) -> [ManagedObject]? {
    do { return try loadForCaller(object, relationship, state) } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return nil
    }
  }

  private func loadForCaller(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws -> [ManagedObject]? {
    let rows = try object.mayHaveRowsOfOthers ? relatedRows(object, relationship, state) : []
    return fill(state, relationship, of: object.key, with: rows)
  }

  /// Sets the objects of a relationship from its rows, combined with the objects that were added and removed since.
  ///
  /// - Returns: The objects, if there are no unsaved changes to take into account; nil otherwise.
  @discardableResult
  func fill(
    _ state: ToManyState, _ relationship: RelationshipPlan, of owner: ObjectKey, with rows: [ManagedObject]
  ) -> [ManagedObject]? {
    var keys: [ObjectKey] = []
    keys.reserveCapacity(rows.count)
    if pending.isEmpty {
      for index in rows.indices { keys.append(rows[index].key) }
      state.keys = KeyList(keys)
      registry.cache(rows, of: state)
      return rows
    }
    // Deleted objects are included, because a rollback brings them back.
    for member in rows where !isElsewhere(member, than: owner, relationship, state) {
      keys.append(member.key)
    }
    if case .referencesOfOthers = relationship.storage { forgetDisproved(state, relationship, of: owner) }
    state.load(keys)
    return nil
  }

  /// Forgets changes of a relationship that other objects store if these objects' references say otherwise: their own changes
  /// were taken back, and their rows were read again.
  private func forgetDisproved(
    _ state: ToManyState, _ relationship: RelationshipPlan, of owner: ObjectKey
  ) {
    guard let slot = relationship.inverseSlot else { return }
    let root = model.entities[relationship.destination].root
    for key in state.added.keys + state.removed.keys {
      guard let member = registered(key, root: root) else {
        state.forgetChange(of: key)
        continue
      }
      // A deleted object keeps its reference, although its deletion has removed it from the list.
      if !member.flags.isDisjoint(with: [.deleted, .deletionSaved, .inaccessible]) { continue }
      member._willRead()
      if member.referenceKey(slot) != owner {
        state.forgetAddition(of: key)
      } else if !state.added.contains(key) {
        // An object that was removed and added again keeps both changes, because it is at the end.
        state.forgetChange(of: key)
      }
    }
  }

  /// Whether an unsaved reference of a member leads to another object than `owner`, although the owner's list does not have
  /// the removal: it was read after another context had related the two, or without the member.
  @inline(__always) private func isElsewhere(
    _ member: ManagedObject, than owner: ObjectKey, _ relationship: RelationshipPlan, _ state: ToManyState
  ) -> Bool {
    guard let extras = member.extras, case .referencesOfOthers = relationship.storage,
      let slot = relationship.inverseSlot, extras.changed.contains(slot)
    else { return false }
    return member.referenceKey(slot) != owner && !state.removed.contains(member.key)
  }

  /// The objects of a to-many relationship's rows in the store. Their positions go to the state.
  private func relatedRows(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws -> [ManagedObject] {
    if let parent { return try relatedChildInstances(object, relationship, state, parent) }
    let plan = model.entities[relationship.destination]
    let session = try reader()
    try importTarget?.index(relationship)
    let rows = try objects(from: session.rows(of: relationship, of: object.key, object.scope.plan), of: plan)
    if relationship.isOrdered { try readPositions(object, relationship, state) }
    return rows
  }

  /// Reads the stored positions of an ordered relationship's objects.
  func readPositions(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws {
    if let parent {
      _ = try relatedChildInstances(object, relationship, state, parent)
      return
    }
    if let positions = try reader().positions(of: relationship, of: object.key) {
      state.positions = positions
    }
  }
}

// To-many relationships: changing both sides together.
extension ManagedObjectContext {
  /// Adds an object to a to-many relationship, at an index if it is ordered. A relationship that has not been loaded
  /// is loaded only if there is an index.
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
        if state.isOutdated { resolveOutdated(member, in: state, of: object, relationship) }
        willRelate(object, relationship, member)
        state.add(member.key)
        object.noteChangeOutsideRow(relationship.slot)
        if let inverse = inverse(of: relationship), !(relationship.isSymmetric && member === object) {
          let other = member.toManyState(inverse.slot)
          if other.keys == nil || other.keys?.contains(object.key) == false {
            if other.isOutdated { resolveOutdated(object, in: other, of: member, inverse) }
            member.willChange(inverse.slot)
            other.add(object.key)
            member.noteChangeOutsideRow(inverse.slot)
          }
          if state.changes(member.key) != other.changes(object.key) {
            makeSidesAgree(member, state, object, relationship, other, areRelated: true)
          }
        }
      }
    case .referencesOfOthers, .reference, .inverseReference:
      if let inverse = inverse(of: relationship) { setReference(of: member, inverse, to: object) }
    }
    guard let index, relationship.isOrdered else { return }
    // Recording the other side for undo may have made this side be read again.
    if state.keys == nil { load(object, relationship, state) }
    if var keys = state.keys {
      // The index counts visible objects: deleted objects have a key in the list until the save.
      let others = objects(of: object, relationship).filter { $0 !== member }
      keys.remove(member.key)
      let position = index < others.count ? keys.keys.firstIndex(of: others[max(0, index)].key) : nil
      keys.insert(member.key, at: position ?? keys.count)
      setOrder(of: object, relationship, to: keys.keys)
    }
  }

  func remove(_ member: ManagedObject, from object: ManagedObject, _ relationship: RelationshipPlan) {
    switch relationship.storage {
    case .join:
      let state = object.toManyState(relationship.slot)
      resolveShared(member, in: state, of: object, relationship)
      if state.keys != nil, state.keys?.contains(member.key) == false { return }
      willRelate(object, relationship, member)
      state.remove(member.key)
      object.noteChangeOutsideRow(relationship.slot)
      if let inverse = inverse(of: relationship), !(relationship.isSymmetric && member === object) {
        let other = member.toManyState(inverse.slot)
        resolveShared(object, in: other, of: member, inverse)
        member.willChange(inverse.slot)
        other.remove(object.key)
        member.noteChangeOutsideRow(inverse.slot)
        if state.changes(member.key) != other.changes(object.key) {
          makeSidesAgree(member, state, object, relationship, other, areRelated: false)
        }
      }
    case .referencesOfOthers, .reference, .inverseReference:
      guard let inverse = inverse(of: relationship) else { return }
      member._willRead()
      if member.referenceKey(inverse.slot) == object.key { setReference(of: member, inverse, to: nil) }
    }
  }

  /// Makes both sides of a pair record the same change. They can differ if the context has read them before and after
  /// another context has added or removed the pair: one side takes a change back, and the other one makes a change. The
  /// save writes one side only, and the context shows both.
  private func makeSidesAgree(
    _ member: ManagedObject, _ state: ToManyState, _ object: ManagedObject, _ relationship: RelationshipPlan,
    _ other: ToManyState, areRelated: Bool
  ) {
    guard let inverse = inverse(of: relationship) else { return }
    let isStored = hasPairRow(object, relationship, member)
    let sides = [
      (state, member.key, object, relationship.slot), (other, object.key, member, inverse.slot),
    ]
    // A pair that was removed and added again has moved to the end, which is no change of a list that has been read.
    if areRelated, isStored {
      if state.keys == nil { load(object, relationship, state) }
      if other.keys == nil { load(member, inverse, other) }
    }
    let isAdded = sides.contains { side, key, _, _ in side.changes(key).isAdded }
    for (side, key, owner, slot) in sides {
      let changes = side.changes(key)
      if areRelated, isStored {
        if changes == (isAdded, false) { continue }
        side.forgetChange(of: key)
        if isAdded {
          side.noteAddition(of: key)
          side.share(key)
        }
      } else {
        if areRelated ? changes.isAdded : changes.isRemoved == isStored && !changes.isAdded { continue }
        side.setMembership(key, isMember: areRelated, isStored: isStored)
      }
      owner.willChange(slot)
      owner.noteChangeOutsideRow(slot)
    }
  }

  /// Finds out whether another context has also made the change of a pair that is about to be taken back. If not, the
  /// two changes cancel out, and the save does not remove a pair that another context adds later.
  @inline(__always) private func resolveShared(
    _ member: ManagedObject, in state: ToManyState, of object: ManagedObject, _ relationship: RelationshipPlan
  ) {
    if state.keys == nil {
      if state.added.contains(member.key) { load(object, relationship, state) }
    } else if state.isOutdated {
      resolveOutdated(member, in: state, of: object, relationship)
    }
  }

  /// Does the same for an ordered relationship, which is not read again before the save.
  private func resolveOutdated(
    _ member: ManagedObject, in state: ToManyState, of object: ManagedObject, _ relationship: RelationshipPlan
  ) {
    let isAdded = state.added.contains(member.key)
    guard isAdded || state.removed.contains(member.key) else { return }
    if hasPairRow(object, relationship, member) == isAdded { state.share(member.key) }
  }

  /// Called before a pair is added or removed.
  @inline(__always) private func willRelate(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) {
    object.willChange(relationship.slot)
    guard undoManager != nil else { return }
    noteUndo(object, relationship.slot)
    if let inverse = relationship.inverseSlot { noteUndo(member, inverse) }
    noteUndo(object, relationship, member)
  }

  /// Sets the order of an ordered relationship. All keys must be in it already.
  ///
  /// The list keeps members whose deletion is unsaved, although the caller does not see them: a delete rule has left their
  /// pairs, which are there again after an undo of the deletion.
  func setOrder(of object: ManagedObject, _ relationship: RelationshipPlan, to keys: [ObjectKey]) {
    let state = object.toManyState(relationship.slot)
    guard state.keys?.keys != keys else { return }
    var seen: Set<ObjectKey> = []
    var order = keys.filter { seen.insert($0).inserted }
    if let former = state.keys, former.count > order.count {
      let root = model.entities[relationship.destination].root
      let hidden = former.keys.filter {
        !seen.contains($0) && registered($0, root: root)?.flags.contains(.deleted) == true
      }
      let left = Set(hidden)
      // The visible members have this order already.
      if former.keys.filter({ !left.contains($0) }) == order { return }
      order += hidden
    }
    if undoManager != nil { noteUndo(object, relationship.slot) }
    object.willChange(relationship.slot)
    state.keys = KeyList(order)
    state.cache = nil
    state.isOrderChanged = true
    object.noteChangeOutsideRow(relationship.slot)
  }
}

// Fetched properties: objects read their values through their context.
extension ManagedObjectContext {
  func fetchedProperty(_ name: String, of plan: EntityPlan) -> FetchedPropertyDescription? {
    if case .fetched(let property)? = model.graph.property(name, of: plan.name) { return property }
    return nil
  }

  /// - Throws: The errors of the fetch; ``FetchError/evaluation(_:)`` if the conditions of too many fetched properties read
  ///   each other.
  func fetch(_ property: FetchedPropertyDescription, for object: ManagedObject) throws -> [ManagedObject] {
    guard let plan = model.entity(property.entity) else { throw unknownEntity(property.entity) }
    var request = FetchRequest<ManagedObject>(entityName: property.entity, where: property.predicate)
    request.sortKeys = property.sort
    request.limit = property.limit
    return try activity.fetch(property.name, of: object.scope.plan) {
      try FetchRun(request, of: plan, in: self, fetchSource: object).objects()
    }
  }
}
