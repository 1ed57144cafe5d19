import CDModel

/// What a save must come to, and what stands in its way.
extension World {
  /// What a save of a context must come to.
  func verdict(ofSaving number: ContextNumber) -> Verdict {
    guard let context = contexts[number] else { return Verdict() }
    let delta = Delta(from: context.base, to: context.current)
    let (must, isOpen, isResultOpen) = mistakes(of: number)
    let below = context.parent.flatMap { contexts[$0]?.current } ?? store
    let isRemadeGone = context.remade.contains { !$0.value.isSubset(of: below.pairs[$0.key] ?? []) }
    // So it is with pairs that others have made too, and one of whose objects they have deleted since.
    let isMadeGone = context.made.values.joined().contains { pair in
      [pair.source, pair.target].contains { !context.current.isLive($0) && !context.base.isLive($0) }
    }
    if isResultOpen || isRemadeGone || isMadeGone { return Verdict(isOpen: true, isResultOpen: true) }
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
        // A child gives its parent what it has changed only.
        if context.parent != nil, context.base.rows[object]?.references[key] == target {
          return Verdict(isOpen: true, isResultOpen: true)
        }
        if !isCleared { return Verdict(failure: .some) }
      }
    }
    if context.parent != nil {
      // The documentation does not say whether a reference to a deleted object is different from nil.
      if returned(number).contains(where: { $0.mine.references != $0.theirs.references }) {
        return Verdict(isOpen: true, isResultOpen: true)
      }
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
      if leadsNowhere(next) {
        // Others have related it to what is deleted here: policies are asked about that.
        return context.policy == .error ? Verdict(failure: .some) : verdictAmongOthers(number, isOpen: false)
      }
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
      if !conflicts.isEmpty { return Verdict(failure: .some) }
      return isOpen || !perhaps.isEmpty
        ? Verdict(isOpen: true, isResultOpen: true) : Verdict(failure: .conflict(related))
    }
    guard perhaps.isEmpty else { return Verdict(isOpen: true, isResultOpen: true) }
    let (store, isDenied) = result(ofSaving: number)
    if isDenied, !isOpen { return Verdict(failure: .some) }
    guard let store else { return Verdict(isOpen: true, isResultOpen: true) }
    return Verdict(isOpen: isOpen, result: store)
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

  /// Three groups: rows that others have changed too, deleted objects to which others have related objects, and rows that
  /// others may have changed.
  func storeConflicts(_ number: ContextNumber) -> (
    must: Set<ObjectNumber>, related: Set<ObjectNumber>, perhaps: Set<ObjectNumber>
  ) {
    guard let context = contexts[number] else { return ([], [], []) }
    var (must, perhaps): (Set<ObjectNumber>, Set<ObjectNumber>) = ([], [])
    var related: Set<ObjectNumber> = []
    let delta = Delta(from: context.base, to: context.current)
    for (object, change) in delta.rows {
      guard let before = change.before else {
        // An undo has brought it back, and others have written its row anew since.
        if change.after != nil, store.rows[object] != nil { must.insert(object) }
        continue
      }
      if let theirs = store.rows[object] {
        if theirs.version != before.version {
          if isClearedOnly(change, in: context.current) {
            perhaps.insert(object)
          } else {
            must.insert(object)
          }
        }
        if theirs.perhaps != before.perhaps { perhaps.insert(object) }
      } else if isClearedOnly(change, in: context.current) {
        perhaps.insert(object)
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
      if change.after == nil, change.before != nil, isRelatedByOthers(object, delta) {
        related.insert(object)
      }
    }
    return (must, related, perhaps)
  }

  /// Whether others have related an object of theirs to one that is deleted here, by a relationship whose rule is about it.
  private func isRelatedByOthers(_ object: ObjectNumber, _ delta: Delta) -> Bool {
    guard let entity = entities[object] else { return false }
    return schema.relationships(of: entity).contains { relationship in
      switch (schema.storages[relationship.name], relationship.rule) {
      case (_, .noAction), (nil, _): return false
      case (.pairs(let table, let isSource)?, .cascade), (.pairs(let table, let isSource)?, .deny):
        return (store.pairs[table] ?? []).subtracting(delta.removed[table] ?? []).contains { pair in
          object == (isSource ? pair.source : pair.target)
            && !delta.deleted.contains(isSource ? pair.target : pair.source)
        }
      case (.pairs?, .nullify): return false
      case (.ownColumn?, _), (.otherColumn?, _):
        guard let inverse = relationship.inverse else { return false }
        return store.rows.contains { $0.value.references[inverse] == object && delta.rows[$0.key] == nil }
      }
    }
  }

  /// The objects that a child's undo has brought back and that its parent has again too, each with the rows of both.
  func returned(_ number: ContextNumber) -> [(object: ObjectNumber, mine: Graph.Row, theirs: Graph.Row)] {
    guard let context = contexts[number], let parent = context.parent.flatMap({ contexts[$0]?.current })
    else {
      return []
    }
    var result: [(object: ObjectNumber, mine: Graph.Row, theirs: Graph.Row)] = []
    for (object, change) in Delta(from: context.base, to: context.current).rows where change.before == nil {
      if let mine = change.after, let theirs = parent.rows[object] { result.append((object, mine, theirs)) }
    }
    return result
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
    for row in returned(number) where row.mine.values != row.theirs.values { conflicts.insert(row.object) }
    return conflicts
  }
}
