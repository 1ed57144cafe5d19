import CDModel

/// The number that a program gives a context.
typealias ContextNumber = Int

/// The reference model: a store, contexts over it and over each other, and what each of them knows.
///
/// It is written from the documentation, in plain collections. A context is two graphs: the one that its changes
/// are based on, and the current one. What has to be saved is the difference of the two.
struct World: Sendable {
  enum Policy: String, Sendable, CaseIterable {
    case error
    case mergeByPropertyStoreTrump
    case mergeByPropertyObjectTrump
    case overwrite
    case rollback
  }

  struct UndoStack: Sendable {
    var undoable: [[Delta]] = []
    var redoable: [[Delta]] = []
    /// The group that a program has begun, and how often.
    var open: [Delta] = []
    var level = 0
  }

  struct Context: Sendable {
    var parent: ContextNumber?
    /// The coordinator of a context without a parent.
    var coordinator = 0
    var base: Graph
    var current: Graph
    var undo: UndoStack?
    var policy = Policy.error
    /// Objects of which the documentation leaves open what the context knows.
    var open: Set<ObjectNumber> = []
    /// Relationships of which it leaves open what the context knows: others have changed them too.
    var openEnds: Set<Graph.End> = []
    /// All objects that a change since the last save was about, on either side of a relationship. One whose values are the
    /// former ones again is not changed, but the context may not know it of its pairs and orders.
    var touched: Set<ObjectNumber> = []
    /// Those of them whose own rows had other values or references.
    var rewritten: Set<ObjectNumber> = []
    /// Those of them whose own rows were changed by more than the deletion of what they referred to.
    var assigned: Set<ObjectNumber> = []
    /// Pairs that others have made since the context last removed them.
    var given: [String: Set<Graph.Pair>] = [:]
    /// Pairs that the context has made or removed since its last save: they stay its changes, also where others have done
    /// the same and take that back.
    var made: [String: Set<Graph.Pair>] = [:]
    var unmade: [String: Set<Graph.Pair>] = [:]
    /// Pairs that it has removed and added again. Undocumented: whether they are its changes if others remove them.
    var remade: [String: Set<Graph.Pair>] = [:]
    /// References of the store that have gone with the objects to which they led.
    var unset: [ObjectNumber: [String: ObjectNumber]] = [:]
    /// References that were set, by their objects: no deletion alone has cleared them.
    var assignedKeys: [ObjectNumber: Set<String>] = [:]
    /// Those of the removed pairs that no deletion has taken with it.
    var unlinked: [String: Set<Graph.Pair>] = [:]
    /// Relationships whose order others have changed beside the context.
    var contestedOrders: Set<Graph.End> = []
    /// How many saves there had been when the context last read.
    var seen = 0
    /// Whether it is open what an undo would bring.
    var isUndoOpen = false
  }

  struct Mistake: Hashable, Sendable, Comparable, CustomStringConvertible {
    var object: ObjectNumber
    var property: String
    static func < (left: Self, right: Self) -> Bool {
      (left.object, left.property) < (right.object, right.property)
    }
    var description: String { "o\(object).\(property)" }
  }

  enum Failure: Hashable, Sendable {
    case validation(Set<Mistake>)
    case notUnique(Set<Set<ObjectNumber>>)
    case conflict(Set<ObjectNumber>)
    /// It must fail, and the documentation does not say by which error.
    case some
  }

  /// What a save must do: nothing is settled where there are several.
  struct Verdict: Sendable {
    var failure: Failure?
    /// Whether it may fail or succeed as it likes.
    var isOpen = false
    /// Whether it is open too what it makes of the store where it succeeds.
    var isResultOpen = false
    /// The store that it makes where others have saved since.
    var result: Graph?
  }

  let schema: Schema
  var store = Graph() {
    didSet {
      saves += 1
      for object in store.rows.keys where oldValue.rows[object] == nil && versions[object] != nil {
        returns[object] = saves
      }
      for (object, row) in store.rows { versions[object] = max(versions[object] ?? 0, row.version) }
    }
  }
  private(set) var saves = 0
  /// The save with which an object has last come back whose row had gone.
  private(set) var returns: [ObjectNumber: Int] = [:]
  /// The highest version that the row of each object has had: one that is written anew goes on counting.
  private(set) var versions: [ObjectNumber: Int] = [:]
  var contexts: [ContextNumber: Context] = [:]
  /// The order of insertion, by the keys that identifiers show.
  var keys: [ObjectNumber: Int64] = [:]
  var entities: [ObjectNumber: Int] = [:]
  let mutation: Mutation?

