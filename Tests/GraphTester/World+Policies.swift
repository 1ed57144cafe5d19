import CDModel

/// What a save of a root context makes of the store where others have saved since: the documented rules of the merge
/// policies, value by value.
extension World {
  /// - Returns: The store after a save; nil where the save throws, and where the documentation leaves open what it makes.
  ///   Whether it must throw, for a rule of `deny`.
  func result(ofSaving number: ContextNumber) -> (store: Graph?, isDenied: Bool) {
    guard let context = contexts[number], context.parent == nil else { return (nil, false) }
    var merge = Merge(world: self, context: context)
    let store = merge.run()
    return (store, store == nil && merge.isDenied)
  }
}

private struct Merge {
  let world: World
  let context: World.Context
  let delta: Delta
  var next: Graph
  /// Objects that others have changed or deleted too.
  var contested: Set<ObjectNumber> = []
  /// Objects whose changes a policy drops, and whose deletion it takes back.
  var dropped: Set<ObjectNumber> = []
  var takenBack: Set<ObjectNumber> = []
  var deleted: Set<ObjectNumber> = []
  /// Objects whose references without an inverse a deletion has cleared. They have no changes here, or a policy drops these.
  var cleared: Set<ObjectNumber> = []
  /// Whether a rule refuses to delete what is related to others' objects.
  var isDenied = false
  var schema: Schema { world.schema }
  var policy: World.Policy { context.policy }
  var isOfStore: Bool { policy == .mergeByPropertyStoreTrump || policy == .rollback }

  init(world: World, context: World.Context) {
    self.world = world
    self.context = context
    delta = Delta(from: context.base, to: context.current)
    next = world.store
  }

  mutating func run() -> Graph? {
    for (object, change) in delta.rows.sorted(by: { $0.key < $1.key }) {
      guard merge(object, change) else { return nil }
    }
    // Undocumented: whether a save is refused if all objects that an object must have are deleted, and conflicts of their own
    // bring them back.
    for object in takenBack {
      guard let entity = world.entities[object] else { continue }
      for relationship in schema.relationships(of: entity) where !relationship.isOptional {
        guard case .pairs? = schema.storages[relationship.name] else { continue }
        if next.facts(object, relationship, schema).allSatisfy(deleted.contains) { return nil }
      }
    }
    // A reference that a policy has kept, or that others have set, may lead to what is deleted here.
    while let object = deleted.sorted().first(where: { isRelated($0) }) {
      if referrers(of: object).contains(where: { $0.relationship.rule == .deny }) {
        isDenied = true
        return nil
      }
      guard isOfStore else { return resultOfRules() }
      deleted.remove(object)
      takenBack.insert(object)
    }
    return resultOfRules()
  }

  // MARK: - Rows

  /// - Returns: Whether the documentation says what becomes of the row.
  private mutating func merge(
    _ object: ObjectNumber, _ change: (before: Graph.Row?, after: Graph.Row?)
  ) -> Bool {
    let theirs = world.store.rows[object]
    guard let before = change.before else {
      guard theirs != nil else {
        next.rows[object] = change.after
        return true
      }
      return meet(object, change.after)
    }
    let isNewer = theirs.map { $0.version != before.version } ?? (change.after != nil)
    if isNewer && policy == .error { return false }
    // A policy looks at values: what others have set back is none of its conflicts.
    let isContested = theirs.map { isNewer && !$0.holdsSame(as: before) } ?? true
    if isContested { contested.insert(object) }
    guard let after = change.after else {
      guard theirs != nil else { return true }
      // Undocumented: whether an object that was reset before has merged the saves of others.
      if context.open.contains(object), isOfStore { return false }
      // Nor whether a rule goes on to what others have put into the row that goes.
      if let theirs, isContested, !isOfStore {
        for key in theirs.references.keys where theirs.references[key] != before.references[key] {
          guard let rule = schema.relationship(key)?.rule else { continue }
          if rule == .cascade || rule == .deny { return false }
        }
      }
      if isContested && isOfStore { takenBack.insert(object) } else { deleted.insert(object) }
      return true
    }
    // Undocumented: whether an object that was reset and changed again has merged the saves of others.
    if theirs != nil, context.open.contains(object), policy != .mergeByPropertyObjectTrump { return false }
    guard isContested else {
      next.rows[object] = after
      return true
    }
    // Nothing says whether references that a deletion has cleared make a changed object.
    if world.isClearedOnly(change, in: context.current) { return false }
    guard let theirs else { return revive(object, after) }
    switch policy {
    case .error: return false
    case .rollback: dropped.insert(object)
    case .overwrite: next.rows[object] = after
    case .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump:
      next.rows[object] = merged(before, after, theirs)
    }
    return true
  }

