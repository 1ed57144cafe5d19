// To-many relationships: which objects they hold, read when they are first asked for.
extension ManagedObjectContext {
  /// The objects of a to-many relationship.
  func objects(of object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject] {
    let state = object.toManyState(relationship.slot)
    if let cache = state.cache { return cache }
    if state.keys == nil, let loaded = load(object, relationship, state) { return loaded }
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
      if !member.isDeleted { objects.append(member) }
    }
    if !isComplete {
      guard let found = readMembers(of: object, relationship, state, keys) else {
        return keys.keys.compactMap { registered($0, root: plan.root) }.filter { !$0.isDeleted }
      }
      objects = found
    }
    state.cache = objects
    cachingStates.append(state)
    return objects
  }

  /// The objects of a loaded relationship, some of which are not in memory: one statement fetches all again. Those
  /// that it does not find are gone, and taken out. Nil where the store cannot be read.
  private func readMembers(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState, _ keys: KeyList
  ) -> [ManagedObject]? {
    let rows: [ManagedObject]
    do {
      rows = try relatedRows(object, relationship, state)
    } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return nil
    }
    return withExtendedLifetime(rows) {
      let root = model.entities[relationship.destination].root
      return keys.keys.compactMap { key in
        if let member = registered(key, root: root) { return member.isDeleted ? nil : member }
        if state.added.contains(key), let member = self.object(key, relationship) { return member }
        state.keys?.remove(key)
        return nil
      }
    }
  }

  /// How many objects a to-many relationship has.
  func count(of object: ManagedObject, _ relationship: RelationshipPlan) -> Int {
    objects(of: object, relationship).count
  }

  /// How many objects a to-many relationship will have once it is saved: an ordered one that has changes is not read again
  /// before, but others may have added objects to it.
  func countWithOthers(of object: ManagedObject, _ relationship: RelationshipPlan) -> Int {
    guard let state = object.extras?.toManyState(relationship.slot), state.isOutdated else {
      return count(of: object, relationship)
    }
    let newest = ToManyState()
    (newest.added, newest.removed) = (state.added, state.removed)
    if let all = load(object, relationship, newest) { return all.count }
    guard let keys = newest.keys?.keys else { return count(of: object, relationship) }
    let root = model.entities[relationship.destination].root
    return keys.count { registered($0, root: root)?.isDeleted != true }
  }

  /// Reads which objects a relationship has.
  ///
  /// - Returns: The objects, where nothing that is unsaved has a say in them.
  @discardableResult
  func load(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) -> [ManagedObject]? {
    var rows: [ManagedObject] = []
    if object.mayHaveRowsOfOthers {
      do {
        rows = try relatedRows(object, relationship, state)
      } catch {
        object.report(.readFailed("\(error)"), slot: relationship.slot)
        return nil
      }
    }
    return fill(state, relationship, of: object.key, with: rows)
  }

  /// Notes which rows' objects a relationship has, with what was added to it and removed from it since.
  ///
  /// - Returns: The objects, where nothing that is unsaved has a say in them.
  @discardableResult
  func fill(
    _ state: ToManyState, _ relationship: RelationshipPlan, of owner: ObjectKey, with rows: [ManagedObject]
  ) -> [ManagedObject]? {
    var keys: [ObjectKey] = []
    keys.reserveCapacity(rows.count)
    if pending.isEmpty {
      for member in rows { keys.append(member.key) }
      state.keys = KeyList(keys)
      state.cache = rows
      cachingStates.append(state)
      return rows
    }
    // Deleted ones too, for a rollback brings them back.
    for member in rows where !isElsewhere(member, than: owner, relationship, state) {
      keys.append(member.key)
    }
    state.load(keys)
    return nil
  }

  /// Whether an unsaved reference of a member leads to another object than the one whose member others have made it.
  @inline(__always) private func isElsewhere(
    _ member: ManagedObject, than owner: ObjectKey, _ relationship: RelationshipPlan, _ state: ToManyState
  ) -> Bool {
    guard member.flags.contains(.outdated), case .referencesOfOthers = relationship.storage,
      let slot = relationship.inverseSlot, member.extras?.changed.contains(slot) == true
    else { return false }
    return member.referenceKey(slot) != owner && !state.removed.contains(member.key)
  }

  /// The objects of a to-many relationship's rows, as the store has them; the positions go to the state.
  private func relatedRows(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws -> [ManagedObject] {
    if let parent { return relatedCopies(object, relationship, state, parent) }
    let plan = model.entities[relationship.destination]
    let session = try reader()
    try importTarget?.index(relationship)
    let rows = try objects(from: session.rows(of: relationship, of: object.key, object.scope.plan), of: plan)
    if relationship.isOrdered { try readPositions(object, relationship, state) }
    return rows
  }

  /// Reads the places that the store has of an ordered relationship's objects.
  func readPositions(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws {
    if let parent {
      _ = relatedCopies(object, relationship, state, parent)
      return
    }
    if let positions = try reader().positions(of: relationship, of: object.key) {
      state.positions = positions
    }
  }
}
