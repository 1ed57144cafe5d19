import CDModel

/// The number that a program gives an object.
typealias ObjectNumber = Int

/// One state of an object graph: plain values, so that a copy is a snapshot.
///
/// A fact that two objects are related is kept once: as a reference in the row of one of them, or as a pair. Both
/// sides are calculated from it, so that they cannot differ. Orders are lists beside the facts.
struct Graph: Equatable, Sendable {
  struct Row: Equatable, Sendable {
    var entity: Int
    var values: [String: AttributeValue]
    var references: [String: ObjectNumber] = [:]
    /// Raised by each save that writes the row.
    var version = 0
    /// Raised by each save of which the documentation does not say whether it writes the row.
    var perhaps = 0

    /// Whether two rows have the same contents.
    func holdsSame(as other: Row) -> Bool {
      entity == other.entity && values == other.values && references == other.references
    }
  }

  struct Pair: Hashable, Sendable {
    var source: ObjectNumber
    var target: ObjectNumber
  }

  /// One side of a relationship: an object and the name.
  struct End: Hashable, Sendable {
    var object: ObjectNumber
    var relationship: String
  }

  var rows: [ObjectNumber: Row] = [:]
  var pairs: [String: Set<Pair>] = [:]
  /// The orders of ordered relationships. What is not related any more is passed over.
  var orders: [End: [ObjectNumber]] = [:]
  /// The references of deleted objects that a rule of `deny` keeps until the save.
  var denied: [ObjectNumber: [String: ObjectNumber]] = [:]
  /// What deleted objects were related to when they were deleted. A child's save needs it: its parent's rules do not go
  /// on to what the child had taken out of an object before it deleted it.
  var ended: [ObjectNumber: [String: [ObjectNumber]]] = [:]
  /// Relationships whose order the documentation leaves open.
  var openOrders: Set<End> = []

  func isLive(_ object: ObjectNumber) -> Bool { rows[object] != nil }
}

extension Graph {
  // MARK: - Reading

  /// The live objects of an entity and of those below it.
  func objects(of entity: Int, in schema: Schema) -> [ObjectNumber] {
    rows.filter { schema.isA($0.value.entity, entity) }.keys.sorted()
  }

  /// All objects that a relationship of an object is about, deleted ones too where their rule left the fact.
  func facts(_ object: ObjectNumber, _ relationship: Schema.Relationship, _ schema: Schema) -> [ObjectNumber]
  {
    switch schema.storages[relationship.name] {
    case .ownColumn?:
      (rows[object]?.references ?? denied[object])?[relationship.name].map { [$0] } ?? []
    case .otherColumn?:
      relationship.inverse.map { inverse in
        rows.filter { $0.value.references[inverse] == object }.keys.sorted()
          + denied.filter { $0.value[inverse] == object }.keys.sorted()
      } ?? []
    case .pairs(let table, true)?:
      (pairs[table] ?? []).filter { $0.source == object }.map(\.target).sorted()
    case .pairs(let table, false)?:
      (pairs[table] ?? []).filter { $0.target == object }.map(\.source).sorted()
    case nil: []
    }
  }

  /// The live objects of a relationship, in its order where it has one.
  func members(_ object: ObjectNumber, _ relationship: Schema.Relationship, _ schema: Schema)
    -> [ObjectNumber]
  {
    let live = facts(object, relationship, schema).filter(isLive)
    guard relationship.isOrdered else { return live }
    let order = orders[End(object: object, relationship: relationship.name)] ?? []
    let members = Set(live)
    let known = order.filter(members.contains)
    let rest = Set(known)
    return known + live.filter { !rest.contains($0) }
  }

  /// Whether an object of a to-one relationship was deleted and the fact is still there.
  func isDangling(_ object: ObjectNumber, _ relationship: Schema.Relationship, _ schema: Schema) -> Bool {
    facts(object, relationship, schema).contains { !isLive($0) }
  }

  // MARK: - Relating

