/// A relationship whose objects are read for many objects at once, and the relationships to read from there.
struct PrefetchPath {
  let relationship: RelationshipPlan
  var next: [PrefetchPath] = []
}

extension ManagedObjectContext {
  /// Returns the key paths of a request as a tree, so that a part that several paths share is read once.
  ///
  /// - Throws: ``FetchError/notARelationship(entity:key:)``.
  func prefetchPaths<Object: ManagedObject>(
    of request: FetchRequest<Object>, _ plan: EntityPlan
  ) throws -> [PrefetchPath] {
    var paths: [PrefetchPath] = []
    for keyPath in request.prefetch {
      try insert(keyPath.split(separator: ".", omittingEmptySubsequences: false)[...], of: plan, into: &paths)
    }
    return paths
  }

  private func insert(
    _ keys: ArraySlice<Substring>, of plan: EntityPlan, into paths: inout [PrefetchPath]
  ) throws {
    guard let key = keys.first else { return }
    guard let relationship = plan.slot(String(key))?.relationship else {
      throw FetchError.notARelationship(entity: plan.name, key: String(key))
    }
    let index = paths.firstIndex { $0.relationship === relationship } ?? paths.count
    if index == paths.count { paths.append(PrefetchPath(relationship: relationship)) }
    try insert(keys.dropFirst(), of: model.entities[relationship.destination], into: &paths[index].next)
  }

  /// Reads the objects of relationships, each relationship at once.
  func prefetch(_ paths: [PrefetchPath], of objects: [ManagedObject]) throws {
    if let parent { return try prefetch(paths, of: objects, by: parent) }
    // No other code holds these objects before they are used: a sweep in the meantime must not release them.
    var held: [ManagedObject] = []
    try prefetch(paths, of: objects, &held)
    var counts: [Int: Int] = [:]
    for object in held { counts[object.scope.plan.root, default: 0] += 1 }
    for (root, count) in counts { registry.expectHeld(count, root: root) }
  }

  /// Prefetches through the parent, which reads the rows.
  @_optimize(none)
  private func prefetch(
    _ paths: [PrefetchPath], of objects: [ManagedObject], by parent: ManagedObjectContext
  ) throws {
    let parentObjects = objects.compactMap { parentInstance(of: $0) }
    // Held until the end, because no other code holds them.
    try withExtendedLifetime(parentObjects) {
      try parent.prefetch(paths, of: parentObjects)
      walk(paths, objects)
    }
  }

  @_optimize(none)
  private func walk(_ paths: [PrefetchPath], _ objects: [ManagedObject]) {
    for path in paths {
      let related =
        path.relationship.isToMany
        ? objects.flatMap { $0.relatedObjects(path.relationship) }
        : objects.compactMap { $0.relatedObject(path.relationship) }
      for object in related { object._willRead() }
      if !path.next.isEmpty { walk(path.next, related) }
    }
  }

  private func prefetch(
    _ paths: [PrefetchPath], of objects: [ManagedObject], _ held: inout [ManagedObject]
  ) throws {
    if objects.isEmpty { return }
    for path in paths {
      let relationship = path.relationship
      let related: [ManagedObject]
      switch relationship.storage {
      case .reference: related = try prefetchReferences(relationship, of: objects)
      case .inverseReference: related = try prefetchPartners(relationship, of: objects)
      case .referencesOfOthers, .join: related = try prefetchMany(relationship, of: objects)
      }
      held += related
      guard !path.next.isEmpty else { continue }
      var found = related
      // Objects of relationships that had been loaded before belong to the path too.
      if relationship.isToMany { for object in objects { found += object.relatedObjects(relationship) } }
      var seen: Set<ObjectIdentifier> = []
      try prefetch(path.next, of: found.filter { seen.insert(ObjectIdentifier($0)).inserted }, &held)
    }
  }

  // MARK: To-one

