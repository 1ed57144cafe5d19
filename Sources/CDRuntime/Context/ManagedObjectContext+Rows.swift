import CSQLite

// Objects from rows.
extension ManagedObjectContext {
  /// The objects of the rows that a text chooses.
  ///
  /// Where the objects of a sample of the last rows are still in memory, the keys and versions of the rows are
  /// read first: what is in memory and current needs no more of its row. Where that guess turns out wrong,
  /// everything is read.
  func objects(
    selecting select: EntitySelect, of plan: EntityPlan, _ rest: String, _ bindings: [AttributeValue]
  ) throws -> [ManagedObject] {
    let connection = try reader()
    let statement = try connection.statement(select.sql + rest)
    if let map = maps[plan.root], statement.sample.count > 4,
      statement.sample.allSatisfy({ map[$0] != nil })
    {
      let keys = try connection.statement(select.keysSQL + rest)
      keys.bind(bindings)
      if let objects = try registeredObjects(from: keys, of: plan, map) { return objects }
    }
    statement.bind(bindings)
    let objects = try objects(from: statement, select, of: plan)
    let step = max(1, objects.count / 8)
    statement.sample = stride(from: 0, to: objects.count, by: step).map { objects[$0].key }
    return objects
  }

  /// The objects of rows of which a statement gives the keys and versions; nil where too many of them have to be
  /// read.
  private func registeredObjects(
    from keys: SQLiteStatement, of plan: EntityPlan, _ map: IdentityMap
  ) throws -> [ManagedObject]? {
    // While the statement runs, all reads see one state.
    runningReads += 1
    defer {
      keys.reset()
      runningReads -= 1
      awakeFetched()
      tellObserversUnlessReading()
    }
    sweepIfDue(map)
    var objects: [ManagedObject] = []
    var missing = 0
    while try keys.step() {
      let key = keys.int64(0)
      if let object = map[key], object.scope.plan.isKind(of: plan),
        object.isPending || object.version == keys.int64(1), !object.flags.contains(.fault)
      {
        objects.append(object)
        continue
      }
      missing += 1
      if missing > 32 + objects.count / 8 { return nil }
      if let object = try fetchObject(key, plan) { objects.append(object) }
    }
    map.expectHeld(objects.count)
    return objects
  }

  /// The objects of a statement's rows: new ones are made, registered ones are kept. One that has changes
  /// keeps its values; one that has none gets those of the row if the row is newer.
  func objects(from statement: SQLiteStatement, _ select: EntitySelect, of plan: EntityPlan) throws
    -> [ManagedObject]
  {
    var objects: [ManagedObject] = []
    defer {
      statement.reset()
      if !fetched.isEmpty { awakeFetched() }
      tellObserversUnlessReading()
    }
    // Here and not on the way: what the statement gives is held anyhow until its end.
    guard let map = maps[plan.root] else { return [] }
    sweepIfDue(map)
    defer { map.expectHeld(objects.count) }
    let handle = statement.handle
    guard let entityColumn = select.entityColumn else {
      let kind = rowKind(of: plan, handle)
      while try statement.step() {
        if let object = object(of: kind, handle, map) { objects.append(object) }
      }
      return objects
    }
    var current: (name: String, kind: RowKind)?
    while try statement.step() {
      let name = statement.string(entityColumn) ?? ""
      if current?.name != name {
        // A row of an entity that this model has not is nobody's to read.
        guard let entity = model.entity(name), let columns = select.maps[entity.index] else { continue }
        current = (name, rowKind(of: entity, handle, columns))
      }
      if let current, let object = object(of: current.kind, handle, map) { objects.append(object) }
    }
    return objects
  }

  /// What the rows of one entity in a statement become objects by.
  struct RowKind {
    let scope: ObjectScope
    let row: RowReader
    let makeObject: (ObjectSeed) -> ManagedObject
  }

  /// - Parameter columns: Where the statement has the entity's columns, when it selects those of several.
  func rowKind(of plan: EntityPlan, _ statement: OpaquePointer, _ columns: [Int32]? = nil) -> RowKind {
    RowKind(
      scope: scopes[plan.index], row: RowReader(statement: statement, map: columns, report: rowReport),
      makeObject: plan.factory ?? { ManagedObject(_seed: $0) })
  }

