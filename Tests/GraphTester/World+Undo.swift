import CDModel

/// What undo managers keep and bring back.
extension World {
  mutating func beginGroup(_ number: ContextNumber) { contexts[number]?.undo?.level += 1 }

  mutating func endGroup(_ number: ContextNumber) {
    guard var undo = contexts[number]?.undo, undo.level > 0 else { return }
    undo.level -= 1
    if undo.level == 0, !undo.open.isEmpty {
      // Undocumented: whether changes that cancel each other are a group.
      if undo.open.allSatisfy({ isUndone($0, in: number) }) { contexts[number]?.isUndoOpen = true }
      undo.undoable.append(undo.open)
      undo.open = []
    }
    contexts[number]?.undo = undo
  }

  /// Whether nothing is left of changes, because others have taken them back.
  private func isUndone(_ delta: Delta, in number: ContextNumber) -> Bool {
    guard let graph = contexts[number]?.current, delta.rows.keys.allSatisfy({ !graph.isLive($0) }) else {
      return false
    }
    return delta.added.allSatisfy { $1.isDisjoint(with: graph.pairs[$0] ?? []) }
      && delta.removed.allSatisfy { $1.isSubset(of: graph.pairs[$0] ?? []) }
  }

  private mutating func closeGroups(_ number: ContextNumber) {
    while (contexts[number]?.undo?.level ?? 0) > 0 { endGroup(number) }
  }

  /// Whether it is open what the next undo brings, also after an open group has been ended.
  func isUndoOpen(_ number: ContextNumber) -> Bool {
    var probe = self
    probe.closeGroups(number)
    // Of an object that others have deleted and let come back, this context may have another instance.
    let next = [probe.contexts[number]?.undo?.undoable.last, probe.contexts[number]?.undo?.redoable.last]
    let objects = next.compactMap { $0 }.joined().flatMap { delta in
      let pairs = Array(delta.added.values.joined()) + Array(delta.removed.values.joined())
      return Array(delta.rows.keys) + pairs.flatMap { [$0.source, $0.target] }
    }
    if objects.contains(where: { returns[$0] != nil }) { return true }
    return probe.contexts[number]?.isUndoOpen ?? false
  }

  mutating func undo(_ number: ContextNumber) {
    closeGroups(number)
    guard let group = contexts[number]?.undo?.undoable.popLast() else { return }
    let done = apply(group.reversed().map(\.inverse), isUndo: true, in: number)
    contexts[number]?.undo?.redoable.append(done.reversed().map(\.inverse))
  }

  mutating func redo(_ number: ContextNumber) {
    closeGroups(number)
    guard let group = contexts[number]?.undo?.redoable.popLast() else { return }
    let done = apply(group, isUndo: false, in: number)
    contexts[number]?.undo?.undoable.append(done)
  }