  /// A row that an undo has brought back here, and that others have written anew since. Both have made all of its values.
  private mutating func meet(_ object: ObjectNumber, _ after: Graph.Row?) -> Bool {
    contested.insert(object)
    switch policy {
    case .error: return false
    case .rollback: dropped.insert(object)
    case .mergeByPropertyStoreTrump: break
    case .mergeByPropertyObjectTrump, .overwrite: next.rows[object] = after
    }
    return true
  }

  private func merged(_ before: Graph.Row, _ after: Graph.Row, _ theirs: Graph.Row) -> Graph.Row {
    var row = theirs
    for key in before.values.keys {
      let isTheirs = before.values[key] != theirs.values[key]
      if before.values[key] == after.values[key] || isTheirs && isOfStore { continue }
      row.values[key] = after.values[key]
    }
    for key in Set(before.references.keys).union(after.references.keys) {
      let isTheirs = before.references[key] != theirs.references[key]
      if before.references[key] == after.references[key] || isTheirs && isOfStore { continue }
      row.references[key] = after.references[key]
    }
    return row
  }

  /// A row that others have deleted.
  private mutating func revive(_ object: ObjectNumber, _ after: Graph.Row) -> Bool {
    switch policy {
    case .error: return false
    case .mergeByPropertyStoreTrump, .rollback:
      dropped.insert(object)
      return true
    case .mergeByPropertyObjectTrump, .overwrite:
      // Which pairs the context had read, this does not know, nor which ends were its partner.
      let isPlain = schema.relationships(of: after.entity).allSatisfy { relationship in
        if case .ownColumn? = schema.storages[relationship.name] {
          return !relationship.isSymmetric && schema.inverse(of: relationship)?.isToMany != false
        }
        return false
      }
      let isOneSided = schema.relationshipsByName.values.contains {
        $0.inverse == nil && schema.isA(after.entity, $0.destination)
      }
      guard isPlain, !isOneSided else { return false }
      next.rows[object] = after
      return true
    }
  }

  // MARK: - What is related to deleted objects

  /// Whether others' objects are related to one that is deleted here, by what the store would refuse.
  private func isRelated(_ object: ObjectNumber) -> Bool { !referrers(of: object).isEmpty }

  private func referrers(
    of object: ObjectNumber
  ) -> [(relationship: Schema.Relationship, other: ObjectNumber)] {
    guard let entity = world.entities[object] else { return [] }
    var result: [(relationship: Schema.Relationship, other: ObjectNumber)] = []
    for relationship in schema.relationships(of: entity) where relationship.rule != .noAction {
      switch schema.storages[relationship.name] {
      case .pairs(let table, let isSource)?:
        guard relationship.rule == .cascade || relationship.rule == .deny else { continue }
        for pair in next.pairs[table] ?? [] {
          guard object == (isSource ? pair.source : pair.target) else { continue }
          let other = isSource ? pair.target : pair.source
          if delta.removed[table]?.contains(pair) == true, !isTakenBack(pair, table) { continue }
          if next.isLive(other), !deleted.contains(other) { result.append((relationship, other)) }
        }
      case .ownColumn?, .otherColumn?:
        // Its rule was no objection while the other was deleted as well.
        if relationship.rule == .deny, case .ownColumn? = schema.storages[relationship.name] {
          let former = context.current.ended[object]?[relationship.name] ?? []
          let stored = delta.rows[object]?.before?.references[relationship.name]
          result += former.filter { takenBack.contains($0) && $0 == stored }.map { (relationship, $0) }
        }
        guard let inverse = relationship.inverse else { continue }
        for (other, row) in next.rows where row.references[inverse] == object && !deleted.contains(other) {
          result.append((relationship, other))
        }
      case nil: continue
      }
    }
    return result
  }