  private func prefetchReferences(
    _ relationship: RelationshipPlan, of objects: [ManagedObject]
  ) throws -> [ManagedObject] {
    let plan = model.entities[relationship.destination]
    var related: [ManagedObject] = []
    var missing: Set<ObjectKey> = []
    for object in objects {
      object._willRead()
      let key = object.referenceKey(relationship.slot)
      if key == 0 || missing.contains(key) { continue }
      if let known = registered(key, root: plan.root), !known.isFault {
        related.append(known)
      } else {
        missing.insert(key)
      }
    }
    return related + (try readRows(Array(missing).sorted(), of: plan))
  }

  private func prefetchPartners(
    _ relationship: RelationshipPlan, of objects: [ManagedObject]
  ) throws -> [ManagedObject] {
    guard let inverseSlot = relationship.inverseSlot,
      let column = model.inverseReferenceColumn(of: relationship)
    else { return [] }
    let plan = model.entities[relationship.destination]
    var related: [ManagedObject] = []
    var owners: [ManagedObject] = []
    for object in objects where object.flags.isDisjoint(with: [.inserted, .inaccessible]) {
      if let known = object.extras?.partners[relationship.slot] {
        if known != 0, let partner = self.object(known, relationship) { related.append(partner) }
      } else if isContested(object, relationship) {
        // Rows alone do not tell its partner.
        if let partner = partner(of: object, relationship) { related.append(partner) }
      } else {
        owners.append(object)
      }
    }
    if owners.isEmpty { return related }
    let rows = try reader().rows(ofSubtree: plan, referringBy: column, toAny: owners.map(\.key))
    var partners: [ObjectKey: ObjectKey] = [:]
    var owningDeleted: Set<ObjectKey> = []
    for row in try self.objects(from: rows, of: plan) {
      let owner = row.referenceKey(inverseSlot)
      if row.isDeleted {
        owningDeleted.insert(owner)
      } else {
        partners[owner] = row.key
        related.append(row)
      }
    }
    for owner in owners {
      let partner = partners[owner.key]
      // A deleted partner is not recorded, because a rollback brings it back.
      if partner == nil, owningDeleted.contains(owner.key) { continue }
      owner.requireExtras().partners[relationship.slot] = partner ?? 0
    }
    return related
  }

  /// Whether an object with changes may still refer to an object although its row no longer does.
  private func isContested(_ object: ManagedObject, _ relationship: RelationshipPlan) -> Bool {
    pendingChanges.hasContestedReferrers
      && !pendingChanges.contestedReferrers(to: OneToOnePartner(relationship, object.key, model)).isEmpty
  }

  // MARK: To-many

  private func prefetchMany(
    _ relationship: RelationshipPlan, of objects: [ManagedObject]
  ) throws -> [ManagedObject] {
    var owners: [ObjectKey: ToManyState] = [:]
    for object in objects where object.flags.isDisjoint(with: [.inserted, .inaccessible]) {
      let state = object.toManyState(relationship.slot)
      if state.keys == nil { owners[object.key] = state }
    }
    if owners.isEmpty { return [] }
    let plan = model.entities[relationship.destination]
    let rows = try relatedRows(reader().rows(of: relationship, ofAny: Array(owners.keys).sorted()), plan)
    var members: [ObjectKey: [ManagedObject]] = [:]
    for state in owners.values { state.positions.removeAll() }
    for row in rows {
      members[row.owner, default: []].append(row.object)
      if let position = row.position { owners[row.owner]?.positions[row.object.key] = position }
    }
    for (key, state) in owners { fill(state, relationship, of: key, with: members[key] ?? []) }
    return rows.map(\.object)
  }

  /// Returns the objects of rows, each with the owner of the relationship and its position.
  private func relatedRows(
    _ rows: RowCursor, _ plan: EntityPlan
  ) throws -> [(owner: ObjectKey, position: Int64?, object: ManagedObject)] {
    guard let map = registry.map(of: plan) else { return [] }
    defer {
      rows.close()
      if storeReader.hasFetched { awakeFetched() }
    }
    registry.sweepIfDue(map)
    var related: [(owner: ObjectKey, position: Int64?, object: ManagedObject)] = []
    while try rows.next() {
      // The model does not have the row's entity, or the entity is abstract. So no object is made of the row.
      guard let entity = rows.isMixed ? model.entity(rows.entityName) : plan,
        let kind = rowKind(of: entity, rows), let object = object(of: kind, rows, map)
      else { continue }
      related.append((rows.owner, rows.position, object))
    }
    map.expectHeld(related.count)
    return related
  }
}