  mutating func link(
    _ object: ObjectNumber, _ relationship: Schema.Relationship, _ target: ObjectNumber, at index: Int? = nil,
    _ schema: Schema
  ) {
    guard !facts(object, relationship, schema).contains(target) else { return }
    let inverse = schema.inverse(of: relationship)
    if !relationship.isToMany {
      for former in facts(object, relationship, schema) { unlink(object, relationship, former, schema) }
    }
    if let inverse, !inverse.isToMany {
      for former in facts(target, inverse, schema) { unlink(target, inverse, former, schema) }
    }
    switch schema.storages[relationship.name] {
    case .ownColumn?:
      rows[object]?.references[relationship.name] = target
      if relationship.isSymmetric { rows[target]?.references[relationship.name] = object }
    case .otherColumn?:
      if let inverse { rows[target]?.references[inverse.name] = object }
    case .pairs(let table, let isSource)?:
      pairs[table, default: []].insert(
        isSource ? Pair(source: object, target: target) : Pair(source: target, target: object))
      if relationship.isSymmetric { pairs[table, default: []].insert(Pair(source: target, target: object)) }
    case nil: break
    }
    if relationship.isOrdered {
      place(target, in: End(object: object, relationship: relationship.name), at: index)
    }
    if let inverse, inverse.isOrdered, !(relationship.isSymmetric && object == target) {
      place(object, in: End(object: target, relationship: inverse.name), at: nil)
    }
  }

  private mutating func place(_ object: ObjectNumber, in end: End, at index: Int?) {
    var order = orders[end] ?? []
    order.removeAll { $0 == object }
    // An index counts the objects that can be seen: a rule of `noAction` leaves deleted ones in an order.
    let seen = order.filter(isLive)
    let place = index.flatMap { $0 < seen.count ? order.firstIndex(of: seen[$0]) : nil }
    order.insert(object, at: place ?? order.count)
    orders[end] = order
  }

  mutating func unlink(
    _ object: ObjectNumber, _ relationship: Schema.Relationship, _ target: ObjectNumber, _ schema: Schema
  ) {
    let inverse = schema.inverse(of: relationship)
    switch schema.storages[relationship.name] {
    case .ownColumn?:
      clear(object, relationship.name, target)
      if relationship.isSymmetric { clear(target, relationship.name, object) }
    case .otherColumn?:
      if let inverse { clear(target, inverse.name, object) }
    case .pairs(let table, let isSource)?:
      pairs[table]?.remove(
        isSource ? Pair(source: object, target: target) : Pair(source: target, target: object))
      if relationship.isSymmetric { pairs[table]?.remove(Pair(source: target, target: object)) }
      if pairs[table]?.isEmpty == true { pairs[table] = nil }
    case nil: break
    }
    let end = End(object: object, relationship: relationship.name)
    orders[end]?.removeAll { $0 == target }
    if orders[end]?.isEmpty == true { orders[end] = nil }
    if let inverse {
      let end = End(object: target, relationship: inverse.name)
      orders[end]?.removeAll { $0 == object }
      if orders[end]?.isEmpty == true { orders[end] = nil }
    }
  }

  private mutating func clear(_ object: ObjectNumber, _ key: String, _ target: ObjectNumber) {
    if rows[object]?.references[key] == target { rows[object]?.references[key] = nil }
    if denied[object]?[key] == target {
      denied[object]?[key] = nil
      if denied[object]?.isEmpty == true { denied[object] = nil }
    }
  }

  /// Replaces all objects of a relationship.
  mutating func replace(
    _ object: ObjectNumber, _ relationship: Schema.Relationship, with targets: [ObjectNumber],
    _ schema: Schema
  ) {
    for former in members(object, relationship, schema) where !targets.contains(former) {
      unlink(object, relationship, former, schema)
    }
    for target in targets { link(object, relationship, target, schema) }
    if relationship.isOrdered {
      orders[End(object: object, relationship: relationship.name)] = targets.isEmpty ? nil : targets
    }
  }

  // MARK: - Deleting