  // MARK: - The rest

  private mutating func resultOfRules() -> Graph? {
    // Undocumented: whether unsaved pairs with an object stay if its deletion is undone.
    for pairs in [context.made, delta.added] {
      for pair in pairs.values.joined()
      where takenBack.contains(pair.source) || takenBack.contains(pair.target) { return nil }
    }
    // Undocumented: the same of unsaved references. A deleted object may have lost its own.
    if !takenBack.isEmpty {
      for object in takenBack.union(delta.deleted) where context.assignedKeys[object]?.isEmpty == false {
        return nil
      }
    }
    // In a row with a conflict, nobody knows whether a delete rule has cleared a reference.
    guard restoreReferences() else { return nil }
    // Conflicts of unique values come before the rules reach what others have related: whom a new object becomes, this does
    // not know.
    guard !hasDuplicates() else { return nil }
    // Undocumented: the partner of an object to which both contexts have given another one.
    guard deleted.isEmpty || areSymmetric() else { return nil }
    let related = deleted.sorted().map { ($0, referrers(of: $0)) }
    // A rule goes on to what the context has left in the relationships of others' objects, and has brought there.
    applyPairs()
    for (_, referrers) in related {
      for (relationship, other) in referrers where next.isLive(other) {
        switch relationship.rule {
        case .cascade:
          next.delete([other], schema, base: world.store)
          guard next.denied.isEmpty else { return nil }
        case .nullify:
          guard let inverse = schema.inverse(of: relationship), inverse.isOptional else { return nil }
          next.rows[other]?.references[inverse.name] = nil
        case .deny, .noAction: return nil
        }
      }
    }
    for object in deleted { next.rows[object] = nil }
    // Undocumented: whether a row is written if all its changes concern objects that a delete rule has reached.
    for object in contested {
      guard let before = delta.rows[object]?.before, let after = delta.rows[object]?.after,
        before.values == after.values
      else { continue }
      let keys = Set(before.references.keys).union(after.references.keys).filter {
        before.references[$0] != after.references[$0]
      }
      if keys.allSatisfy({ key in after.references[key].map { !next.isLive($0) } ?? false }) { return nil }
    }
    guard clearReferences() else { return nil }
    next.openOrders.formUnion(context.current.openOrders.union(context.contestedOrders))
    next.openOrders.formUnion(world.remadeEnds(of: context))
    next.dropDeadFacts(schema)
    setVersions()
    return breaksRule() ? nil : next
  }

  /// Puts back what the deletion of an object has cleared that a policy takes back.
  private mutating func restoreReferences() -> Bool {
    for (object, change) in delta.rows {
      guard let before = change.before, let after = change.after else { continue }
      for (key, target) in before.references where takenBack.contains(target) {
        guard after.references[key] == nil else { continue }
        // Without an inverse, to set it to nil is a change of the owner, whatever becomes of the deletion.
        if schema.relationship(key)?.inverse == nil, context.assignedKeys[object]?.contains(key) == true {
          continue
        }
        guard !contested.contains(object) else { return false }
        next.rows[object]?.references[key] = target
      }
    }
    return true
  }

  /// Whether a pair that went is there again: a deletion that is taken back has removed nothing. Without an inverse it is the
  /// owner who removes an object, even if that object's deletion is undone.
  private func isTakenBack(_ pair: Graph.Pair, _ table: String) -> Bool {
    if takenBack.contains(pair.source) { return true }
    guard takenBack.contains(pair.target) else { return false }
    return schema.relationship(table)?.inverse != nil || context.unlinked[table]?.contains(pair) != true
  }