// Finding objects by key.
extension ManagedObjectContext {
  /// The objects of the rows with the given keys, in the order of the store.
  private func readRows(_ keys: [ObjectKey], of plan: EntityPlan) throws -> [ManagedObject] {
    if keys.isEmpty { return [] }
    return try objects(from: reader().rows(keys, inSubtreeOf: plan), of: plan)
  }

  /// The objects of the given keys, in their order. Objects that are not in memory are read at once, and a child takes over
  /// its parent's values. A deleted row has an inaccessible object.
  func objects(of keys: ArraySlice<FetchedKey>, _ plan: EntityPlan) throws -> [ManagedObject] {
    var found: [ObjectKey: ManagedObject] = [:]
    var missing: [FetchedKey] = []
    for key in keys {
      let known = registered(key.key, root: plan.root)
      if let known { found[key.key] = known }
      if known.map(isReadAgain) ?? true { missing.append(key) }
    }
    for object in try read(missing, of: plan) { found[object.key] = object }
    return keys.map { found[$0.key] ?? object(of: $0) }
  }

  /// Whether a fetch reads an object although it is in memory.
  private func isReadAgain(_ object: ManagedObject) -> Bool {
    // The parent may have changed any object that it has.
    if parent != nil { return !object.flags.contains(.inserted) }
    // An undo manager keeps objects whose deletion this context has saved. Another context may have inserted the row again.
    return !object.flags.isDisjoint(with: [.fault, .deletionSaved])
  }

  /// Reads the rows of keys, or the parent's objects.
  private func read(_ keys: [FetchedKey], of plan: EntityPlan) throws -> [ManagedObject] {
    guard let parent else { return try readRows(keys.map(\.key), of: plan) }
    if keys.isEmpty { return [] }
    let originals = try parent.objects(of: keys[...], plan)
    // The parent's fault may stand for a row that is gone.
    for original in originals { original._willRead() }
    return childInstances(of: originals.filter(\.exists))
  }

  /// The object of a key, as a fault if it is not in memory.
  func object(of key: FetchedKey) -> ManagedObject {
    let plan = model.entities[key.entity]
    return registered(key.key, root: plan.root) ?? makeFault(key.key, plan)
  }
}

// Objects in stores of other engines.
extension ManagedObjectContext {
  /// Reads the objects that the evaluator will need from stores of other engines, each relationship at once.
  ///
  /// - Parameter objects: The objects of the entity that the evaluator will look at.
  func prefetchSeparateObjects(
    _ predicate: FetchPredicate?, _ sortKeys: [SortKey], of objects: [ManagedObject], _ plan: EntityPlan
  ) throws {
    guard parent == nil, engine.isCombined else { return }
    var keys = Set(sortKeys.map { String($0.keyPath.prefix { $0 != "." }) })
    if let predicate { Self.addFirstKeys(of: predicate, to: &keys) }
    let paths = keys.ordered().compactMap { key -> PrefetchPath? in
      guard let relationship = plan.slot(key)?.relationship,
        model.entities[relationship.destination].storeIndex != plan.storeIndex
      else { return nil }
      return PrefetchPath(relationship: relationship)
    }
    if !paths.isEmpty { try prefetch(paths, of: objects) }
  }

  private static func addFirstKeys(of predicate: FetchPredicate, to keys: inout Set<String>) {
    predicate.forEachPart { addFirstKeys(of: $0, to: &keys) }
  }

  private static func addFirstKeys(of part: ExpressionPart, to keys: inout Set<String>) {
    switch part {
    case .predicate(let predicate): addFirstKeys(of: predicate, to: &keys)
    case .value(let value):
      if case .path(let base, let steps) = value.kind, case .object = base.kind,
        case .key(let key)? = steps.first(where: { if case .key = $0 { true } else { false } })
      {
        keys.insert(key)
      }
      value.forEachPart { addFirstKeys(of: $0, to: &keys) }
    }
  }
}