  /// The object of a row; nil where the row's key is none that an object can have.
  @inline(__always)
  func object(of kind: RowKind, _ statement: OpaquePointer, _ map: IdentityMap) -> ManagedObject? {
    let scope = kind.scope
    let key = sqlite3_column_int64(statement, 0)
    guard key > 0 else {
      reportUnusableKey(key, scope.plan)
      return nil
    }
    let version = sqlite3_column_int64(statement, 1)
    // A new object is read before the map is asked, which takes a while to answer. Where there is one after all, the
    // new one has been nobody's; one that is told of its values would have been seen.
    if map.missedLast, !scope.plan.hasLifecycle {
      map.prefetch(key)
      let object = kind.makeObject(ObjectSeed(seedState, scope: scope, key: key, version: version, flags: []))
      object._decode(kind.row)
      if rowReport.isEmpty {
        if let known = registered(key, map, scope, kind.row, version) { return known }
        map.insert(object)
        return object
      }
      // What is wrong with the row is told of the object that it will be.
      rowReport.removeAll()
    }
    if let known = registered(key, map, scope, kind.row, version) { return known }
    let object = kind.makeObject(ObjectSeed(seedState, scope: scope, key: key, version: version, flags: []))
    decode(object, kind.row)
    map.insert(object)
    return object
  }

  /// The object of a row that is in memory already, with the row's values where those are newer.
  @inline(__always)
  private func registered(
    _ key: ObjectKey, _ map: IdentityMap, _ scope: ObjectScope, _ row: RowReader, _ version: Int64
  ) -> ManagedObject? {
    guard let object = map[key] else {
      map.missedLast = true
      return nil
    }
    map.missedLast = false
    guard object.scope === scope else {
      giveUp(object)
      return nil
    }
    if object.version != version || object.flags.contains(.fault) { refresh(object, from: row, version) }
    return object
  }

  /// Says that a row has been passed over: keys begin at 1, and 0 means none.
  func reportUnusableKey(_ key: ObjectKey, _ plan: EntityPlan) {
    observe(ObservedError(reason: .unusableKey(key), entity: plan.name, property: nil, objectID: nil))
  }

  /// Lets go of an object that is of another entity than its row says: it was made by an identifier, before anybody
  /// had seen the row. Its class is not that of the row, and what reads the row counts on that.
  func giveUp(_ object: ManagedObject) {
    maps[object.scope.plan.root]?.remove(object.key)
    object.flags.insert(.inaccessible)
    object.report(.objectGone)
  }

  /// Gives an object the values of its row, unless it has changes.
  private func refresh(_ object: ManagedObject, from row: RowReader, _ version: Int64) {
    guard !object.isPending || object.flags.contains(.fault) else { return }
    // What is a fault either has no values yet or has been told of.
    if !object.flags.contains(.fault) { noteChange(of: object) }
    object.version = version
    object.flags.subtract([.fault, .inaccessible, .gone])
    decode(object, row)
  }

  @inline(__always) func decode(_ object: ManagedObject, _ row: RowReader) {
    object._decode(row)
    if object.scope.plan.hasLifecycle { fetched.append(object) }
    if !rowReport.isEmpty { reportColumns(of: object) }
  }

  private func reportColumns(of object: ManagedObject) {
    let plan = object.scope.plan
    for column in rowReport.columns {
      object.report(.wrongType, slot: column < plan.columns.count ? plan.columns[column].slot : nil)
    }
    for (column, reason) in rowReport.unreadable {
      object.report(
        .unreadableFile(reason), slot: column < plan.columns.count ? plan.columns[column].slot : nil)
    }
    rowReport.removeAll()
  }

  /// Reads the row of an object that is a fault. Its flag has been cleared.
  func fire(_ object: ManagedObject) {
    let plan = object.scope.plan
    guard plan.index >= 0 else { return }
    // The statement is done with when the object is told of its values.
    defer { if !fetched.isEmpty { awakeFetched() } }
    if parent != nil {
      if let original = original(of: object) { return take(from: original, into: object) }
      fillEmpty(object)
      if !object.flags.contains(.inaccessible) { object.report(.objectGone) }
      object.flags.insert(.inaccessible)
      return
    }
    do {
      let connection = try reader()
      let statement = try connection.faultStatement(plan.index) {
        plan.sql.selectByKey
      }
      defer { statement.reset() }
      statement.bind(object.key, at: 1)
      if try statement.step() {
        object.version = statement.int64(1)
        decode(object, RowReader(statement: statement.handle, map: nil, report: rowReport))
      } else {
        fillEmpty(object)
        // The history may have told already.
        if !object.flags.contains(.inaccessible) { object.report(.objectGone) }
        object.flags.insert(.inaccessible)
      }
    } catch {
      object.flags.insert(.inaccessible)
      fillEmpty(object)
      object.report(.readFailed("\(error)"))
    }
  }

