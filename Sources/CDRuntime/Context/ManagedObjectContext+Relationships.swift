// Relationships: what they hold, and how a change of one side changes the other.
extension ManagedObjectContext {
  private func inverse(of relationship: RelationshipPlan) -> RelationshipPlan? {
    relationship.inverseSlot.flatMap { model.entities[relationship.destination].relationships[$0] }
  }

  // MARK: To-one

  /// Sets a reference that stands in the object's own table, and the inverse.
  func setReference(of object: ManagedObject, _ relationship: RelationshipPlan, to new: ManagedObject?) {
    object._willRead()
    let slot = relationship.slot
    let oldKey = object.referenceKey(slot)
    let newKey = new?.key ?? 0
    guard oldKey != newKey else { return }
    guard let inverse = inverse(of: relationship) else {
      write(newKey, to: object, slot)
      return
    }
    if inverse.isToMany {
      write(newKey, to: object, slot)
      if oldKey != 0, let old = holder(oldKey, relationship) {
        old.toManyState(inverse.slot).remove(object.key)
        old.noteTouch(inverse.slot)
      }
      if let new {
        new.toManyState(inverse.slot).add(object.key)
        new.noteTouch(inverse.slot)
      }
    } else if relationship.isSymmetric {
      setSymmetric(object, relationship, oldKey: oldKey, new: new)
    } else {
      let former = new.flatMap { partner(of: $0, inverse) }
      if let former, former !== object { write(0, to: former, slot) }
      write(newKey, to: object, slot)
      if oldKey != 0, let old = holder(oldKey, relationship) {
        old.requireExtras().partners[inverse.slot] = 0
        old.noteTouch(inverse.slot)
      }
      if let new {
        new.requireExtras().partners[inverse.slot] = object.key
        new.noteTouch(inverse.slot)
      }
    }
  }

  private func setSymmetric(
    _ object: ManagedObject, _ relationship: RelationshipPlan, oldKey: ObjectKey, new: ManagedObject?
  ) {
    let slot = relationship.slot
    if oldKey != 0, oldKey != object.key, let old = self.object(oldKey, relationship),
      referenceKey(of: old, slot) == object.key
    {
      write(0, to: old, slot)
    }
    if let new, new !== object {
      let formerKey = referenceKey(of: new, slot)
      if formerKey != 0, formerKey != object.key, formerKey != new.key,
        let former = self.object(formerKey, relationship)
      {
        write(0, to: former, slot)
      }
      write(object.key, to: new, slot)
    }
    write(new?.key ?? 0, to: object, slot)
  }

  /// The object that a reference leads to, also where it has been deleted: its rules are still to be checked.
  private func holder(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    registered(key, root: model.entities[relationship.destination].root) ?? object(key, relationship)
  }

  private func referenceKey(of object: ManagedObject, _ slot: Int) -> ObjectKey {
    object._willRead()
    return object.referenceKey(slot)
  }

  private func write(_ key: ObjectKey, to object: ManagedObject, _ slot: Int) {
    object._willWrite(slot)
    object._setReference(slot, key)
  }