  init(schema: Schema, mutation: Mutation? = nil) {
    self.schema = schema
    self.mutation = mutation
  }

  // MARK: - Contexts

  func children(of context: ContextNumber) -> [ContextNumber] {
    contexts.filter { $0.value.parent == context }.keys.sorted()
  }

  mutating func addContext(
    _ number: ContextNumber, parent: ContextNumber?, hasUndo: Bool, coordinator: Int = 0
  ) {
    let graph = parent.flatMap { contexts[$0]?.current } ?? store
    contexts[number] = Context(
      parent: parent, coordinator: coordinator, base: graph, current: graph, undo: hasUndo ? UndoStack() : nil
    )
  }

  mutating func removeContext(_ number: ContextNumber) {
    for child in children(of: number) { removeContext(child) }
    contexts[number] = nil
  }

  // MARK: - Changes

  /// Carries out a change of a context's graph, for its undo manager too.
  mutating func change(_ number: ContextNumber, _ body: (inout Graph, Schema) -> Void) {
    guard var context = contexts[number] else { return }
    let before = context.current
    body(&context.current, schema)
    contexts[number] = context
    let delta = Delta(from: before, to: context.current)
    // What a parent has of an object may be open. From here on it is the child's, and stays open when the parent's is settled.
    if let parent = context.parent {
      let inherited = openness(of: parent)
      for (object, change) in delta.rows {
        if inherited.objects.contains(object) { contexts[number]?.open.insert(object) }
        // So is from whom a one-to-one relationship takes its partner.
        let targets = [change.before, change.after].compactMap { $0?.references.values }.joined()
        contexts[number]?.open.formUnion(inherited.objects.intersection(targets))
        for (key, target) in change.after?.references ?? [:] where change.before?.references[key] != target {
          guard let inverse = schema.relationship(key).flatMap(schema.inverse), !inverse.isToMany,
            inherited.ends.contains(Graph.End(object: target, relationship: inverse.name))
          else { continue }
          for end in inherited.ends where end.relationship == key && end.object != object {
            contexts[number]?.open.insert(end.object)
          }
        }
      }
    }
    touch(delta, in: number)
    note(before, context.current, in: number)
  }

  /// Remembers the objects that a change is about.
  mutating func touch(_ delta: Delta, in number: ContextNumber) {
    var touched: Set<ObjectNumber> = []
    // The store clears references to deleted objects, and changes no object by that. To set one that reads as nil already is
    // a change.
    func isCleared(_ change: (before: Graph.Row?, after: Graph.Row?)) -> Bool {
      guard let graph = contexts[number]?.current, isClearedOnly(change, in: graph) else { return false }
      return change.before?.references.contains { key, target in
        change.after?.references[key] == nil && delta.deleted.contains(target)
      } ?? false
    }
    for (object, change) in delta.rows {
      if isCleared(change) { continue }
      touched.insert(object)
      touched.formUnion((change.before?.references ?? [:]).values)
      touched.formUnion((change.after?.references ?? [:]).values)
    }
    for pair in delta.added.values.joined() { touched.formUnion([pair.source, pair.target]) }
    for pair in delta.removed.values.joined() { touched.formUnion([pair.source, pair.target]) }
    for (end, change) in delta.orders {
      touched.insert(end.object)
      touched.formUnion(change.before ?? [])
      touched.formUnion(change.after ?? [])
    }
    contexts[number]?.touched.formUnion(touched)
    contexts[number]?.rewritten.formUnion(delta.rows.keys)
    let assigned = delta.rows.filter { !isCleared($0.value) }.keys
    contexts[number]?.assigned.formUnion(assigned)
    notePairs(of: delta, in: number)
  }