  /// - Returns: What has been done, by which a redo puts back what there is now: an undo notes that, whatever others have
  ///   made of it. An object that others have deleted is not deleted again, and so is nothing to come back.
  private mutating func apply(_ deltas: [Delta], isUndo: Bool, in number: ContextNumber) -> [Delta] {
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
      // Pairs that others have added stay, even if the context had added them too, without a save.
      for (table, pairs) in delta.removed where isUndo {
        let kept = pairs.intersection(below.pairs[table] ?? []).intersection(context.given[table] ?? [])
        delta.removed[table] = pairs.subtracting(kept)
        contexts[number]?.made[table]?.subtract(kept)
      }
      leaveOut(of: &delta, graph, below, context, number)
      leaveToOthers(of: &delta, context, below, number)
      done.append(delta.applied(to: graph))
      // Undocumented: whether a delete rule applies to an object that was new when it was deleted, and has been saved since.
      for object in delta.deleted where !isUndo && context.base.isLive(object) && delta.denied[object] == nil
      {
        guard let entity = entities[object] else { continue }
        let isRuled = schema.relationships(of: entity).contains { $0.rule == .deny || $0.rule == .noAction }
        if isRuled { contexts[number]?.open.insert(object) }
      }
      // Undocumented: the order after an undo if others have changed it too.
      for (end, change) in delta.orders where (graph.orders[end] ?? []) != (change.before ?? []) {
        graph.openOrders.insert(end)
      }
      if mutation == .undoForgetsOrder { delta.orders = [:] }
      if mutation == .undoForgetsReferences {
        delta.rows = delta.rows.mapValues { change in
          guard let before = change.before, var after = change.after else { return change }
          after.references = before.references
          return (before, after)
        }
      }
      let former = graph
      leaveDeadPairs(of: delta, in: &graph)
      if letGo(of: delta, in: &graph, base: context.base) { contexts[number]?.isUndoOpen = true }
      delta.apply(to: &graph)
      settlePartners(of: delta, former, in: &graph)
      touch(delta, in: number)
      touch(Delta(from: former, to: graph), in: number)
    }
    for end in graph.orders.keys where !graph.isLive(end.object) {
      graph.orders[end] = context.base.orders[end]
    }
    // A group may have made pairs and deleted one of their objects: what comes back comes without them.
    for (table, pairs) in contexts[number]?.made ?? [:] {
      contexts[number]?.made[table] = pairs.filter { pair in
        graph.pairs[table]?.contains(pair) == true || !graph.isLive(pair.source) || !graph.isLive(pair.target)
      }
    }
    contexts[number]?.current = graph
    readCleanRows(number)
    return done
  }

  /// Leaves out pairs with an object that others have deleted, or whose deletion has been saved, and references to it:
  /// relationships lead to it no longer, and there is nothing to put back. A mandatory reference is put back in any case.
  private mutating func leaveOut(
    of delta: inout Delta, _ graph: Graph, _ below: Graph, _ context: Context, _ number: ContextNumber
  ) {
    let own = Set(delta.rows.filter { graph.isLive($0.key) || $0.value.before == nil }.keys)
    func isKnown(_ object: ObjectNumber) -> Bool {
      graph.isLive(object) || below.isLive(object) || own.contains(object)
    }
    func known(_ pairs: Set<Graph.Pair>) -> Set<Graph.Pair> {
      pairs.filter { isKnown($0.source) && isKnown($0.target) }
    }
    delta.added = delta.added.mapValues(known)
    delta.removed = delta.removed.mapValues(known)
    for (object, change) in delta.rows {
      guard change.before != nil, let row = change.after else { continue }
      for key in (change.before?.references ?? [:]).keys where row.references[key] == nil {
        // So it is where it led to something that is gone for good.
        if schema.relationship(key)?.isOptional == false { contexts[number]?.open.insert(object) }
      }
      for (key, target) in row.references where !isKnown(target) && change.before?.references[key] != target {
        if context.base.rows[object]?.references[key] == target { continue }
        if schema.relationship(key)?.isOptional == true {
          delta.rows[object]?.after?.references[key] = nil
        } else {
          // Undocumented: whether it is nil then, or stays as it is.
          contexts[number]?.open.insert(object)
        }
      }
    }
    delta.denied = delta.denied.filter { isKnown($0.key) }
    delta.orders = delta.orders.filter { _, change in
      (change.before ?? []).filter(isKnown) != (change.after ?? []).filter(isKnown)
    }
  }

  /// Leaves out pairs that others have deleted since an unsaved deletion of this context left them in the store. They are no
  /// changes of this context.
  private mutating func leaveToOthers(
    of delta: inout Delta, _ context: Context, _ below: Graph, _ number: ContextNumber
  ) {
    let back = delta.rows.filter { $0.value.before == nil && context.base.isLive($0.key) }.keys
    for (table, pairs) in delta.added {
      guard let relationship = schema.relationship(table) else { continue }
      let inverse = schema.inverse(of: relationship)
      let taken = pairs.filter { pair in
        let wasStored =
          inverse == nil
          ? context.unmade[table]?.contains(pair) == true : context.made[table]?.contains(pair) != true
        guard wasStored, below.pairs[table]?.contains(pair) != true,
          context.unlinked[table]?.contains(pair) != true
        else { return false }
        let rules = [(pair.source, relationship.rule), (pair.target, inverse?.rule ?? .noAction)].filter {
          back.contains($0.0)
        }
        return !rules.isEmpty
          && rules.allSatisfy { inverse == nil || $0.1 == .deny || $0.1 == .noAction }
      }
      delta.added[table] = pairs.subtracting(taken)
      for pair in taken {
        delta.orders[Graph.End(object: pair.source, relationship: table)]?.after?.removeAll {
          $0 == pair.target
        }
        guard let inverse else { continue }
        delta.orders[Graph.End(object: pair.target, relationship: inverse.name)]?.after?.removeAll {
          $0 == pair.source
        }
      }
    }
    delta.orders = delta.orders.filter { ($1.before ?? []) != ($1.after ?? []) }
    for (object, references) in context.unset {
      guard let change = delta.rows[object], var row = change.after else { continue }
      for (key, target) in references
      where row.references[key] == target && back.contains(target)
        && below.rows[object]?.references[key] != target
      {
        row.references[key] = change.before?.references[key]
        contexts[number]?.base.rows[object]?.references[key] = below.rows[object]?.references[key]
      }
      delta.rows[object]?.after = row
    }
    delta.rows = delta.rows.filter { _, change in
      guard let before = change.before, let after = change.after else { return true }
      return !before.holdsSame(as: after)
    }
  }

  /// Leaves out the pairs that a rule of `noAction` has kept of objects that come back: those that they had when they were
  /// deleted are among the changes.
  private func leaveDeadPairs(of delta: Delta, in graph: inout Graph) {
    let back = Set(delta.rows.filter { $0.value.after != nil && !graph.isLive($0.key) }.keys)
    guard !back.isEmpty else { return }
    let clean = graph.withoutDeadPairs(schema)
    for (table, pairs) in graph.pairs {
      graph.pairs[table] = pairs.filter { pair in
        back.isDisjoint(with: [pair.source, pair.target]) || clean.pairs[table]?.contains(pair) == true
      }
    }
    graph.pairs = graph.pairs.filter { !$0.value.isEmpty }
  }

  /// Brings the other side of symmetric to-one relationships into line, where others have given an object a partner since.
  private func settlePartners(of delta: Delta, _ former: Graph, in graph: inout Graph) {
    for (object, change) in delta.rows.sorted(by: { $0.key < $1.key }) {
      guard let entity = change.after?.entity else { continue }
      for relationship in schema.relationships(of: entity)
      where relationship.isSymmetric && !relationship.isToMany {
        let name = relationship.name
        let (before, now) = (former.rows[object]?.references[name], graph.rows[object]?.references[name])
        guard before != now else { continue }
        if let before, before != object, graph.rows[before]?.references[name] == object {
          graph.rows[before]?.references[name] = nil
        }
        guard let now, now != object, graph.isLive(now), graph.rows[now]?.references[name] != object else {
          continue
        }
        if let third = graph.rows[now]?.references[name], graph.rows[third]?.references[name] == now {
          graph.rows[third]?.references[name] = nil
        }
        graph.rows[now]?.references[name] = object
      }
    }
  }

  /// Takes objects whose insertion is undone out of relationships that others have put them into since. Where a deletion is
  /// made again, rules of `deny` and `noAction` leave them as they did.
  ///
  /// - Returns: Whether there were any. Undocumented: what a redo makes of these.
  private func letGo(of delta: Delta, in graph: inout Graph, base: Graph) -> Bool {
    var hasLetGo = false
    for object in delta.deleted.sorted() {
      guard let row = graph.rows[object] else { continue }
      let isDeletion = delta.ended[object]?.after != nil && base.isLive(object)
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

  /// Objects without changes are as in the store or in the parent. Undocumented: whether an object has changes that is related
  /// to a changed one.
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
}