  /// Deletes objects by their relationships' rules. Of one that was never saved, rules of `deny` and `noAction` leave
  /// nothing either.
  ///
  /// - Parameter base: What has been saved.
  mutating func delete(
    _ first: [ObjectNumber], _ schema: Schema, base: Graph, wrong: Mutation? = nil
  ) {
    // The rule of `cascade` first settles who goes.
    var gone: Set<ObjectNumber> = []
    var waiting = first
    while let object = waiting.popLast() {
      guard let row = rows[object], gone.insert(object).inserted else { continue }
      for relationship in schema.relationships(of: row.entity) where relationship.rule == .cascade {
        if wrong == .cascadeStopsAtFirstLevel, !first.contains(object) { continue }
        waiting += members(object, relationship, schema)
      }
    }
    for object in gone {
      guard let row = rows[object] else { continue }
      for relationship in schema.relationships(of: row.entity) {
        ended[object, default: [:]][relationship.name] = facts(object, relationship, schema)
      }
    }
    for object in gone.sorted() {
      guard let row = rows[object] else { continue }
      for relationship in schema.relationships(of: row.entity) {
        switch base.isLive(object) ? relationship.rule : .nullify {
        case .nullify, .cascade:
          if wrong == .nullifyKeepsReferences { continue }
          for target in facts(object, relationship, schema) { unlink(object, relationship, target, schema) }
        case .deny:
          // Those that go as well are no objection.
          for target in facts(object, relationship, schema) where gone.contains(target) {
            unlink(object, relationship, target, schema)
          }
        case .noAction: break
        }
      }
    }
    // One-sided relationships to what is gone are cleared by nobody's rule.
    clearReferences(to: gone, schema)
    // What was never saved is no row whose end a mandatory one could wait for. A symmetric one stands in both rows.
    let new = gone.filter { !base.isLive($0) }
    clearReferences(to: new, schema, areMandatory: true)
    for relationship in schema.relationshipsByName.values
    where relationship.isSymmetric && !relationship.isToMany {
      for (number, row) in rows where row.references[relationship.name].map(new.contains) == true {
        rows[number]?.references[relationship.name] = nil
      }
    }
    for relationship in schema.relationshipsByName.values where relationship.inverse == nil {
      switch schema.storages[relationship.name] {
      case .pairs(let table, _)?:
        for pair in pairs[table] ?? [] where gone.contains(pair.target) {
          unlink(pair.source, relationship, pair.target, schema)
        }
      default: break
      }
    }
    for object in gone {
      guard let row = rows[object] else { continue }
      let kept = row.references.filter { schema.relationship($0.key)?.rule == .deny }
      if !kept.isEmpty { denied[object] = kept }
      rows[object] = nil
    }
    // A rule of `noAction` leaves an object in the order of one that goes later.
    dropDeadOrders(schema)
  }

  /// Clears one-sided references to objects that are gone, the optional ones as a store does too.
  ///
  /// - Returns: The objects that had them.
  @discardableResult
  mutating func clearReferences(
    to gone: Set<ObjectNumber>, _ schema: Schema, areMandatory: Bool = false
  ) -> Set<ObjectNumber> {
    var holders: Set<ObjectNumber> = []
    if gone.isEmpty { return holders }
    let names = schema.relationshipsByName.values.filter {
      $0.inverse == nil && !$0.isToMany && $0.isOptional != areMandatory
    }.map(\.name)
    for (number, row) in rows {
      for name in names {
        if let target = row.references[name], gone.contains(target) {
          rows[number]?.references[name] = nil
          holders.insert(number)
        }
      }
    }
    return holders
  }

  /// Whether there are pairs of an object, live or not, or references to it.
  func isRelated(_ object: ObjectNumber) -> Bool {
    pairs.values.contains { $0.contains { $0.source == object || $0.target == object } }
      || rows.values.contains { $0.references.values.contains(object) }
  }

  /// The graph without the pairs that a rule of `noAction` has left to deleted objects.
  func withoutDeadPairs(_ schema: Schema) -> Graph {
    var graph = self
    for (table, all) in pairs {
      guard let relationship = schema.relationship(table) else { continue }
      let isLeftBySource = relationship.rule == .noAction
      let isLeftByTarget = schema.inverse(of: relationship)?.rule == .noAction
      let left = all.filter { pair in
        !(isLeftBySource && !isLive(pair.source)) && !(isLeftByTarget && !isLive(pair.target))
      }
      graph.pairs[table] = left.isEmpty ? nil : left
    }
    for (end, order) in orders {
      guard case .pairs? = schema.storages[end.relationship],
        schema.relationship(end.relationship).flatMap(schema.inverse)?.rule == .noAction
      else { continue }
      let left = order.filter(isLive)
      graph.orders[end] = left.isEmpty ? nil : left
    }
    return graph
  }

