import CDModel

/// What a save makes of the store or of the parent.
extension World {
  /// Carries out a save of which others' saves have made something else.
  mutating func save(_ number: ContextNumber, as graph: Graph) {
    store = graph
    contexts[number]?.base = graph
    contexts[number]?.current = graph
    contexts[number]?.isUndoOpen = true
    settle(number)
  }

  /// Takes out of objects that a child has deleted what it had taken out of them before.
  private func takeOut(of graph: inout Graph, _ delta: Delta, _ context: Context) {
    for (object, change) in delta.rows.sorted(by: { $0.key < $1.key }) where change.after == nil {
      guard let entity = change.before?.entity else { continue }
      for relationship in schema.relationships(of: entity) {
        let known = Set(context.base.facts(object, relationship, schema))
        let last = context.current.ended[object]?[relationship.name] ?? []
        for target in graph.facts(object, relationship, schema)
        where known.contains(target)
          && (!last.contains(target) || isLeft(target, object, relationship, context))
        {
          graph.unlink(object, relationship, target, schema)
        }
      }
    }
  }

  /// The relationships of pairs that a context has removed and added again: they come to the end of what it knew, and others
  /// may have brought more there.
  func remadeEnds(of context: Context) -> Set<Graph.End> {
    var ends: Set<Graph.End> = []
    for (table, pairs) in context.remade {
      guard let relationship = schema.relationship(table) else { continue }
      for pair in pairs {
        if relationship.isOrdered { ends.insert(Graph.End(object: pair.source, relationship: table)) }
        if let inverse = schema.inverse(of: relationship), inverse.isOrdered {
          ends.insert(Graph.End(object: pair.target, relationship: inverse.name))
        }
      }
    }
    return ends
  }

  /// Whether a child has resolved what would refuse its deletion of an object.
  private func isLeft(
    _ target: ObjectNumber, _ object: ObjectNumber, _ relationship: Schema.Relationship, _ context: Context
  ) -> Bool {
    relationship.rule == .deny && context.current.isLive(target)
      && !context.current.facts(object, relationship, schema).contains(target)
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
          if graph.rows[object]?.holdsSame(as: after) != true { graph.rows[object] = after }
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
      graph.delete(
        delta.rows.filter { $0.value.after == nil }.keys.sorted(), schema,
        base: contexts[parent]?.base ?? store)
      if delta.rows.contains(where: { $0.value.after == nil }) { graph.dropDeadOrders(schema) }
      contexts[parent]?.current = graph
      note(before, graph, in: parent)
      touch(Delta(from: before, to: graph), in: parent)
      // If an object was never saved, a `noAction` rule of the parent keeps no references to it, and that of the child does.
      // Undocumented: which of these references an undo brings back.
      let parentBase = contexts[parent]?.base ?? store
      for object in delta.deleted where !parentBase.isLive(object) {
        guard let entity = entities[object] else { continue }
        if schema.relationships(of: entity).contains(where: { $0.rule == .noAction }) {
          contexts[number]?.isUndoOpen = true
        }
      }
      // What has come to nothing may be a change of the parent's.
      contexts[parent]?.touched.formUnion(context.touched.filter { graph.isLive($0) })
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
        row.version = max(versions[object] ?? 0, change.before?.version ?? 0) + 1
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
      next.openOrders.formUnion(remadeEnds(of: context))
      next.dropDeadFacts(schema)
      for (object, row) in next.rows {
        for (key, target) in row.references where !next.isLive(target) {
          guard let relationship = schema.relationship(key), relationship.inverse == nil else { continue }
          if relationship.isOptional { next.rows[object]?.references[key] = nil }
        }
      }
      for (table, pairs) in delta.removed { contexts[number]?.given[table]?.subtract(pairs) }
      for (table, pairs) in context.made { contexts[number]?.given[table]?.subtract(pairs) }
      store = next
      contexts[number]?.base = next
      contexts[number]?.current = next
    }
    settle(number)
  }
}
