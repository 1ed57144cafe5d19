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
  var store = Graph() { didSet { saves += 1 } }
  private(set) var saves = 0
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

  /// A context sees what others have saved, or what its parent has, as a turn of it begins.
  mutating func learn(_ number: ContextNumber) {
    guard let context = contexts[number] else { return }
    if let parent = context.parent {
      learn(parent)
      guard mutation != .childSeesOldValues else { return }
      if let graph = contexts[parent]?.current { rebase(number, onto: graph) }
    } else {
      rebase(number, onto: store)
      contexts[number]?.seen = saves
    }
  }

  /// Whether others have saved since a root context last read.
  func isBehind(_ number: ContextNumber) -> Bool {
    guard let context = contexts[number] else { return false }
    return context.seen != saves
  }

  private mutating func rebase(_ number: ContextNumber, onto graph: Graph) {
    guard var context = contexts[number], context.base != graph else { return }
    let delta = Delta(from: context.base, to: context.current)
    var (base, current) = (graph, graph)
    current.denied = context.current.denied
    current.ended = context.current.ended
    for (object, change) in delta.rows {
      if isClearedOnly(change, in: context.current) {
        // The object itself has no changes, and has what others have made of it, or is gone with them.
        current.rows[object]?.references = (graph.rows[object]?.references ?? [:]).filter {
          context.current.isLive($0.value) || context.base.rows[$0.value] == nil
        }
        continue
      }
      base.rows[object] = change.before
      current.rows[object] = change.after
      // Somebody else has deleted what has changes here.
      if change.before != nil, change.after != nil, graph.rows[object] == nil { context.open.insert(object) }
    }
    // What has changes keeps them; whether relationships are changes of both of their objects, nothing says.
    for object in context.touched {
      let isUnchanged = delta.rows[object].map { isClearedOnly($0, in: context.current) } ?? true
      if isUnchanged, graph.rows[object] != context.base.rows[object],
        context.parent != nil || context.rewritten.contains(object) || graph.rows[object] == nil
      {
        context.open.insert(object)
      }
      guard let entity = entities[object] else { continue }
      for relationship in schema.relationships(of: entity) {
        let before = context.base.members(object, relationship, schema)
        let after = graph.members(object, relationship, schema)
        guard before != after,
          context.parent != nil
            || !isReadAgain(relationship, of: object, before, after, delta, context.touched)
        else { continue }
        context.openEnds.insert(Graph.End(object: object, relationship: relationship.name))
        guard let inverse = relationship.inverse else { continue }
        for other in Set(before).union(after).union(context.current.members(object, relationship, schema)) {
          context.openEnds.insert(Graph.End(object: other, relationship: inverse))
        }
      }
    }
    for (table, pairs) in delta.removed { current.pairs[table]?.subtract(pairs) }
    for (table, pairs) in delta.added where !pairs.isEmpty {
      current.pairs[table, default: []].formUnion(pairs)
    }
    current.pairs = current.pairs.filter { !$0.value.isEmpty }
    for (end, change) in delta.orders {
      current.orders[end] = change.after
      if graph.orders[end] != change.before {
        current.openOrders.insert(end)
        context.contestedOrders.insert(end)
      }
    }
    context.base = base
    context.current = current
    contexts[number] = context
  }

  /// Whether a context reads a relationship of a changed object again when others have changed it: one without an order
  /// whose members that have come and gone have no changes here, so that what it has is the others' and its own changes.
  private func isReadAgain(
    _ relationship: Schema.Relationship, of object: ObjectNumber, _ before: [ObjectNumber],
    _ after: [ObjectNumber], _ delta: Delta, _ touched: Set<ObjectNumber>
  ) -> Bool {
    guard relationship.isToMany, !relationship.isOrdered,
      schema.inverse(of: relationship)?.isOrdered != true
    else { return false }
    return Set(before).symmetricDifference(after).allSatisfy {
      delta.rows[$0] == nil && !touched.contains($0)
    }
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
    for (object, change) in delta.rows {
      // The store clears references to deleted objects, and changes no object by that.
      if let graph = contexts[number]?.current, isClearedOnly(change, in: graph) { continue }
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
  }

  private mutating func note(_ before: Graph, _ after: Graph, in number: ContextNumber) {
    // What comes back has its relationships again, also those that a rule of `noAction` keeps until the save.
    let delta = Delta(from: before.withoutDeadPairs(schema), to: after.withoutDeadPairs(schema))
    guard !delta.isEmpty, var undo = contexts[number]?.undo else { return }
    if undo.level > 0 { undo.open.append(delta) } else { undo.undoable.append([delta]) }
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

  /// Objects and relationships of which it is open what a context knows, for itself or through its parents.
  func openness(of number: ContextNumber) -> (objects: Set<ObjectNumber>, ends: Set<Graph.End>) {
    guard let context = contexts[number] else { return ([], []) }
    let inherited = context.parent.map { openness(of: $0) } ?? ([], [])
    return (context.open.union(inherited.0), context.openEnds.union(inherited.1))
  }

  /// Reads an object anew: its changes stay or are lost, the rest is what the store or the parent has.
  mutating func refresh(_ object: ObjectNumber, merging: Bool, in number: ContextNumber) {
    guard var context = contexts[number] else { return }
    let below = context.parent.flatMap { contexts[$0]?.current } ?? store
    guard let row = below.rows[object], let before = context.base.rows[object],
      let after = context.current.rows[object]
    else { return }
    var merged = row
    if merging {
      for key in before.values.keys where before.values[key] != after.values[key] {
        merged.values[key] = after.values[key]
      }
      for key in Set(before.references.keys).union(after.references.keys)
      where before.references[key] != after.references[key] { merged.references[key] = after.references[key] }
    }
    context.base.rows[object] = row
    context.current.rows[object] = merged
    context.open.remove(object)
    contexts[number] = context
  }

  // MARK: - Undo

  mutating func beginGroup(_ number: ContextNumber) { contexts[number]?.undo?.level += 1 }

  mutating func endGroup(_ number: ContextNumber) {
    guard var undo = contexts[number]?.undo, undo.level > 0 else { return }
    undo.level -= 1
    if undo.level == 0, !undo.open.isEmpty {
      // Whether changes that come to nothing are a group, nothing says.
      if var graph = contexts[number]?.current {
        let after = graph
        for delta in undo.open.reversed() { delta.inverse.apply(to: &graph) }
        if Delta(from: graph, to: after).isEmpty { contexts[number]?.isUndoOpen = true }
      }
      undo.undoable.append(undo.open)
      undo.open = []
    }
    contexts[number]?.undo = undo
  }

  private mutating func closeGroups(_ number: ContextNumber) {
    while (contexts[number]?.undo?.level ?? 0) > 0 { endGroup(number) }
  }

  /// Whether it is open what the next undo brings, also after an open group has been ended.
  func isUndoOpen(_ number: ContextNumber) -> Bool {
    var probe = self
    probe.closeGroups(number)
    return probe.contexts[number]?.isUndoOpen ?? false
  }

  mutating func undo(_ number: ContextNumber) {
    closeGroups(number)
    guard let group = contexts[number]?.undo?.undoable.popLast() else { return }
    let done = apply(group.reversed().map(\.inverse), in: number)
    contexts[number]?.undo?.redoable.append(done.reversed().map(\.inverse))
  }

  mutating func redo(_ number: ContextNumber) {
    closeGroups(number)
    guard let group = contexts[number]?.undo?.redoable.popLast() else { return }
    let done = apply(group, in: number)
    contexts[number]?.undo?.undoable.append(done)
  }

  /// - Returns: What has been done, by which a redo puts back what there is now: an undo notes that, whatever others have
  ///   made of it. An object that others have deleted is not deleted again, and so is nothing to come back.
  private mutating func apply(_ deltas: [Delta], in number: ContextNumber) -> [Delta] {
    guard let context = contexts[number] else { return deltas }
    var graph = context.current
    // What others have deleted does not come back.
    let below = context.parent.flatMap { contexts[$0]?.current } ?? store
    let vanished = Set(context.base.rows.keys).subtracting(below.rows.keys)
    var done: [Delta] = []
    for var delta in deltas {
      delta.rows = delta.rows.filter { object, change in
        if change.after == nil { return graph.isLive(object) }
        guard !graph.isLive(object), vanished.contains(object) else { return true }
        contexts[number]?.open.insert(object)
        return false
      }
      done.append(delta.applied(to: graph))
      if mutation == .undoForgetsOrder { delta.orders = [:] }
      if mutation == .undoForgetsReferences {
        delta.rows = delta.rows.mapValues { change in
          guard let before = change.before, var after = change.after else { return change }
          after.references = before.references
          return (before, after)
        }
      }
      let former = graph
      if letGo(of: delta, in: &graph) { contexts[number]?.isUndoOpen = true }
      delta.apply(to: &graph)
      touch(delta, in: number)
      touch(Delta(from: former, to: graph), in: number)
    }
    contexts[number]?.current = graph
    readCleanRows(number)
    return done
  }

  /// Takes objects whose insertion is undone out of relationships that others have put them into since. Where a deletion is
  /// made again, rules of `deny` and `noAction` leave them as they did.
  ///
  /// - Returns: Whether there were any. What a redo makes of these, nothing says.
  private func letGo(of delta: Delta, in graph: inout Graph) -> Bool {
    var hasLetGo = false
    for object in delta.deleted.sorted() {
      guard let row = graph.rows[object] else { continue }
      let isDeletion = delta.ended[object]?.after != nil
      for relationship in schema.relationships(of: row.entity) {
        if isDeletion, relationship.rule == .deny || relationship.rule == .noAction { continue }
        switch schema.storages[relationship.name] {
        case .ownColumn?, nil: continue
        case .otherColumn? where relationship.rule == .noAction: continue
        case .otherColumn?, .pairs?: break
        }
        for target in graph.facts(object, relationship, schema) where graph.isLive(target) {
          graph.unlink(object, relationship, target, schema)
          hasLetGo = true
        }
      }
    }
    return hasLetGo
  }

  /// What has no changes any more is what the store or the parent has. Of what is related to something changed, nothing
  /// says whether it has changes.
  private mutating func readCleanRows(_ number: ContextNumber) {
    guard var context = contexts[number] else { return }
    let below = context.parent.flatMap { contexts[$0]?.current } ?? store
    let hasChanges = !Delta(from: context.base, to: context.current).isEmpty
    for (object, row) in context.base.rows {
      guard let newest = below.rows[object], newest != row, let current = context.current.rows[object],
        current.holdsSame(as: row)
      else { continue }
      if hasChanges, context.touched.contains(object) {
        context.open.insert(object)
        continue
      }
      context.base.rows[object] = newest
      context.current.rows[object] = newest
    }
    contexts[number] = context
  }

  mutating func rollback(_ number: ContextNumber) {
    guard let context = contexts[number] else { return }
    var graph = context.parent.flatMap { contexts[$0]?.current } ?? store
    if mutation == .rollbackKeepsInsertions {
      for (object, row) in context.current.rows where context.base.rows[object] == nil {
        graph.rows[object] = row
      }
    }
    let base = context.parent.flatMap { contexts[$0]?.current } ?? store
    contexts[number]?.base = base
    contexts[number]?.current = graph
    settle(number)
    if context.undo != nil { contexts[number]?.undo = UndoStack() }
  }

  /// Nothing is unsaved any more, and so nothing is open.
  mutating func settle(_ number: ContextNumber) {
    contexts[number]?.open = []
    contexts[number]?.openEnds = []
    contexts[number]?.touched = []
    contexts[number]?.rewritten = []
    contexts[number]?.contestedOrders = []
  }

  /// Carries out a save of which others' saves have made something else.
  mutating func save(_ number: ContextNumber, as graph: Graph) {
    store = graph
    contexts[number]?.base = graph
    contexts[number]?.current = graph
    contexts[number]?.isUndoOpen = true
    settle(number)
  }

  // MARK: - Saving

  /// The objects whose relationships have other members than at the last save, by relationship.
  func touchedEnds(of number: ContextNumber) -> Set<Graph.End> {
    guard let context = contexts[number] else { return [] }
    let delta = Delta(from: context.base, to: context.current)
    if delta.isEmpty { return [] }
    var ends: Set<Graph.End> = []
    for object in Set(context.base.rows.keys).union(context.current.rows.keys) {
      guard let entity = entities[object] else { continue }
      for relationship in schema.relationships(of: entity) {
        let before = context.base.members(object, relationship, schema)
        let after = context.current.members(object, relationship, schema)
        if relationship.isOrdered ? before != after : Set(before) != Set(after) {
          ends.insert(Graph.End(object: object, relationship: relationship.name))
        }
      }
    }
    return ends
  }

  /// The rules that a context's changes break; nil among the results stands for what is open.
  func mistakes(of number: ContextNumber) -> (must: Set<Mistake>, isOpen: Bool, isResultOpen: Bool) {
    guard let context = contexts[number] else { return ([], false, false) }
    let delta = Delta(from: context.base, to: context.current)
    let touched = touchedEnds(of: number)
    var must: Set<Mistake> = []
    let openness = openness(of: number)
    var isOpen = !delta.isEmpty && (!openness.objects.isEmpty || !openness.ends.isEmpty)
    // A root context saves what it has changed, whatever it shows of the rest.
    var isResultOpen = isOpen && context.parent != nil
    for (object, change) in delta.rows {
      guard let row = change.after else {
        guard let before = change.before else { continue }
        for relationship in schema.relationships(of: before.entity) where relationship.rule == .deny {
          if context.current.facts(object, relationship, schema).contains(where: context.current.isLive) {
            must.insert(Mistake(object: object, property: relationship.name))
          }
        }
        continue
      }
      for attribute in schema.attributes(of: row.entity) where attribute.derivation == nil {
        if breaksRule(row.values[attribute.name] ?? .null, attribute) {
          if let before = change.before, before.values[attribute.name] == row.values[attribute.name] {
            isOpen = true
            continue
          }
          must.insert(Mistake(object: object, property: attribute.name))
        }
      }
    }
    for (object, row) in context.current.rows {
      let isChanged = delta.rows[object] != nil
      for relationship in schema.relationships(of: row.entity) {
        guard
          isChanged || context.touched.contains(object)
            || touched.contains(Graph.End(object: object, relationship: relationship.name))
        else { continue }
        let members = context.current.members(object, relationship, schema)
        // A child may have been given what breaks a rule. Whether that is its mistake, nothing says.
        let isInherited =
          context.base.isLive(object)
          && !touched.contains(Graph.End(object: object, relationship: relationship.name))
        if isInherited {
          if !relationship.isOptional && members.isEmpty { isOpen = true }
          continue
        }
        if !relationship.isOptional, members.isEmpty, mutation != .savesIgnoreMandatory {
          // Whether a reference to what is deleted is one, nothing says.
          if context.current.isDangling(object, relationship, schema) {
            isOpen = true
          } else {
            must.insert(Mistake(object: object, property: relationship.name))
          }
        }
        if let maximum = relationship.maximumCount, members.count > maximum {
          must.insert(Mistake(object: object, property: relationship.name))
        }
      }
    }
    for object in context.touched where delta.rows[object] == nil {
      guard let row = context.current.rows[object] else { continue }
      for attribute in schema.attributes(of: row.entity) where attribute.derivation == nil {
        if breaksRule(row.values[attribute.name] ?? .null, attribute) { isOpen = true }
      }
    }
    // References to what was inserted and deleted since the last save.
    for row in delta.rows.values.compactMap(\.after) {
      for target in row.references.values
      where !context.current.isLive(target) && context.base.rows[target] == nil {
        isResultOpen = true
      }
    }
    for object in delta.denied.keys where context.base.rows[object] == nil { isResultOpen = true }
    for pairs in delta.added.values {
      for pair in pairs {
        for end in [pair.source, pair.target]
        where !context.current.isLive(end) && context.base.rows[end] == nil { isResultOpen = true }
      }
    }
    isOpen = isOpen || isResultOpen
    return (must, isOpen, isResultOpen)
  }

  private func breaksRule(_ value: AttributeValue, _ attribute: Schema.Attribute) -> Bool {
    if case .null = value { return !attribute.isOptional && mutation != .savesIgnoreMandatory }
    if let minimum = attribute.minimum, Evaluation.compare(value, .less, minimum) { return true }
    if let maximum = attribute.maximum, Evaluation.compare(value, .greater, maximum) { return true }
    if let length = attribute.maximumLength, case .string(let text) = value, text.count > length {
      return true
    }
    return false
  }

  /// Groups of objects that have the same values of a list that is unique. Those without a changed object are the
  /// store's affair.
  func duplicates(in graph: Graph, changed: Set<ObjectNumber>) -> Set<Set<ObjectNumber>> {
    var groups: Set<Set<ObjectNumber>> = []
    for (owner, entity) in schema.entities.enumerated() {
      for list in entity.unique {
        var byValues: [[AttributeValue]: Set<ObjectNumber>] = [:]
        for (object, row) in graph.rows where schema.isA(row.entity, owner) {
          let values = list.map { row.values[$0] ?? .null }
          if values.contains(.null) { continue }
          byValues[values, default: []].insert(object)
        }
        for group in byValues.values where group.count > 1 && !group.isDisjoint(with: changed) {
          groups.insert(group)
        }
      }
    }
    return groups
  }

  /// What a save of a context must come to.
  func verdict(ofSaving number: ContextNumber) -> Verdict {
    guard let context = contexts[number] else { return Verdict() }
    let delta = Delta(from: context.base, to: context.current)
    let (must, isOpen, isResultOpen) = mistakes(of: number)
    if isResultOpen { return Verdict(isOpen: true, isResultOpen: true) }
    if isOpen {
      let openness = openness(of: number)
      if context.parent == nil, !openness.objects.isEmpty || !openness.ends.isEmpty {
        return verdictAmongOthers(number, isOpen: true)
      }
      return Verdict(failure: must.isEmpty ? nil : .some, isOpen: must.isEmpty)
    }
    if !must.isEmpty { return Verdict(failure: .validation(must)) }
    // One-sided references to what is gone.
    for (object, row) in context.current.rows {
      for (key, target) in row.references where !context.current.isLive(target) {
        guard let relationship = schema.relationship(key), relationship.inverse == nil else { continue }
        // A store clears those of rows that are not written, and a policy those that are.
        let isWritten = delta.rows[object] != nil
        let isCleared =
          context.parent != nil
          ? !isWritten : relationship.isOptional && (!isWritten || context.policy != .error)
        if !isCleared { return Verdict(failure: .some) }
      }
    }
    if context.parent != nil {
      let conflicts = childConflicts(number)
      return Verdict(failure: conflicts.isEmpty || context.policy != .error ? nil : .conflict(conflicts))
    }
    let (conflicts, related, perhaps) = storeConflicts(number)
    if conflicts.isEmpty, !perhaps.isEmpty || !related.isEmpty {
      return verdictAmongOthers(number, isOpen: !perhaps.isEmpty)
    }
    if context.policy == .error || conflicts.isEmpty {
      if !conflicts.isEmpty, mutation != .conflictsAreIgnored {
        return Verdict(failure: .conflict(conflicts))
      }
      var next = store
      for (object, change) in delta.rows { next.rows[object] = change.after }
      next.clearReferences(to: delta.deleted, schema)
      let groups = duplicates(in: next, changed: Set(delta.rows.keys))
      if !groups.isEmpty, mutation != .savesIgnoreUnique {
        return Verdict(
          failure: context.policy == .error ? .notUnique(groups) : nil, isOpen: context.policy != .error,
          isResultOpen: context.policy != .error)
      }
      if leadsNowhere(next) { return Verdict(failure: .some) }
      return Verdict()
    }
    return verdictAmongOthers(number, isOpen: !perhaps.isEmpty)
  }

  /// What a save must come to where others have saved since what it is about.
  ///
  /// - Parameter isOpen: Whether it may fail for what the documentation leaves open.
  private func verdictAmongOthers(_ number: ContextNumber, isOpen: Bool) -> Verdict {
    guard let context = contexts[number] else { return Verdict() }
    let (conflicts, related, perhaps) = storeConflicts(number)
    if context.policy == .error, !conflicts.isEmpty || !related.isEmpty {
      return conflicts.isEmpty ? Verdict(isOpen: true, isResultOpen: true) : Verdict(failure: .some)
    }
    guard perhaps.isEmpty, let result = result(ofSaving: number) else {
      return Verdict(isOpen: true, isResultOpen: true)
    }
    return Verdict(isOpen: isOpen, result: result)
  }

  /// Whether a row refers to one that is not there, which a store refuses where the rules are not `noAction`.
  private func leadsNowhere(_ graph: Graph) -> Bool {
    graph.rows.values.contains { row in
      row.references.contains { key, target in
        guard !graph.isLive(target), let relationship = schema.relationship(key) else { return false }
        return schema.inverse(of: relationship)?.rule != .noAction
      }
    }
  }

  /// The rows that others have changed too, deleted objects that they have related others to, and rows of which it is
  /// open whether they have changed them.
  func storeConflicts(_ number: ContextNumber) -> (
    must: Set<ObjectNumber>, related: Set<ObjectNumber>, perhaps: Set<ObjectNumber>
  ) {
    guard let context = contexts[number] else { return ([], [], []) }
    var (must, perhaps): (Set<ObjectNumber>, Set<ObjectNumber>) = ([], [])
    var related: Set<ObjectNumber> = []
    let delta = Delta(from: context.base, to: context.current)
    for (object, change) in delta.rows {
      guard let before = change.before else { continue }
      if let theirs = store.rows[object] {
        if theirs.version != before.version {
          if isClearedOnly(change, in: context.current) {
            perhaps.insert(object)
          } else {
            must.insert(object)
          }
        }
        if theirs.perhaps != before.perhaps { perhaps.insert(object) }
      } else if change.after != nil {
        must.insert(object)
      }
    }
    for object in context.rewritten where delta.rows[object] == nil {
      if store.rows[object] != context.base.rows[object] || context.open.contains(object) {
        perhaps.insert(object)
      }
    }
    // Of references that several have set, the store may refuse one: a partner is taken.
    for (object, change) in delta.rows {
      for (key, target) in change.after?.references ?? [:] where change.before?.references[key] != target {
        if store.rows[target] == nil, context.base.isLive(target) { perhaps.insert(object) }
        guard let relationship = schema.relationship(key), let inverse = schema.inverse(of: relationship),
          !inverse.isToMany
        else { continue }
        for (other, row) in store.rows
        where other != object && row.references[key] == target && delta.rows[other] == nil {
          perhaps.insert(object)
        }
      }
      // Others may have related what is deleted here.
      if change.after == nil {
        if store.rows.contains(where: {
          $0.value.references.values.contains(object) && delta.rows[$0.key] == nil
        }) {
          related.insert(object)
        }
      }
    }
    return (must, related, perhaps)
  }

  func childConflicts(_ number: ContextNumber) -> Set<ObjectNumber> {
    guard let context = contexts[number], let parent = context.parent.flatMap({ contexts[$0]?.current })
    else {
      return []
    }
    var conflicts: Set<ObjectNumber> = []
    for (object, change) in Delta(from: context.base, to: context.current).rows {
      guard let before = change.before else { continue }
      switch (change.after, parent.rows[object]) {
      case (nil, nil): break
      case (nil, let theirs?): if !theirs.holdsSame(as: before) { conflicts.insert(object) }
      case (_?, nil): conflicts.insert(object)
      case (let after?, let theirs?):
        for key in before.values.keys
        where before.values[key] != after.values[key] && before.values[key] != theirs.values[key]
          && after.values[key] != theirs.values[key]
        {
          conflicts.insert(object)
        }
        for key in Set(before.references.keys).union(after.references.keys).union(theirs.references.keys)
        where before.references[key] != after.references[key]
          && before.references[key] != theirs.references[key]
          && after.references[key] != theirs.references[key]
        {
          conflicts.insert(object)
        }
      }
    }
    return conflicts
  }

  /// Takes out of objects that a child has deleted what it had taken out of them before.
  private func takeOut(of graph: inout Graph, _ delta: Delta, _ context: Context) {
    for (object, change) in delta.rows.sorted(by: { $0.key < $1.key }) where change.after == nil {
      guard let entity = change.before?.entity else { continue }
      for relationship in schema.relationships(of: entity) {
        let known = Set(context.base.facts(object, relationship, schema))
        let last = context.current.ended[object]?[relationship.name] ?? []
        for target in graph.facts(object, relationship, schema)
        where known.contains(target) && !last.contains(target) {
          graph.unlink(object, relationship, target, schema)
        }
      }
    }
  }

  /// Carries out a save that has succeeded.
  mutating func save(_ number: ContextNumber) {
    guard let context = contexts[number] else { return }
    var delta = Delta(from: context.base, to: context.current)
    if let parent = context.parent, var graph = contexts[parent]?.current {
      if mutation == .childSaveLosesPairs { delta.added = [:] }
      let before = graph
      for (object, change) in delta.rows {
        guard let after = change.after else { continue }
        guard let old = change.before, var row = graph.rows[object] else {
          graph.rows[object] = after
          continue
        }
        for key in Set(old.values.keys).union(after.values.keys) where old.values[key] != after.values[key] {
          row.values[key] = after.values[key]
        }
        for key in Set(old.references.keys).union(after.references.keys)
        where old.references[key] != after.references[key] { row.references[key] = after.references[key] }
        graph.rows[object] = row
      }
      for (table, pairs) in delta.removed { graph.pairs[table]?.subtract(pairs) }
      for (table, pairs) in delta.added where !pairs.isEmpty {
        graph.pairs[table, default: []].formUnion(pairs)
      }
      graph.pairs = graph.pairs.filter { !$0.value.isEmpty }
      for (end, change) in delta.orders { graph.orders[end] = change.after }
      graph.openOrders.formUnion(context.current.openOrders)
      takeOut(of: &graph, delta, context)
      graph.delete(delta.rows.filter { $0.value.after == nil }.keys.sorted(), schema)
      if delta.rows.contains(where: { $0.value.after == nil }) { graph.dropDeadOrders(schema) }
      contexts[parent]?.current = graph
      note(before, graph, in: parent)
      touch(Delta(from: before, to: graph), in: parent)
      contexts[number]?.base = graph
      contexts[number]?.current = graph
    } else {
      var next = store
      for (object, change) in delta.rows {
        guard var row = change.after else {
          next.rows[object] = nil
          continue
        }
        if isClearedOnly(change, in: context.current) {
          if store.rows[object] == nil { continue }
          row = store.rows[object] ?? row
          row.references = row.references.filter {
            context.current.isLive($0.value) || change.after?.references[$0.key] != nil
          }
          row.perhaps += 1
          next.rows[object] = row
          continue
        }
        row.perhaps = max(store.rows[object]?.perhaps ?? 0, row.perhaps)
        row.version = max(store.rows[object]?.version ?? 0, change.before?.version ?? 0) + 1
        next.rows[object] = row
      }
      for object in next.clearReferences(to: delta.deleted, schema) where delta.rows[object] == nil {
        next.rows[object]?.perhaps += 1
      }
      for object in context.rewritten where delta.rows[object] == nil { next.rows[object]?.perhaps += 1 }
      for (table, pairs) in delta.removed { next.pairs[table]?.subtract(pairs) }
      for (table, pairs) in delta.added where !pairs.isEmpty {
        next.pairs[table, default: []].formUnion(pairs)
      }
      for (end, change) in delta.orders { next.orders[end] = change.after }
      // Of what several have put at one place, the order is that of the keys.
      next.openOrders.formUnion(context.current.openOrders.union(context.contestedOrders))
      next.dropDeadFacts(schema)
      for (object, row) in next.rows {
        for (key, target) in row.references where !next.isLive(target) {
          guard let relationship = schema.relationship(key), relationship.inverse == nil else { continue }
          if relationship.isOptional { next.rows[object]?.references[key] = nil }
        }
      }
      store = next
      contexts[number]?.base = next
      contexts[number]?.current = next
    }
    settle(number)
  }
}

extension Graph {
  /// Leaves dead objects out of orders.
  mutating func dropDeadOrders(_ schema: Schema) {
    orders = orders.filter { isLive($0.key.object) }
  }
}