  /// Gives an object without a generated class, which never had values, the types' empty ones.
  private func fillEmpty(_ object: ManagedObject) {
    let plan = object.scope.plan
    guard plan.factory == nil, object.requireExtras().values.isEmpty else { return }
    object.requireExtras().values = plan.slots.map { slot in
      if case .attribute(let attribute, let cell) = slot.kind, !attribute.isOptional { return cell.empty }
      return .null
    }
  }

  /// The object of a relationship's key; nil where there is none or where it is of a wrong entity.
  func object(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    let plan = model.entities[relationship.destination]
    let known = registered(key, root: plan.root)
    // A child's fault may be of an object that its parent has deleted.
    if let known,
      known.flags.isDisjoint(with: [.gone, .fault, .inaccessible])
        || parent == nil && !known.flags.contains(.gone)
    {
      return known.scope.plan.isKind(of: plan) && !known.isDeleted ? known : nil
    }
    // No object is made of such a row, whatever the table has.
    guard key > 0 else { return nil }
    // Where the store guarantees the row and there is but one entity, the row can wait. A reference that nobody
    // else knows of is not told when the row goes.
    if known == nil, parent == nil, relationship.isGuaranteed, relationship.inverse != nil,
      !plan.isPolymorphic
    {
      return makeFault(key, plan)
    }
    do {
      return try fetchObject(key, plan)
    } catch {
      observe(
        ObservedError(
          reason: .readFailed("\(error)"), entity: relationship.owner, property: relationship.name,
          objectID: nil))
      return nil
    }
  }

  func makeFault(_ key: ObjectKey, _ plan: EntityPlan) -> ManagedObject {
    let object = makeObject(
      ObjectSeed(seedState, scope: scopes[plan.index], key: key, version: 0, flags: .fault))
    addToMap(object)
    return object
  }

  /// The object of a row, with its values; nil where there is no row of the entity or one below it.
  func fetchObject(_ key: ObjectKey, _ plan: EntityPlan) throws -> ManagedObject? {
    guard let map = maps[plan.root] else { return nil }
    if let parent { return try parent.liveObject(key, plan).map { copies(of: [$0]) }?.first }
    let select = model.selects[plan.index]
    let statement = try reader().rowStatement(plan.index) {
      select.sql + " WHERE t0._pk = ?1" + (select.condition.map { " AND " + $0 } ?? "")
    }
    statement.bind(key, at: 1)
    guard select.entityColumn == nil else { return try objects(from: statement, select, of: plan).first }
    defer {
      statement.reset()
      if !fetched.isEmpty { awakeFetched() }
    }
    guard try statement.step() else { return nil }
    sweepIfDue(map)
    return object(of: rowKind(of: plan, statement.handle), statement.handle, map)
  }

  // MARK: Objects by identifier

  /// The object of an identifier, as a fault where it is not in memory. Its row is looked for only where entities
  /// inherit from each other, for the row says of which the object is: it may have changed since the identifier was
  /// made.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` where the identifier is of another store or of an entity
  ///   that the model has not.
  public func object(with id: ManagedObjectID) throws -> ManagedObject {
    guard let plan = scope(of: id)?.plan else { throw FetchError.unknownObject(id) }
    let root = model.entities[plan.root]
    if let object = registered(id.key, root: plan.root) {
      // Others may have written the row anew of an object that is kept for an undo of its deletion.
      guard object.flags.contains(.gone) else { return object }
      return try fetchObject(id.key, root) ?? object
    }
    if root.isPolymorphic {
      if let object = try fetchObject(id.key, root) { return object }
      if plan.description.isAbstract { throw FetchError.unknownObject(id) }
    }
    return makeFault(id.key, plan)
  }

  /// The object of an identifier, with its values.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` where there is none, or none any more; ``StoreError`` where
  ///   the store cannot be read.
  public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
    guard let plan = scope(of: id)?.plan else { throw FetchError.unknownObject(id) }
    if let object = registered(id.key, root: plan.root), !object.flags.contains(.gone) {
      object._willRead()
      guard !object.isInaccessible, !object.isDeleted else { throw FetchError.unknownObject(id) }
      return object
    }
    // The entity may have changed since the identifier was made; the key has not.
    guard let object = try fetchObject(id.key, model.entities[plan.root]) else {
      throw FetchError.unknownObject(id)
    }
    return object
  }

  /// The object in memory of an identifier, if there is one.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    guard let plan = scope(of: id)?.plan else { return nil }
    return registered(id.key, root: plan.root)
  }
}