  /// Leaves out facts about objects that are not there, as a store does that has been written.
  mutating func dropDeadFacts(_ schema: Schema) {
    denied = [:]
    ended = [:]
    for (table, all) in pairs {
      let left = all.filter { isLive($0.source) && isLive($0.target) }
      pairs[table] = left.isEmpty ? nil : left
    }
    for (end, order) in orders {
      guard isLive(end.object), let relationship = schema.relationship(end.relationship) else {
        orders[end] = nil
        continue
      }
      let members = Set(facts(end.object, relationship, schema).filter(isLive))
      let left = order.filter(members.contains)
      orders[end] = left.isEmpty ? nil : left
    }
    openOrders = openOrders.filter { isLive($0.object) }
  }
}

/// What differs between two states of a graph, so that it can be taken back or carried out elsewhere.
struct Delta: Sendable {
  var rows: [ObjectNumber: (before: Graph.Row?, after: Graph.Row?)] = [:]
  var added: [String: Set<Graph.Pair>] = [:]
  var removed: [String: Set<Graph.Pair>] = [:]
  var orders: [Graph.End: (before: [ObjectNumber]?, after: [ObjectNumber]?)] = [:]
  var denied: [ObjectNumber: (before: [String: ObjectNumber]?, after: [String: ObjectNumber]?)] = [:]
  var ended: [ObjectNumber: (before: [String: [ObjectNumber]]?, after: [String: [ObjectNumber]]?)] = [:]

  /// The objects that are there no more.
  var deleted: Set<ObjectNumber> { Set(rows.filter { $0.value.after == nil }.keys) }
  var isEmpty: Bool { rows.isEmpty && added.isEmpty && removed.isEmpty && orders.isEmpty }

  init(from before: Graph, to after: Graph) {
    for number in Set(before.rows.keys).union(after.rows.keys) {
      let (old, new) = (before.rows[number], after.rows[number])
      if let old, let new, old.holdsSame(as: new) { continue }
      rows[number] = (old, new)
    }
    for table in Set(before.pairs.keys).union(after.pairs.keys) {
      let (old, new) = (before.pairs[table] ?? [], after.pairs[table] ?? [])
      if old == new { continue }
      added[table] = new.subtracting(old)
      removed[table] = old.subtracting(new)
    }
    for end in Set(before.orders.keys).union(after.orders.keys) where before.orders[end] != after.orders[end]
    {
      orders[end] = (before.orders[end], after.orders[end])
    }
    for number in Set(before.denied.keys).union(after.denied.keys)
    where before.denied[number] != after.denied[number] {
      denied[number] = (before.denied[number], after.denied[number])
    }
    for number in Set(before.ended.keys).union(after.ended.keys)
    where before.ended[number] != after.ended[number] {
      ended[number] = (before.ended[number], after.ended[number])
    }
  }

  private init() {}

  /// What leads back.
  var inverse: Delta {
    var delta = Delta()
    delta.rows = rows.mapValues { ($0.after, $0.before) }
    delta.added = removed
    delta.removed = added
    delta.orders = orders.mapValues { ($0.after, $0.before) }
    delta.denied = denied.mapValues { ($0.after, $0.before) }
    delta.ended = ended.mapValues { ($0.after, $0.before) }
    return delta
  }

