import CDModel
import CDRuntime
import Foundation

/// Fetches, aggregates and batches.
extension Interpreter {
  func request(_ entity: String, _ condition: Condition?) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: entity, where: try condition.map(predicate))
  }

  func predicate(_ condition: Condition) throws -> FetchPredicate {
    var arguments: [Condition.Argument] = []
    let format = condition.format(&arguments)
    return try FetchPredicate(
      format: format,
      arguments: arguments.map { argument -> (any FormatArgument)? in
        switch argument {
        case .value(let value): value
        case .object(let number): identifiers[number]
        }
      })
  }

  func fetch(_ query: Query, in context: ManagedObjectContext, _ number: ContextNumber) throws {
    counts.fetches += 1
    guard let entity = schema.entities.firstIndex(where: { $0.name == query.entity }) else { return }
    var request = try request(query.entity, query.condition)
    request.sortKeys = query.sort.map { SortKey($0.keyPath, ascending: $0.ascending) }
    request.limit = query.limit
    request.offset = query.offset
    request.includesSubentities = query.includesSubentities
    let view = view(number)
    let evaluation = view.evaluation
    let extent = sorted(view.graph.objects(of: entity, in: schema)).filter { object in
      query.includesSubentities || view.graph.rows[object]?.entity == entity
    }
    var isOpen = false
    var may: Set<ObjectNumber> = view.open
    var matches: [ObjectNumber] = []
    for object in extent {
      switch query.condition.map({ evaluation.isMet($0, by: object) }) ?? .some(true) {
      case true?: matches.append(object)
      case false?: break
      case nil:
        isOpen = true
        may.insert(object)
      }
    }
    var values: [ObjectNumber: [AttributeValue]] = [:]
    for object in matches {
      values[object] = query.sort.map { sort in
        let value =
          sort.isCount
          ? evaluation.count(sort.key, of: object)
          : evaluation.value(path: sort.path, attribute: sort.key, of: object)
        if value == nil { isOpen = true }
        return value ?? .null
      }
    }
    isOpen = isOpen || !view.open.isEmpty
    let names = (query.condition?.names ?? []) + query.sort.flatMap { $0.path + [$0.key] }
    let derived = names.compactMap { schema.attributesByName[$0]?.derivation }.flatMap(\.names)
    if !view.openEnds.isEmpty || !view.open.isEmpty,
      (names + derived).contains(where: { schema.relationship($0) != nil })
    {
      if query.form == .count { _ = try context.count(for: request) } else { _ = try context.fetch(request) }
      return
    }
    let order = matches.enumerated().sorted { left, right in
      for (index, sort) in query.sort.enumerated() {
        let (one, other) = (values[left.element]?[index] ?? .null, values[right.element]?[index] ?? .null)
        var comes = Self.order(one, other)
        if world.mutation == .sortsNilLast, comes != 0 {
          if case .null = one { comes = 1 } else if case .null = other { comes = -1 }
        }
        if comes != 0 { return (comes < 0) == sort.ascending }
      }
      return left.offset < right.offset
    }.map(\.element)
    var expected = Array(order.dropFirst(query.offset))
    if let limit = query.limit {
      expected = Array(expected.prefix(limit + (world.mutation == .limitsByOneMore ? 1 : 0)))
    }
    if query.form == .count {
      let count = try context.count(for: request)
      if !isOpen, count != expected.count {
        throw Difference("the count in c\(number) of \(describe(query)) is \(count), not \(expected.count)")
      }
      return
    }
    let actual: [ObjectNumber]
    if query.form == .objects {
      actual = try context.fetch(request).map { numbers[$0.objectID] ?? -1 }
    } else {
      actual = try context.objectIDs(for: request).map { numbers[$0] ?? -1 }
    }
    let isRight: Bool
    if !isOpen {
      isRight = actual == expected
    } else if query.limit == nil, query.offset == 0 {
      isRight =
        Set(matches).subtracting(may).isSubset(of: actual) && Set(actual).isSubset(of: may.union(matches))
    } else {
      isRight = Set(actual).isSubset(of: may.union(matches))
    }
    guard isRight else {
      throw Difference(
        "\(describe(query)) in c\(number) gives \(actual.map { "o\($0)" }), not \(expected.map { "o\($0)" })")
    }
  }

  /// Nil comes first; else by value.
  static func order(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    switch (left, right) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    default: Evaluation.order(left, right) ?? 0
    }
  }

  func describe(_ query: Query) -> String {
    var arguments: [Condition.Argument] = []
    var text = "the fetch of \(query.entity)"
    if let condition = query.condition { text += " where \(condition.format(&arguments)) \(arguments)" }
    if !query.sort.isEmpty {
      text += " by \(query.sort.map { ($0.ascending ? "" : "-") + $0.keyPath }.joined(separator: ", "))"
    }
    if let limit = query.limit { text += " limit \(limit)" }
    if query.offset > 0 { text += " offset \(query.offset)" }
    return text
  }

  func aggregate(
    _ aggregation: Aggregation, in context: ManagedObjectContext, _ number: ContextNumber
  ) throws {
    counts.fetches += 1
    guard let entity = schema.entities.firstIndex(where: { $0.name == aggregation.entity }) else { return }
    let key = aggregation.attribute
    let what: Aggregate
    switch aggregation.kind {
    case .count: what = .count(of: key, as: "it")
    case .sum: what = .sum(of: key, as: "it")
    case .min: what = .min(of: key, as: "it")
    case .max: what = .max(of: key, as: "it")
    }
    var request = AggregateRequest<ManagedObject>(
      entityName: aggregation.entity, [what], where: try aggregation.condition.map(predicate))
    request.groupBy = aggregation.groupBy.map { [$0] } ?? []
    let view = view(number)
    if !view.open.isEmpty || !view.openEnds.isEmpty {
      _ = try context.aggregates(for: request)
      return
    }
    let evaluation = view.evaluation
    var groups: [(key: AttributeValue, values: [AttributeValue])] =
      aggregation.groupBy == nil ? [(.null, [])] : []
    for object in sorted(view.graph.objects(of: entity, in: schema)) {
      guard let isMet = aggregation.condition.map({ evaluation.isMet($0, by: object) }) ?? .some(true),
        let value = evaluation.value(key, of: object)
      else {
        _ = try context.aggregates(for: request)
        return
      }
      guard isMet else { continue }
      var group: AttributeValue = .null
      if let name = aggregation.groupBy {
        guard let value = evaluation.value(name, of: object) else { return }
        group = value
      }
      if let index = groups.firstIndex(where: { $0.key == group }) {
        groups[index].values.append(value)
      } else {
        groups.append((group, [value]))
      }
    }
    let expected = groups.map { group -> AttributeValue in
      let values = group.values.filter { if case .null = $0 { false } else { true } }
      switch aggregation.kind {
      case .count: return .int(Int64(values.count))
      case .sum:
        return .int(
          values.reduce(0) { sum, value in if case .int(let number) = value { sum + number } else { sum } })
      case .min: return values.min { (Evaluation.order($0, $1) ?? 0) < 0 } ?? .null
      case .max: return values.max { (Evaluation.order($0, $1) ?? 0) < 0 } ?? .null
      }
    }
    let actual = try context.aggregates(for: request)
    let isRight =
      actual.count == groups.count
      && zip(actual, zip(groups, expected)).allSatisfy { found, wanted in
        found["it"]?.attribute == wanted.1
          && (aggregation.groupBy.map { found[$0]?.attribute == wanted.0.key } ?? true)
      }
    if !isRight {
      throw Difference(
        "\(aggregation.kind) of \(aggregation.entity).\(key) by \(aggregation.groupBy ?? "nothing") in c\(number) is "
          + "\(actual), not \(zip(groups.map(\.key), expected).map { "\(Literal.text($0)): \(Literal.text($1))" })"
      )
    }
  }

  // MARK: - Batches

  func batch(_ operation: Operation, in context: ManagedObjectContext, _ number: ContextNumber) throws {
    counts.batches += 1
    let evaluation = Evaluation(graph: world.store, schema: schema)
    func chosen(_ entity: String, _ condition: Condition?) -> [ObjectNumber]? {
      guard let index = schema.entities.firstIndex(where: { $0.name == entity }) else { return nil }
      var objects: [ObjectNumber] = []
      for object in world.store.objects(of: index, in: schema) {
        switch condition.map({ evaluation.isMet($0, by: object) }) ?? .some(true) {
        case true?: objects.append(object)
        case false?: break
        case nil: return nil
        }
      }
      return objects
    }
    var next = world.store
    var mustFail = false
    var thrown: (any Error)?
    switch operation {
    case .batchUpdate(_, let entity, let condition, let attribute, let value):
      guard let objects = chosen(entity, condition) else { return }
      for object in objects {
        next.rows[object]?.values[attribute] = Self.plain(value)
        next.rows[object]?.version += 1
      }
      mustFail = !objects.isEmpty && breaksRules(next, objects)
      do {
        let result = try context.execute(
          BatchUpdateRequest<ManagedObject>(
            try request(entity, condition), set: [.set(attribute, to: .attribute(value))]))
        if result.count != objects.count {
          throw Difference(
            "the batch update of \(entity) counts \(result.count) objects, not \(objects.count)")
        }
      } catch let difference as Difference { throw difference } catch { thrown = error }
      // A value that no row may have is refused where there is no row too.
      if thrown != nil, objects.isEmpty { return }
      if thrown != nil, !mustFail, world.passes(objects, attribute) { return }
    case .batchDelete(_, let entity, let condition):
      guard let objects = chosen(entity, condition) else { return }
      next.delete(objects, schema, base: next)
      mustFail = !objects.isEmpty && (leavesDenied(next) || breaksRelationships(next))
      do {
        let result = try context.execute(BatchDeleteRequest<ManagedObject>(try request(entity, condition)))
        if result.count != objects.count {
          throw Difference(
            "the batch deletion of \(entity) counts \(result.count) objects, not \(objects.count)")
        }
      } catch let difference as Difference { throw difference } catch { thrown = error }
    case .batchInsert(_, let object, let entity, let values):
      guard let index = schema.entities.firstIndex(where: { $0.name == entity }) else { return }
      var row = Graph.Row(entity: index, values: [:], version: 1)
      var given: [String: FetchedValue] = [:]
      for attribute in schema.attributes(of: index) where attribute.derivation == nil {
        row.values[attribute.name] = Self.plain(values[attribute.name] ?? attribute.defaultValue ?? .null)
        if let value = values[attribute.name] { given[attribute.name] = .attribute(value) }
      }
      next.rows[object] = row
      mustFail = breaksRules(next, [object])
      do {
        let result = try context.execute(BatchInsertRequest<ManagedObject>(entityName: entity, rows: [given]))
        guard let identifier = result.changes.inserted.first, result.changes.inserted.count == 1 else {
          throw Difference("the batch insertion of one \(entity) tells of \(result.changes.inserted)")
        }
        register(object, identifier, index)
      } catch let difference as Difference { throw difference } catch { thrown = error }
    default: return
    }
    if let thrown {
      if !mustFail { throw Difference("the batch throws \(thrown); it should succeed") }
      return
    }
    if mustFail { throw Difference("the batch succeeds; it should be refused") }
    next.dropDeadFacts(schema)
    for (object, row) in next.rows where !(world.store.rows[object].map { row.holdsSame(as: $0) } ?? false) {
      if world.isClearedOnly((world.store.rows[object], row), in: next) {
        // Undocumented, as after any save: whether that makes a new version of the row.
        next.rows[object]?.perhaps += 1
      } else {
        next.rows[object]?.version = (world.store.rows[object]?.version ?? 0) + 1
      }
    }
    world.store = next
    world.learn(number)
    try readFile()
  }

  func breaksRules(_ graph: Graph, _ objects: [ObjectNumber]) -> Bool {
    var probe = world
    probe.store = graph
    return probe.breaksRules(objects)
  }

  func leavesDenied(_ graph: Graph) -> Bool {
    graph.rows.values.contains { row in
      row.references.contains { key, target in
        !graph.isLive(target) && schema.relationship(key).flatMap(schema.inverse)?.rule == .deny
      }
    }
      // The references of what has gone itself.
      || graph.denied.values.contains { $0.values.contains(where: graph.isLive) }
      || graph.pairs.contains { table, pairs in
        guard let relationship = schema.relationship(table) else { return false }
        let inverse = schema.inverse(of: relationship)
        return pairs.contains { pair in
          (!graph.isLive(pair.source) && relationship.rule == .deny && graph.isLive(pair.target))
            || (!graph.isLive(pair.target) && inverse?.rule == .deny && graph.isLive(pair.source))
        }
      }
  }

  /// Whether a deletion leaves mandatory relationships empty.
  func breaksRelationships(_ graph: Graph) -> Bool {
    graph.rows.contains { object, row in
      schema.relationships(of: row.entity).contains { relationship in
        !relationship.isOptional && graph.members(object, relationship, schema).isEmpty
          && !world.store.members(object, relationship, schema).isEmpty
      }
    }
  }
}

