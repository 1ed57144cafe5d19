import CDModel

/// What contexts see of what others have made: learning, refreshes and rollbacks.
extension World {
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
    for (table, pairs) in graph.pairs {
      context.given[table, default: []].formUnion(pairs.subtracting(context.base.pairs[table] ?? []))
    }
    // They may have taken some back.
    for table in context.given.keys { context.given[table]?.formIntersection(graph.pairs[table] ?? []) }
    var (base, current) = (graph, graph)
    // What the parent has denied is the parent's to tell, also where it takes the deletion back.
    current.denied.merge(context.current.denied.filter { delta.deleted.contains($0.key) }) { $1 }
    current.ended = context.current.ended
    for (object, change) in delta.rows {
      if isClearedOnly(change, in: context.current) {
        // The object itself has no changes, and has what others have made of it, or is gone with them. Undocumented:
        // whether it has changes if it referred to another object before, which has been deleted too.
        let row = graph.rows[object]
        if row != nil, context.assigned.contains(object), row != change.before { context.open.insert(object) }
        current.rows[object]?.references = (row?.references ?? [:]).filter {
          context.current.isLive($0.value) || context.base.rows[$0.value] == nil
            || schema.relationship($0.key)?.inverse != nil
        }
        continue
      }
      base.rows[object] = change.before
      current.rows[object] = change.after
      // Undocumented: whether a change that leads only to objects that others have deleted counts as a change.
      if leadsOnlyToDeleted(change, in: graph) { context.open.insert(object) }
      // Somebody else has deleted what has changes here.
      if change.before != nil, change.after != nil, graph.rows[object] == nil { context.open.insert(object) }
    }
    // Changed objects keep their changes. Undocumented: whether a changed relationship is a change of both objects.
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
    for (table, pairs) in context.unmade { current.pairs[table]?.subtract(pairs) }
    for (table, pairs) in context.made {
      // Others may have deleted one of the two.
      let kept = pairs.filter { current.isLive($0.source) && current.isLive($0.target) }
      if !kept.isEmpty { current.pairs[table, default: []].formUnion(kept) }
    }
    current.pairs = current.pairs.filter { !$0.value.isEmpty }
    for (table, pairs) in context.remade {
      for pair in pairs.subtracting(graph.pairs[table] ?? []) { leaveOpen(pair, of: table, in: &context) }
    }
    noteReturns(in: &context, delta, number)
    // Nor does anything say whether a changed object of a child leads again to what its parent brings back.
    if context.parent != nil {
      let back = Set(graph.rows.keys).subtracting(context.base.rows.keys).filter { entities[$0] != nil }
      for (object, change) in delta.rows where !back.isEmpty {
        guard let row = change.after else { continue }
        let isOpen = schema.relationships(of: row.entity).contains { relationship in
          relationship.inverse == nil && !relationship.isToMany && row.references[relationship.name] == nil
            && back.contains { entities[$0].map { schema.isA($0, relationship.destination) } == true }
        }
        if isOpen { context.open.insert(object) }
      }
    }
    // Nor does anything say what a child's undo makes of an object that the parent's undo has brought back.
    if context.parent != nil, let undo = context.undo {
      let groups = undo.undoable + undo.redoable + [undo.open]
      let known = Set(groups.joined().flatMap { $0.rows.keys })
      if known.contains(where: { graph.isLive($0) && !context.base.isLive($0) }) { context.isUndoOpen = true }
    }
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

  private func leaveOpen(_ pair: Graph.Pair, of table: String, in context: inout Context) {
    context.openEnds.insert(Graph.End(object: pair.source, relationship: table))
    if let inverse = schema.relationship(table)?.inverse {
      context.openEnds.insert(Graph.End(object: pair.target, relationship: inverse))
    }
  }

  /// Undocumented: whether unsaved relationships to an object stay if others have deleted it and brought it back.
  private func noteReturns(in context: inout Context, _ delta: Delta, _ number: ContextNumber) {
    guard context.parent == nil else { return }
    let back = Set(returns.filter { $0.value > context.seen }.keys)
    guard !back.isEmpty else { return }
    for (object, change) in delta.rows {
      // The store has cleared one-sided references to it, so that one that was set to nil here may be no change any more.
      let former = (change.before?.references ?? [:]).filter { schema.relationship($0.key)?.inverse == nil }
      let targets = [former, change.after?.references ?? [:]].flatMap(\.values).filter(back.contains)
      if targets.isEmpty { continue }
      context.open.insert(object)
      context.open.formUnion(targets)
    }
    for made in [context.made, context.unmade, context.remade] {
      for (table, pairs) in made {
        for pair in pairs where back.contains(pair.source) || back.contains(pair.target) {
          leaveOpen(pair, of: table, in: &context)
          context.open.formUnion(back.intersection([pair.source, pair.target]))
        }
      }
    }
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
    contexts[number]?.isUndoOpen = false
  }

  private mutating func leaveOpen(_ objects: Set<ObjectNumber>, in number: ContextNumber) {
    guard let touched = contexts[number]?.touched else { return }
    contexts[number]?.open.formUnion(objects.intersection(touched))
    for child in children(of: number) { leaveOpen(objects, in: child) }
  }

  /// Nothing is unsaved any more, and so nothing is open.
  mutating func settle(_ number: ContextNumber) {
    // What was open stays so where a child has changes of it.
    if let open = contexts[number]?.open, !open.isEmpty {
      for child in children(of: number) { leaveOpen(open, in: child) }
    }
    contexts[number]?.open = []
    contexts[number]?.openEnds = []
    contexts[number]?.touched = []
    contexts[number]?.made = [:]
    contexts[number]?.unmade = [:]
    contexts[number]?.remade = [:]
    contexts[number]?.unlinked = [:]
    contexts[number]?.unset = [:]
    contexts[number]?.assignedKeys = [:]
    contexts[number]?.rewritten = []
    contexts[number]?.assigned = []
    contexts[number]?.contestedOrders = []
  }
}