  /// These changes and later ones as one. What these change and the others change back is no change.
  func followed(by next: Delta) -> Delta {
    var delta = Delta()
    delta.rows = rows.merging(next.rows) { first, second in
      guard let before = second.before, let after = second.after, var row = first.after else {
        return (first.before, second.after)
      }
      for key in Set(before.values.keys).union(after.values.keys)
      where before.values[key] != after.values[key] {
        row.values[key] = after.values[key]
      }
      for key in Set(before.references.keys).union(after.references.keys)
      where before.references[key] != after.references[key] { row.references[key] = after.references[key] }
      return (first.before, row)
    }
    delta.rows = delta.rows.filter { _, change in
      guard let before = change.before, let after = change.after else {
        return change.before != nil || change.after != nil
      }
      return !before.holdsSame(as: after)
    }
    for table in Set(added.keys).union(removed.keys).union(next.added.keys).union(next.removed.keys) {
      let (new, old) = (added[table] ?? [], removed[table] ?? [])
      let (newer, older) = (next.added[table] ?? [], next.removed[table] ?? [])
      let allAdded = new.subtracting(older).union(newer.subtracting(old))
      let allRemoved = old.subtracting(newer).union(older.subtracting(new))
      if allAdded.isEmpty && allRemoved.isEmpty { continue }
      (delta.added[table], delta.removed[table]) = (allAdded, allRemoved)
    }
    delta.orders = orders.merging(next.orders) { ($0.before, $1.after) }.filter { $1.before != $1.after }
    delta.denied = denied.merging(next.denied) { ($0.before, $1.after) }.filter { $1.before != $1.after }
    delta.ended = ended.merging(next.ended) { ($0.before, $1.after) }.filter { $1.before != $1.after }
    return delta
  }

  /// The same changes, from what a graph has now, which others may have changed since.
  func applied(to graph: Graph) -> Delta {
    var delta = self
    for (number, change) in rows {
      guard let now = graph.rows[number] else { continue }
      guard let before = change.before else {
        // Somebody else has let it come back already, and so it is here before and after.
        delta.rows[number] = (now, change.after)
        continue
      }
      guard let after = change.after else {
        delta.rows[number] = (now, nil)
        continue
      }
      var former = after
      for key in Set(before.values.keys).union(after.values.keys)
      where before.values[key] != after.values[key] { former.values[key] = now.values[key] }
      for key in Set(before.references.keys).union(after.references.keys)
      where before.references[key] != after.references[key] { former.references[key] = now.references[key] }
      delta.rows[number] = (former, after)
    }
    for (table, pairs) in added { delta.added[table] = pairs.subtracting(graph.pairs[table] ?? []) }
    for (table, pairs) in removed { delta.removed[table] = pairs.intersection(graph.pairs[table] ?? []) }
    for (end, change) in orders { delta.orders[end] = (graph.orders[end], change.after) }
    return delta
  }

  /// Carries the differences out on a graph that may be another one by now: value by value.
  func apply(to graph: inout Graph) {
    for (number, change) in rows {
      switch (change.before, change.after) {
      case (_, nil): graph.rows[number] = nil
      case (nil, let row?): graph.rows[number] = row
      case (let before?, let after?):
        guard var row = graph.rows[number] else { continue }
        for key in Set(before.values.keys).union(after.values.keys)
        where before.values[key] != after.values[key] {
          row.values[key] = after.values[key]
        }
        for key in Set(before.references.keys).union(after.references.keys)
        where before.references[key] != after.references[key] {
          row.references[key] = after.references[key]
        }
        graph.rows[number] = row
      }
    }
    for (table, pairs) in removed { graph.pairs[table]?.subtract(pairs) }
    for (table, pairs) in added where !pairs.isEmpty { graph.pairs[table, default: []].formUnion(pairs) }
    graph.pairs = graph.pairs.filter { !$0.value.isEmpty }
    for (end, change) in orders { graph.orders[end] = change.after }
    for (number, change) in denied { graph.denied[number] = change.after }
    for (number, change) in ended { graph.ended[number] = change.after }
  }
}

/// A wrong behaviour of the reference model, for tests of the tester: with each of them it must find a difference.
enum Mutation: String, CaseIterable, Sendable {
  case nullifyKeepsReferences
  case cascadeStopsAtFirstLevel
  case inverseIsForgotten
  case orderIsForgotten
  case undoForgetsOrder
  case undoForgetsReferences
  case rollbackKeepsInsertions
  case savesIgnoreMandatory
  case savesIgnoreUnique
  case sortsNilLast
  case limitsByOneMore
  case childSaveLosesPairs
  case childSeesOldValues
  case conflictsAreIgnored
}