extension World {
  mutating func adopt(_ order: [ObjectNumber], at end: Graph.End, in number: ContextNumber) {
    let order = order.isEmpty ? nil : order
    if contexts[number]?.base.openOrders.contains(end) == true {
      contexts[number]?.base.orders[end] = order
      contexts[number]?.base.openOrders.remove(end)
      if contexts[number]?.parent == nil, store.openOrders.contains(end) {
        store.orders[end] = order
        store.openOrders.remove(end)
      }
    }
    contexts[number]?.current.orders[end] = order
    contexts[number]?.current.openOrders.remove(end)
  }

  /// Whether objects break rules of the schema in the store.
  func breaksRules(_ objects: [ObjectNumber]) -> Bool {
    var probe = self
    probe.contexts = [:]
    var base = store
    for object in objects { base.rows[object] = nil }
    probe.contexts[0] = Context(base: base, current: store)
    for object in objects { if let row = store.rows[object] { probe.entities[object] = row.entity } }
    return !probe.mistakes(of: 0).must.isEmpty || !duplicates(in: store, changed: Set(objects)).isEmpty
  }

  /// Whether values of a unique list pass from one row to another, which a batch may refuse.
  func passes(_ objects: [ObjectNumber], _ attribute: String) -> Bool {
    objects.contains { object in
      store.rows[object].map { schema.uniqueLists(of: $0.entity).contains { $0.keys.contains(attribute) } }
        ?? false
    }
  }
}