  /// Remembers which pairs a context has made and removed, and which references have gone. What it has made and removed again
  /// is no change.
  private mutating func notePairs(of delta: Delta, in number: ContextNumber) {
    guard let base = contexts[number]?.base else { return }
    for (object, change) in delta.rows {
      guard let before = change.before?.references, let after = change.after?.references else { continue }
      for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
        if let former = before[key], delta.deleted.contains(former) { continue }
        contexts[number]?.assignedKeys[object, default: []].insert(key)
      }
    }
    for (object, change) in delta.rows where change.after != nil {
      for (key, target) in change.before?.references ?? [:]
      where delta.deleted.contains(target) && base.rows[object]?.references[key] == target {
        contexts[number]?.unset[object, default: [:]][key] = target
      }
    }
    for (table, pairs) in delta.added {
      contexts[number]?.unmade[table]?.subtract(pairs)
      contexts[number]?.unlinked[table]?.subtract(pairs)
      let known = base.pairs[table] ?? []
      contexts[number]?.made[table, default: []].formUnion(pairs.subtracting(known))
      contexts[number]?.remade[table, default: []].formUnion(pairs.intersection(known))
    }
    for (table, pairs) in delta.removed {
      // What a deletion has taken may come back with it.
      contexts[number]?.made[table]?.subtract(
        pairs.filter { delta.deleted.isDisjoint(with: [$0.source, $0.target]) })
      contexts[number]?.given[table]?.subtract(pairs)
      contexts[number]?.unmade[table, default: []].formUnion(pairs.intersection(base.pairs[table] ?? []))
      contexts[number]?.unlinked[table, default: []].formUnion(
        pairs.filter { delta.deleted.isDisjoint(with: [$0.source, $0.target]) })
    }
  }

  mutating func note(_ before: Graph, _ after: Graph, in number: ContextNumber) {
    // What comes back has its relationships again, also those that a rule of `noAction` keeps until the save.
    var (before, after) = (before.withoutDeadPairs(schema), after.withoutDeadPairs(schema))
    before.dropDeadOrders(schema)
    after.dropDeadOrders(schema)
    let delta = Delta(from: before, to: after)
    guard !delta.isEmpty || !delta.denied.isEmpty, var undo = contexts[number]?.undo else { return }
    // What has come to nothing by a group's end is no part of it.
    if undo.level > 0 {
      undo.open = [undo.open.first?.followed(by: delta) ?? delta]
    } else {
      undo.undoable.append([delta])
    }
    undo.redoable = []
    contexts[number]?.undo = undo
  }

  func delta(of number: ContextNumber) -> Delta {
    guard let context = contexts[number] else { return Delta(from: Graph(), to: Graph()) }
    return Delta(from: context.base, to: context.current)
  }

  /// Whether all that differs in a row is that one-sided references to deleted objects have been cleared. Nothing says
  /// whether that makes it a changed object: the store clears them too.
  func isClearedOnly(_ change: (before: Graph.Row?, after: Graph.Row?), in graph: Graph) -> Bool {
    guard let before = change.before, let after = change.after, before.values == after.values else {
      return false
    }
    return Set(before.references.keys).union(after.references.keys).allSatisfy { key in
      if before.references[key] == after.references[key] { return true }
      guard after.references[key] == nil, let former = before.references[key] else { return false }
      return schema.relationship(key)?.inverse == nil && !graph.isLive(former)
    }
  }

  /// Whether all that differs in a row is that one-sided references lead to objects which are not in a graph any more.
  func leadsOnlyToDeleted(_ change: (before: Graph.Row?, after: Graph.Row?), in graph: Graph) -> Bool {
    guard let before = change.before, let after = change.after, before.values == after.values else {
      return false
    }
    return Set(before.references.keys).union(after.references.keys).allSatisfy { key in
      if before.references[key] == after.references[key] { return true }
      guard let target = after.references[key], schema.relationship(key)?.inverse == nil else { return false }
      return !graph.isLive(target)
    }
  }

  /// Objects and relationships of which it is open what a context knows, for itself or through its parents.
  func openness(of number: ContextNumber) -> (objects: Set<ObjectNumber>, ends: Set<Graph.End>) {
    guard let context = contexts[number] else { return ([], []) }
    let inherited = context.parent.map { openness(of: $0) } ?? ([], [])
    return (context.open.union(inherited.0), context.openEnds.union(inherited.1))
  }
}

extension Graph {
  /// Leaves dead objects out of orders.
  mutating func dropDeadOrders(_ schema: Schema) {
    orders = orders.filter { isLive($0.key.object) }
  }
}
