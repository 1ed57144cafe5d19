// Objects from rows.
extension ManagedObjectContext {
  /// The objects of the rows that a query chooses.
  ///
  /// Where the objects of a sample of the last rows are still in memory, the keys and versions of the rows are
  /// read first: what is in memory and current needs no more of its row. Where that guess turns out wrong,
  /// everything is read.
  func objects(
    of query: any StoreAnswer, _ window: StoreWindow = StoreWindow(), isSorted: Bool = true
  ) throws -> [ManagedObject] {
    let plan = query.query.entity
    let rows = try query.rows(window, isSorted: isSorted)
    let sample = rows.sample
    if let map = maps[plan.root], sample.count > 4, sample.allSatisfy({ map[$0] != nil }) {
      let versions = try query.versions(window, isSorted: isSorted)
      if let objects = try registeredObjects(from: versions, of: plan, map) { return objects }
    }
    let objects = try objects(from: rows, of: plan)
    let step = max(1, objects.count / 8)
    rows.sample = stride(from: 0, to: objects.count, by: step).map { objects[$0].key }
    return objects
  }

  /// The objects of rows of which only the keys and versions have been asked for; nil where too many of them have to be
  /// read.
  private func registeredObjects(
    from rows: RowCursor, of plan: EntityPlan, _ map: IdentityMap
  ) throws -> [ManagedObject]? {
    // While the rows are read, all reads see one state.
    runningReads += 1
    defer {
      rows.close()
      runningReads -= 1
      awakeFetched()
      tellObserversUnlessReading()
    }
    sweepIfDue(map)
    var objects: [ManagedObject] = []
    var missing = 0
    while try rows.next() {
      let key = rows.key
      if let object = map[key], object.scope.plan.isKind(of: plan),
        object.isPending || object.version == rows.version, !object.flags.contains(.fault)
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

  /// The objects of rows: new ones are made, registered ones are kept. One that has changes keeps its values; one that
  /// has none gets those of the row if the row is newer.
  func objects(from rows: RowCursor, of plan: EntityPlan) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    defer {
      rows.close()
      if !fetched.isEmpty { awakeFetched() }
      tellObserversUnlessReading()
    }
    // Here and not on the way: what the rows give is held anyhow until their end.
    guard let map = maps[plan.root] else { return [] }
    sweepIfDue(map)
    defer { map.expectHeld(objects.count) }
    guard rows.isMixed else {
      guard let kind = rowKind(of: plan, rows) else { return [] }
      while try rows.next() {
        if let object = object(of: kind, rows, map) { objects.append(object) }
      }
      return objects
    }
    var current: (name: String, kind: RowKind)?
    while try rows.next() {
      let name = rows.entityName
      if current?.name != name {
        // A row of an entity that this model has not is nobody's to read.
        guard let entity = model.entity(name), let kind = rowKind(of: entity, rows) else { continue }
        current = (name, kind)
      }
      if let current, let object = object(of: current.kind, rows, map) { objects.append(object) }
    }
    return objects
  }

  /// What the rows of one entity become objects by.
  struct RowKind {
    let scope: ObjectScope
    let row: RowReader
    let makeObject: (ObjectSeed) -> ManagedObject
  }

  /// - Returns: Nil if the rows are none of such an entity.
  func rowKind(of plan: EntityPlan, _ rows: RowCursor) -> RowKind? {
    guard let row = rows.reader(of: plan, rowReport) else { return nil }
    return RowKind(
      scope: scopes[plan.index], row: row,
      makeObject: classes.factory(of: plan) ?? { ManagedObject(_seed: $0) })
  }

  /// The object of a row; nil where the row's key is none that an object can have.
  @inline(__always)
  func object(of kind: RowKind, _ rows: RowCursor, _ map: IdentityMap) -> ManagedObject? {
    let scope = kind.scope
    let key = rows.key
    guard key > 0 else {
      reportUnusableKey(key, scope.plan)
      return nil
    }
    let version = rows.version
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

  @inline(__always) private func decode(_ object: ManagedObject, _ row: RowReader) {
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
    // The row is done with when the object is told of its values.
    defer { if !fetched.isEmpty { awakeFetched() } }
    if parent != nil {
      if let original = original(of: object) { return take(from: original, into: object) }
      fillEmpty(object)
      if !object.flags.contains(.inaccessible) { object.report(.objectGone) }
      object.flags.insert(.inaccessible)
      return
    }
    do {
      let rows = try reader().row(object.key, of: plan)
      defer { rows.close() }
      if try rows.next(), let row = rows.reader(of: plan, rowReport) {
        object.version = rows.version
        decode(object, row)
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
    guard !plan.isTyped, object.requireExtras().values.isEmpty else { return }
    object.requireExtras().values = plan.slots.map { slot in
      if case .attribute(let attribute, let cell) = slot.kind, !attribute.isOptional { return cell.empty }
      return .null
    }
  }

  /// The object of a relationship's key; nil where there is none or where it is of a wrong entity.
  func object(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    let plan = model.entities[relationship.destination]
    let known = registered(key, root: plan.root)
    if let known, !known.flags.contains(.gone) {
      let isKnownByOthers = relationship.inverse != nil
      // Nobody tells a reference without an inverse that its row goes. The fault may be what another reference, which is
      // not up to date itself, has made of the key since.
      if parent == nil, !isKnownByOthers, known.flags.contains(.fault) { known._willRead() }
      // A child's fault may be of an object that its parent has deleted.
      if known.flags.isDisjoint(with: [.fault, .inaccessible]) || parent == nil && isKnownByOthers {
        return known.scope.plan.isKind(of: plan) && !known.isDeleted ? known : nil
      }
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
    let rows = try reader().row(key, ofKind: plan)
    guard !rows.isMixed else { return try objects(from: rows, of: plan).first }
    defer {
      rows.close()
      if !fetched.isEmpty { awakeFetched() }
    }
    guard try rows.next(), let kind = rowKind(of: plan, rows) else { return nil }
    sweepIfDue(map)
    return object(of: kind, rows, map)
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
