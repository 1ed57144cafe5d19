import CDModel

/// The rules of the schema that a save checks.
extension World {
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
        // What the parent has deleted too is related to nothing, whatever the rule.
        if let parent = context.parent, contexts[parent]?.current.isLive(object) == false { continue }
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
        // A child may have been given what breaks a rule. Undocumented: whether that is its mistake.
        let isInherited =
          context.base.isLive(object)
          && !touched.contains(Graph.End(object: object, relationship: relationship.name))
        if isInherited {
          if !relationship.isOptional && members.isEmpty { isOpen = true }
          if let maximum = relationship.maximumCount, members.count > maximum { isOpen = true }
          continue
        }
        if !relationship.isOptional, members.isEmpty, mutation != .savesIgnoreMandatory {
          // Undocumented: whether a reference to a deleted object is one.
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

  func breaksRule(_ value: AttributeValue, _ attribute: Schema.Attribute) -> Bool {
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
}