  private mutating func applyPairs() {
    func isDropped(_ pair: Graph.Pair, _ table: String) -> Bool {
      // Without an inverse a pair is a change of one object only.
      if schema.relationship(table)?.inverse == nil { return dropped.contains(pair.source) }
      return !dropped.isDisjoint(with: [pair.source, pair.target])
    }
    for (table, pairs) in delta.removed {
      let gone = pairs.filter { !isDropped($0, table) && !isTakenBack($0, table) }
      next.pairs[table]?.subtract(gone)
    }
    for (table, pairs) in delta.added {
      let new = pairs.filter { !isDropped($0, table) }
      next.pairs[table, default: []].formUnion(new)
    }
    for (end, change) in delta.orders { next.orders[end] = change.after }
    guard !(contested.isEmpty && takenBack.isEmpty) else { return }
    // Undocumented: the order if the related objects differ.
    for end in Set(delta.orders.keys).union(next.orders.keys) { next.openOrders.insert(end) }
    for (object, row) in next.rows {
      for relationship in schema.relationships(of: row.entity) where relationship.isOrdered {
        guard next.facts(object, relationship, schema).isEmpty == false else { continue }
        next.openOrders.insert(Graph.End(object: object, relationship: relationship.name))
      }
    }
  }

  /// References to what is gone are cleared.
  private mutating func clearReferences() -> Bool {
    for (object, row) in next.rows {
      for (key, target) in row.references where !next.isLive(target) {
        guard let relationship = schema.relationship(key), relationship.isOptional,
          schema.inverse(of: relationship)?.rule != .noAction
        else { return false }
        next.rows[object]?.references[key] = nil
        if relationship.inverse == nil, delta.rows[object] == nil || dropped.contains(object) {
          cleared.insert(object)
        }
      }
    }
    return true
  }

  private mutating func setVersions() {
    for (object, row) in next.rows {
      let theirs = world.store.rows[object]
      let before = delta.rows[object]?.before
      next.rows[object]?.perhaps = max(theirs?.perhaps ?? 0, row.perhaps)
      if let theirs, cleared.contains(object) {
        // Undocumented, as after any save: whether that makes a new version of the row.
        next.rows[object]?.version = theirs.version
        next.rows[object]?.perhaps += 1
      } else if let theirs, theirs.holdsSame(as: row) {
        next.rows[object]?.version = theirs.version
        let isPerhapsWritten = delta.rows[object] != nil || context.rewritten.contains(object)
        if isPerhapsWritten { next.rows[object]?.perhaps += 1 }
      } else {
        next.rows[object]?.version = max(world.versions[object] ?? 0, before?.version ?? 0) + 1
      }
    }
  }

  /// Whether the rows of both partners of symmetric relationships say the same.
  private func areSymmetric() -> Bool {
    next.rows.allSatisfy { object, row in
      row.references.allSatisfy { key, target in
        guard schema.relationship(key)?.isSymmetric == true, let other = next.rows[target] else {
          return true
        }
        return other.references[key] == object
      }
    }
  }

  /// Whether the save would refuse the result.
  private func breaksRule() -> Bool {
    for (object, row) in next.rows {
      for relationship in schema.relationships(of: row.entity) {
        let members = next.members(object, relationship, schema)
        if !relationship.isOptional && members.isEmpty { return true }
        if let maximum = relationship.maximumCount, members.count > maximum { return true }
        if !relationship.isToMany && members.count > 1 { return true }
        if relationship.isSymmetric, !relationship.isToMany, let other = members.first,
          next.rows[other]?.references[relationship.name] != object
        {
          return true
        }
      }
    }
    return hasDuplicates()
  }

  /// Whether several of the objects that are not deleted here have the values of a list that is unique.
  private func hasDuplicates() -> Bool {
    var graph = next
    for object in deleted { graph.rows[object] = nil }
    return !world.duplicates(in: graph, changed: Set(graph.rows.keys)).isEmpty
  }
}