  /// The object on the other side of a one-to-one relationship whose reference stands there.
  func partner(of object: ManagedObject, _ relationship: RelationshipPlan) -> ManagedObject? {
    guard let inverse = inverse(of: relationship) else { return nil }
    if let known = object.extras?.partners[relationship.slot] {
      return known == 0 ? nil : self.object(known, relationship)
    }
    guard !object.flags.contains(.inserted), !object.flags.contains(.inaccessible),
      let column = model.referenceColumn(behind: relationship)
    else { return nil }
    do {
      let plan = model.entities[relationship.destination]
      let select = model.selects[plan.index]
      let statement = try reader().statement(
        select.sql + " WHERE t0.\(SQLite.quoted(column.name)) = ?1"
          + (select.condition.map { " AND " + $0 } ?? ""))
      statement.bind(object.key, at: 1)
      // The row's object may have been changed since, or deleted.
      let holders = try objects(from: statement, select, of: plan).filter {
        $0.referenceKey(inverse.slot) == object.key
      }
      let found = holders.first { !$0.isDeleted }
      // Nothing is noted of a deleted one, for a rollback brings it back.
      if found != nil || holders.isEmpty {
        object.requireExtras().partners[relationship.slot] = found?.key ?? 0
      }
      return found
    } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return nil
    }
  }

  func setPartner(of object: ManagedObject, _ relationship: RelationshipPlan, to new: ManagedObject?) {
    guard let inverse = inverse(of: relationship) else { return }
    let former = partner(of: object, relationship)
    guard former !== new else { return }
    if let former { setReference(of: former, inverse, to: nil) }
    if let new { setReference(of: new, inverse, to: object) }
  }

  // MARK: To-many

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

  /// Reads which objects a relationship has.
  ///
  /// - Returns: The objects, where nothing that is unsaved has a say in them.
  @discardableResult
  private func load(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) -> [ManagedObject]? {
    var rows: [ManagedObject] = []
    if !object.flags.contains(.inserted) {
      do {
        rows = try relatedRows(object, relationship, state)
      } catch {
        object.report(.readFailed("\(error)"), slot: relationship.slot)
        return nil
      }
    }
    return fill(state, with: rows)
  }

  /// Notes which rows' objects a relationship has, with what was added to it and removed from it since.
  ///
  /// - Returns: The objects, where nothing that is unsaved has a say in them.
  @discardableResult
  func fill(_ state: ToManyState, with rows: [ManagedObject]) -> [ManagedObject]? {
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
    for member in rows { keys.append(member.key) }
    state.load(keys)
    return nil
  }

  /// The objects of a to-many relationship's rows, as the store has them; the positions go to the state.
  private func relatedRows(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws -> [ManagedObject] {
    let plan = model.entities[relationship.destination]
    let select = model.selects[plan.index]
    let connection = try reader()
    let sql = relatedSQL(relationship)
    let statement = try connection.statement(
      .init(purpose: .related, place: -1 - object.scope.plan.index, detail: .init(relationship.slot))
    ) {
      select.sql + sql.join + " WHERE \(sql.owner) = ?1" + (select.condition.map { " AND " + $0 } ?? "")
        + " ORDER BY \(sql.order)"
    }
    statement.bind(object.key, at: 1)
    let rows = try objects(from: statement, select, of: plan)
    if let position = sql.position {
      let positions = try connection.statement(
        "SELECT t0._pk, \(position) FROM \(SQLite.quoted(plan.table)) AS t0\(sql.join) "
          + "WHERE \(sql.owner) = ?1 AND \(position) IS NOT NULL")
      defer { positions.reset() }
      positions.bind(object.key, at: 1)
      state.positions.removeAll()
      while try positions.step() { state.positions[positions.int64(0)] = positions.int64(1) }
    }
    return rows
  }

  /// Where the rows of a to-many relationship are; `owner` is the column with the key of the object that has it.
  func relatedSQL(
    _ relationship: RelationshipPlan
  ) -> (join: String, owner: String, order: String, position: String?) {
    switch relationship.storage {
    case .join(let place, let isSource):
      let join = model.joins[place]
      let own = isSource ? "_source" : "_target"
      let other = isSource ? "_target" : "_source"
      let position =
        relationship.isOrdered ? (isSource ? "j._position" : "j._inverse_position") : nil
      return (
        " JOIN \(SQLite.quoted(join.table)) AS j ON j.\(other) = t0._pk", "j.\(own)",
        (position.map { $0 + ", " } ?? "") + "t0._pk", position
      )
    case .referencesOfOthers, .reference, .inverseReference:
      let column = model.referenceColumn(behind: relationship).map { SQLite.quoted($0.name) } ?? "_pk"
      let position = model.positionColumn(of: relationship).map { "t0." + SQLite.quoted($0) }
      return ("", "t0.\(column)", (position.map { $0 + ", " } ?? "") + "t0._pk", position)
    }
  }

  /// Adds an object to a to-many relationship, at an index of an ordered one. What has not been loaded is
  /// not, unless an index asks for it.
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
        state.add(member.key)
        object.noteTouch(relationship.slot)
        if let inverse = inverse(of: relationship), !(relationship.isSymmetric && member === object) {
          let other = member.toManyState(inverse.slot)
          if other.keys == nil || other.keys?.contains(object.key) == false {
            other.add(object.key)
            member.noteTouch(inverse.slot)
          }
        }
      }
    case .referencesOfOthers, .reference, .inverseReference:
      if let inverse = inverse(of: relationship) { setReference(of: member, inverse, to: object) }
    }
    if let index, relationship.isOrdered, var keys = state.keys {
      // The index is one among the objects that can be seen: deleted ones have a key in the list until the save.
      let others = objects(of: object, relationship).filter { $0 !== member }
      keys.remove(member.key)
      let place = index < others.count ? keys.keys.firstIndex(of: others[max(0, index)].key) : nil
      keys.insert(member.key, at: place ?? keys.count)
      setOrder(of: object, relationship, to: keys.keys)
    }
  }

  func remove(_ member: ManagedObject, from object: ManagedObject, _ relationship: RelationshipPlan) {
    switch relationship.storage {
    case .join:
      let state = object.toManyState(relationship.slot)
      if state.keys != nil, state.keys?.contains(member.key) == false { return }
      state.remove(member.key)
      object.noteTouch(relationship.slot)
      if let inverse = inverse(of: relationship), !(relationship.isSymmetric && member === object) {
        member.toManyState(inverse.slot).remove(object.key)
        member.noteTouch(inverse.slot)
      }
    case .referencesOfOthers, .reference, .inverseReference:
      guard let inverse = inverse(of: relationship) else { return }
      member._willRead()
      if member.referenceKey(inverse.slot) == object.key { setReference(of: member, inverse, to: nil) }
    }
  }

  /// Sets the order of an ordered relationship's objects, which are all in it.
  func setOrder(of object: ManagedObject, _ relationship: RelationshipPlan, to keys: [ObjectKey]) {
    let state = object.toManyState(relationship.slot)
    guard state.keys?.keys != keys else { return }
    var seen: Set<ObjectKey> = []
    state.keys = KeyList(keys.filter { seen.insert($0).inserted })
    state.cache = nil
    state.isOrderChanged = true
    object.noteTouch(relationship.slot)
  }
}
