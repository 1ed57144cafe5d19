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
    let select = model.selects[plan.index]
    let connection = try reader()
    try making?.index(relationship)
    let sql = relatedSQL(relationship)
    let statement = try connection.statement(
      .init(purpose: .related, place: -1 - object.scope.plan.index, detail: .init(relationship.slot))
    ) {
      select.sql + sql.join + " WHERE \(sql.owner) = ?1" + (select.condition.map { " AND " + $0 } ?? "")
        + " ORDER BY \(sql.order)"
    }
    statement.bind(object.key, at: 1)
    let rows = try objects(from: statement, select, of: plan)
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
    let sql = relatedSQL(relationship)
    guard let position = sql.position else { return }
    let table = SQLite.quoted(model.entities[relationship.destination].table)
    let positions = try reader().statement(
      "SELECT t0._pk, \(position) FROM \(table) AS t0\(sql.join) "
        + "WHERE \(sql.owner) = ?1 AND \(position) IS NOT NULL")
    defer { positions.reset() }
    positions.bind(object.key, at: 1)
    state.positions.removeAll()
    while try positions.step() { state.positions[positions.int64(0)] = positions.int64(1) }
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
}
