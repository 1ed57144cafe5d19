// Creating objects from rows.
extension ManagedObjectContext {
  /// Returns the objects of the rows that a query selects.
  ///
  /// If a sample of the last rows' objects is still in memory, the rows' keys and versions are read first: objects
  /// that are in memory and current need nothing else. If too many objects are missing, the complete rows are read.
  func objects(
    of query: any StoreAnswer, _ window: StoreWindow = StoreWindow(), isSorted: Bool = true
  ) throws -> [ManagedObject] {
    let plan = query.query.entity
    var rows = try query.rows(window, isSorted: isSorted)
    let sample = rows.sample
    if let map = registry.map(of: plan), sample.count > 4, sample.allSatisfy({ map[$0] != nil }) {
      let versions = try query.versions(window, isSorted: isSorted)
      if let objects = try registeredObjects(from: versions, of: plan, map) { return objects }
      // The app's `awakeFromFetch()` may have fetched with the same statement and other constants.
      rows = try query.rows(window, isSorted: isSorted)
    }
    let objects = try objects(from: rows, of: plan)
    let step = max(1, objects.count / 8)
    rows.sample = stride(from: 0, to: objects.count, by: step).map { objects[$0].key }
    return objects
  }

  /// Returns the objects of rows that have only keys and versions; nil if too many objects must be read.
  private func registeredObjects(
    from rows: RowCursor, of plan: EntityPlan, _ map: IdentityMap
  ) throws -> [ManagedObject]? {
    // All reads see one state while the rows are read.
    storeReader.beginRows()
    defer {
      rows.close()
      storeReader.endRows()
      awakeFetched()
      notifyObserversUnlessReading()
    }
    registry.sweepIfDue(map)
    var objects: [ManagedObject] = []
    var missing = 0
    while try rows.next() {
      let key = rows.key
      if let object = map[key], object.scope.plan.isKind(of: plan),
        object.isPending || object.version == rows.version,
        object.flags.isDisjoint(with: [.fault, .deletionSaved])
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

  /// Returns the objects of rows. Missing objects are created. An object with changes keeps its values; an object
  /// without changes gets the row's values if the row is newer.
  @_optimize(speed)
  func objects(from rows: RowCursor, of plan: EntityPlan) throws -> [ManagedObject] {
    var objects: [ManagedObject] = []
    defer {
      rows.close()
      if storeReader.hasFetched { awakeFetched() }
      notifyObserversUnlessReading()
    }
    // Only here: objects of the rows are held until the rows end anyway.
    guard let map = registry.map(of: plan) else { return [] }
    registry.sweepIfDue(map)
    defer { map.expectHeld(objects.count) }
    var last: ObjectKey = 0
    var isAscending = true
    if rows.isMixed {
      var current: (name: String, kind: RowKind)?
      try rows.read {
        let name = rows.entityName
        if current?.name != name {
          // The model does not have the row's entity, or the entity is abstract. So no object is made of the row.
          guard let entity = model.entity(name), let kind = rowKind(of: entity, rows) else { return }
          current = (name, kind)
        }
        guard let current, let object = object(of: current.kind, rows, map) else { return }
        isAscending = isAscending && object.key > last
        last = object.key
        objects.append(consume object)
      }
    } else if let kind = rowKind(of: plan, rows) {
      try rows.read {
        guard let object = object(of: kind, rows, map) else { return }
        isAscending = isAscending && object.key > last
        last = object.key
        // Consumed: the array takes the reference over that the map has left.
        objects.append(consume object)
      }
    }
    if rows.isUnordered, !isAscending { objects.sort { $0.key < $1.key } }
    return objects
  }

  /// The information that turns the rows of one entity into objects.
  struct RowKind {
    let scope: ObjectScope
    let row: RowReader
    let factory: ObjectFactory
  }

  /// - Returns: Nil if the rows do not have the entity's columns.
  func rowKind(of plan: EntityPlan, _ rows: RowCursor) -> RowKind? {
    guard let row = rows.reader(of: plan, rowReport) else { return nil }
    return RowKind(
      scope: registry.scope(of: plan), row: row, factory: classes.factory(of: plan))
  }

  /// Returns the object of a row; nil if the row's key cannot be an object's key.
  @inline(__always)
  func object(of kind: RowKind, _ rows: RowCursor, _ map: IdentityMap) -> ManagedObject? {
    let scope = kind.scope
    let key = rows.key
    guard key > 0 else {
      reportUnusableKey(key, scope.plan)
      return nil
    }
    let version = rows.version
    // The map probably has no object for the key. The new object is decoded while the map's memory is being
    // prefetched. If the map has an object after all, the new one is dropped. Entities with lifecycle methods are
    // excluded, because the app could have seen the dropped object.
    if map.missedLast, !scope.plan.hasLifecycle {
      map.prefetch(key)
      let object = kind.factory.make(
        ObjectSeed(seedState, scope: scope, key: key, version: version, flags: []))
      object._decode(kind.row)
      if rowReport.isEmpty {
        if let known = registered(key, map, scope, kind.row, version) { return known }
        map.insert(object)
        return object
      }
      // Problems with the row are reported for the object that is created below.
      rowReport.removeAll()
    }
    if let known = registered(key, map, scope, kind.row, version) { return known }
    let object = kind.factory.make(ObjectSeed(seedState, scope: scope, key: key, version: version, flags: []))
    decode(object, kind.row)
    map.insert(object)
    return object
  }

  /// Returns the registered object of a row. It gets the row's values if they are newer.
  @inline(__always)
  private func registered(
    _ key: ObjectKey, _ map: IdentityMap, _ scope: ObjectScope, _ row: RowReader, _ version: Int64
  ) -> ManagedObject? {
    guard let object = map[key] else {
      map.missedLast = true
      return nil
    }
    map.missedLast = false
    // By the addresses, for which nothing is retained.
    guard ObjectIdentifier(object.scope) == ObjectIdentifier(scope) else {
      removeMisclassified(object)
      return nil
    }
    // An undo manager keeps objects whose deletion this context has saved. Another context has inserted the row again.
    if object.version != version || !object.flags.isDisjoint(with: [.fault, .deletionSaved]) {
      refresh(object, from: row, version)
    }
    return object
  }

  /// Reports a skipped row: keys begin at 1, and 0 means nil.
  func reportUnusableKey(_ key: ObjectKey, _ plan: EntityPlan) {
    observe(.unusableKey(key), plan.name)
  }

  /// Removes an object whose row has another entity: the object was made from an identifier before the row was read.
  /// Code that reads the row relies on the object's class, which is wrong.
  func removeMisclassified(_ object: ManagedObject) {
    registry.remove(object)
    object.flags.insert(.inaccessible)
    object.report(.objectGone)
  }

  /// Gives an object the values of its row, unless it has changes.
  func refresh(_ object: ManagedObject, from row: RowReader, _ version: Int64) {
    guard !object.isPending || object.flags.contains(.fault) else { return }
    // A fault has no values yet, or its observers have been notified.
    if !object.flags.contains(.fault) { noteChange(of: object) }
    // An earlier read failed. Properties that were set after it were not recorded as changes. The row replaces them now.
    if object.flags.contains(.inaccessible), !object.flags.contains(.deletionSaved) {
      pendingChanges.confirmLostChanges(of: object)
    }
    object.version = version
    object.flags.subtract([.fault, .inaccessible, .deletionSaved])
    forgetUnreadable(of: object)
    decode(object, row)
  }

  @inline(__always) private func decode(_ object: ManagedObject, _ row: RowReader) {
    object._decode(row)
    storeReader.noteFetched(object)
    if !rowReport.isEmpty { reportColumns(of: object) }
  }

  /// Forgets which values could not be read, before an object reads its row again.
  @inline(__always) private func forgetUnreadable(of object: ManagedObject) {
    if let extras = object.extras, !extras.unreadable.isEmpty { extras.unreadable = [] }
  }

  /// Reports the problems found in an object's row.
  func reportColumns(of object: ManagedObject) {
    let plan = object.scope.plan
    for column in rowReport.columns {
      object.report(.wrongType, slot: column < plan.columns.count ? plan.columns[column].slot : nil)
    }
    for (column, reason) in rowReport.unreadable {
      let slot = column < plan.columns.count ? plan.columns[column].slot : nil
      if let slot, plan.laterSlots.contains(slot) { object.setUnreadable(slot, true) }
      object.report(.unreadableFile(reason), slot: slot)
    }
    rowReport.removeAll()
  }

  /// Reads the row of a fault, whose flag has been cleared.
  func fire(_ object: ManagedObject) {
    let plan = object.scope.plan
    guard plan.index >= 0 else { return }
    // The app's methods are called after the row has been read and closed.
    defer { if storeReader.hasFetched { awakeFetched() } }
    do {
      guard parent != nil else { return try readRow(of: object) }
      if let original = try parentInstanceForCaller(of: object) {
        return copyValues(from: original, into: object)
      }
      fillEmpty(object)
      if !object.flags.contains(.inaccessible) { object.report(.objectGone) }
      object.flags.insert(.inaccessible)
    } catch {
      // A fetch that finds the row with another version reads it again.
      if !object.isPending { object.version = 0 }
      object.flags.insert(.inaccessible)
      fillEmpty(object)
      object.report(.readFailed("\(error)"))
    }
  }

  @inline(__always)
  private func readRow(of object: ManagedObject) throws {
    let plan = object.scope.plan
    let rows = try reader().row(object.key, of: plan)
    defer { rows.close() }
    if try rows.next(), let row = rows.reader(of: plan, rowReport) {
      object.version = rows.version
      forgetUnreadable(of: object)
      decode(object, row)
    } else {
      fillEmpty(object)
      // The history may have reported it already.
      if !object.flags.contains(.inaccessible) { object.report(.objectGone) }
      object.flags.insert(.inaccessible)
    }
  }

  /// Reads the values of a fault. If that fails, the object stays a fault, and its next use reads again. An object
  /// without changes that could not be read before is looked up again.
  func fireForCaller(_ object: ManagedObject) throws {
    let plan = object.scope.plan
    guard plan.index >= 0, object.flags.contains(.fault) else {
      // A deletion that has been saved is no failure to read.
      let mayReturn =
        object.flags.contains(.inaccessible) && !object.isPending && !object.flags.contains(.deletionSaved)
      if mayReturn, registered(object.key, root: plan.root) === object {
        _ = try fetchObject(object.key, plan)
      }
      return object._willRead()
    }
    if parent != nil {
      // If the parent cannot read its instance, this must not look as if the object were gone.
      let original = try parentInstanceForCaller(of: object)
      return withExtendedLifetime(original) { object._willRead() }
    }
    object.flags.remove(.fault)
    defer { if storeReader.hasFetched { awakeFetched() } }
    do {
      try readRow(of: object)
    } catch {
      object.flags.insert(.fault)
      throw error
    }
  }

  /// Whether a read of an object with changes has failed although its row is there. The object is inaccessible until it is
  /// refreshed, and no condition may take it for gone.
  func hasFailedRead(_ object: ManagedObject) throws -> Bool {
    guard object.flags.contains(.inaccessible), object.isPending else { return false }
    let plan = object.scope.plan
    return try object.flags.isDisjoint(with: [.deletionSaved, .rowDeletedElsewhere])
      && registered(object.key, root: plan.root) === object && !isGone(object.key, plan)
  }

  /// Gives the empty values of its types to an object without a generated class that never had values.
  private func fillEmpty(_ object: ManagedObject) {
    let plan = object.scope.plan
    guard !plan.isTyped, object.requireExtras().values.isEmpty else { return }
    object.requireExtras().values = plan.slots.map { slot in
      if case .attribute(let attribute, let storageType) = slot.kind, !attribute.isOptional {
        return storageType.empty
      }
      return .null
    }
  }

  /// Returns the object with a key in a relationship; nil if there is none, or if it has a wrong entity.
  @_optimize(speed)
  func object(_ key: ObjectKey, _ relationship: RelationshipPlan) -> ManagedObject? {
    let plan = model.entities[relationship.destination]
    let known = registered(key, root: plan.root)
    if let known, known.scope.plan === plan, known.flags.isDisjoint(with: .absent) { return known }
    if let known, !known.flags.contains(.deletionSaved) {
      let isKnownByOthers = relationship.hasInverse
      // A reference without an inverse is not updated when its row is deleted. The fault may have been created since,
      // by another reference that is not up to date.
      if parent == nil, !isKnownByOthers, known.flags.contains(.fault) { known._willRead() }
      // A child's fault may stand for an object that its parent has deleted.
      if known.flags.isDisjoint(with: [.fault, .inaccessible]) || parent == nil && isKnownByOthers {
        return known.scope.plan.isKind(of: plan) && !known.isDeleted ? known : nil
      }
    }
    // Keys below 1 are unusable, even if the table has them.
    guard key > 0 else { return nil }
    // If the store guarantees the row and the destination has only one entity, the row can be read later. A reference
    // without an inverse would not be updated when the row is deleted, so its row is read now.
    if known == nil, parent == nil, relationship.isGuaranteed, relationship.hasInverse,
      !plan.isPolymorphic
    {
      return makeFault(key, plan)
    }
    do {
      return try fetchObject(key, plan)
    } catch {
      observe(.readFailed("\(error)"), relationship.owner, relationship.name)
      return nil
    }
  }

  func makeFault(_ key: ObjectKey, _ plan: EntityPlan) -> ManagedObject {
    let object = makeObject(
      ObjectSeed(seedState, scope: registry.scope(of: plan), key: key, version: 0, flags: .fault))
    registry.add(object)
    return object
  }

  /// Returns the object of a row with its values; nil if there is no row of the entity or of its subentities.
  @_optimize(speed)
  func fetchObject(_ key: ObjectKey, _ plan: EntityPlan) throws -> ManagedObject? {
    guard let map = registry.map(of: plan) else { return nil }
    if let parent { return try parent.liveObject(key, plan).map { childInstances(of: [$0]) }?.first }
    let rows = try reader().row(key, inSubtreeOf: plan)
    guard !rows.isMixed else { return try objects(from: rows, of: plan).first }
    defer {
      rows.close()
      if storeReader.hasFetched { awakeFetched() }
    }
    guard try rows.next(), let kind = rowKind(of: plan, rows) else { return nil }
    registry.sweepIfDue(map)
    return object(of: kind, rows, map)
  }

  // MARK: Objects by identifier

  /// Returns the object of an identifier, as a fault if it is not in memory. The row is read only if the entity
  /// belongs to an inheritance hierarchy: the row has the object's entity, which may have changed since the
  /// identifier was made.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` if the identifier belongs to another store or if the model does not
  ///   have its entity.
  public func object(with id: ManagedObjectID) throws -> ManagedObject {
    if let object = registry.lastKindObject(id, without: .deletionSaved) { return object }
    guard let plan = scope(of: id)?.plan else { throw FetchError.unknownObject(id) }
    let root = model.entities[plan.root]
    if let object = registered(id.key, root: plan.root) {
      // The object is kept for an undo of its deletion. Another context may have inserted its row again.
      guard object.flags.contains(.deletionSaved) else { return object }
      return try fetchObject(id.key, root) ?? object
    }
    if root.isPolymorphic {
      if let object = try fetchObject(id.key, root) { return object }
      if plan.description.isAbstract { throw FetchError.unknownObject(id) }
    }
    return makeFault(id.key, plan)
  }

  /// Returns the object of an identifier, with its values.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` if the object does not exist or has been deleted; ``StoreError`` if
  ///   the store cannot be read.
  @_optimize(speed)
  public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
    if parent != nil { noticeDeletions() }
    if let object = registry.lastKindObject(id, without: .absent) { return object }
    return try readObject(with: id)
  }

  /// Returns the object of an identifier with its values. It may have to be read.
  @inline(never)
  private func readObject(with id: ManagedObjectID) throws -> ManagedObject {
    guard let plan = scope(of: id)?.plan else { throw FetchError.unknownObject(id) }
    if let object = registered(id.key, root: plan.root), !object.flags.contains(.deletionSaved) {
      if object.flags.isDisjoint(with: .absent) { return object }
      try fireForCaller(object)
      guard !object.isInaccessible, !object.isDeleted else { throw FetchError.unknownObject(id) }
      return object
    }
    // The entity may have changed since the identifier was made; the key has not.
    guard let object = try fetchObject(id.key, model.entities[plan.root]) else {
      throw FetchError.unknownObject(id)
    }
    return object
  }

  /// Returns the object of an identifier if it is in memory; nil otherwise.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    if let object = registry.lastKindObject(id, without: []) { return object }
    guard let plan = scope(of: id)?.plan else { return nil }
    return registered(id.key, root: plan.root)
  }
}
