import CDModel
import CDRuntime
import Foundation

/// Saves, and what they leave in files.
extension Interpreter {
  func save(_ context: ManagedObjectContext, _ number: ContextNumber) throws {
    let verdict = world.verdict(ofSaving: number)
    let isChild = world.contexts[number]?.parent != nil
    var thrown: (any Error)?
    do { try context.save() } catch { thrown = error }
    if isChild { counts.childSaves += 1 } else { counts.saves += 1 }
    if let thrown {
      counts.failedSaves += 1
      guard verdict.failure != nil || verdict.isOpen else {
        throw Difference("the save of c\(number) throws \(describe(thrown)); it should succeed")
      }
      try compare(thrown, with: verdict, number)
      // A policy settles all conflicts of rows. What it cannot settle is another error.
      if !isChild, world.contexts[number]?.policy != .error, case SaveError.conflict(let conflicts) = thrown,
        conflicts.contains(where: { $0.reason == .changed || $0.reason == .deleted })
      {
        throw Difference("the save of c\(number) throws \(describe(thrown)), which its policy settles")
      }
      if case SaveError.validation(let errors) = thrown {
        // What broke a rule with what others have made may be a change from here on.
        world.contexts[number]?.touched.formUnion(errors.compactMap { numbers[$0.objectID] })
      }
      // What a policy has resolved before the save failed stays resolved.
      guard world.contexts[number]?.policy != .error else { return }
      if isChild { return world.childConflicts(number).isEmpty ? () : try rollBack(number) }
      if case .validation? = verdict.failure { return }
      return try rollBack(number)
    }
    if let failure = verdict.failure {
      throw Difference("the save of c\(number) succeeds; it should fail: \(failure)")
    }
    let conflicts = isChild ? world.childConflicts(number) : world.storeConflicts(number).must
    if !conflicts.isEmpty { counts.resolvedConflicts += 1 }
    if let result = verdict.result {
      counts.predictedConflicts += 1
      world.save(number, as: result)
      try adoptOrders()
      try readFile()
      return try showChildren(of: number)
    }
    if !isChild, !conflicts.isEmpty || verdict.isResultOpen {
      try adoptStore(savedBy: number)
      return try showChildren(of: number)
    }
    if isChild, verdict.isResultOpen || !conflicts.isEmpty {
      try adoptParent(of: number)
      return
    }
    world.save(number)
    if let parent = world.contexts[number]?.parent {
      for child in world.children(of: parent) { world.learn(child) }
    } else {
      try readFile()
    }
  }

  func compare(_ error: any Error, with verdict: World.Verdict, _ number: ContextNumber) throws {
    guard let failure = verdict.failure else { return }
    switch (failure, error) {
    case (.validation(let expected), SaveError.validation(let errors)):
      let actual = Set(
        errors.compactMap { error in
          numbers[error.objectID].map { World.Mistake(object: $0, property: error.property ?? "") }
        })
      if actual != expected {
        throw Difference(
          "the save of c\(number) finds the mistakes \(actual.sorted()), not \(expected.sorted())")
      }
    case (.notUnique(let expected), SaveError.notUnique(let conflicts)):
      let actual = Set(conflicts.map { Set($0.objectIDs.compactMap { numbers[$0] }) })
      if actual != expected {
        throw Difference(
          "the save of c\(number) finds equal values of \(actual.map { $0.sorted() }), not \(expected.map { $0.sorted() })"
        )
      }
    case (.conflict(let expected), SaveError.conflict(let conflicts)):
      counts.conflicts += 1
      let actual = Set(conflicts.filter { $0.reason != .partnerTaken }.compactMap { numbers[$0.objectID] })
      if !expected.isSubset(of: actual) {
        throw Difference(
          "the save of c\(number) finds conflicts of \(actual.sorted()), not \(expected.sorted())")
      }
    case (.some, _): break
    default: throw Difference("the save of c\(number) throws \(describe(error)); it should throw \(failure)")
    }
  }

  func describe(_ error: any Error) -> String {
    if case SaveError.validation(let errors) = error {
      return "validation: "
        + errors.map { "\(name($0.objectID)).\($0.property ?? "") \($0.reason)" }.joined(separator: ", ")
    }
    if case SaveError.conflict(let conflicts) = error {
      return "conflict: "
        + conflicts.map { "\(name($0.objectID)) \($0.reason) \($0.keys)" }.joined(separator: ", ")
    }
    if case SaveError.notUnique(let conflicts) = error {
      return "notUnique: "
        + conflicts.map { "\($0.objectIDs.map(name)) \($0.properties)" }.joined(separator: ", ")
    }
    if case SaveError.danglingReferences(let ids) = error { return "danglingReferences: \(ids.map(name))" }
    return "\(error)"
  }

  // MARK: - The file

  /// Opens the file anew and compares everything in it with the reference's store.
  func readFile() throws {
    counts.files += 1
    if world.mutation != nil { return }
    let coordinator: PersistentStoreCoordinator
    switch kind {
    case .memory: coordinator = container.persistentStoreCoordinator
    case .sqlite: coordinator = try Self.coordinator(for: schema, kind, at: url)
    case .xml, .binary: coordinator = try Self.coordinator(for: schema, kind, at: url, isReadOnly: true)
    }
    let findings = try coordinator.verify().filter { finding in
      // A rule of `noAction` leaves them on purpose.
      if case .danglingReference = finding {
        return !schema.relationshipsByName.values.contains { $0.rule == .noAction }
      }
      return true
    }
    guard findings.isEmpty else { throw Difference("verify() finds after the save: \(findings)") }
    let context = PersistentContainer(coordinator).newContext()
    try context.perform {
      var view = View(graph: world.store, schema: schema, isSettled: true)
      view.place = "the file"
      for root in schema.roots {
        try compareExtent(of: root, in: context, view)
        for object in world.store.objects(of: root, in: schema) {
          guard let identifier = identifiers[object] else { continue }
          try compare(try context.existingObject(with: identifier), object, view)
        }
      }
    }
  }

  /// Takes the store as it is where the documentation leaves open what a save makes of it. It has to be whole: both
  /// sides of each relationship say the same.
  func adoptStore(savedBy number: ContextNumber) throws {
    let context = container.newContext()
    let written = Set(world.delta(of: number).rows.keys).union(world.contexts[number]?.rewritten ?? [])
    let graph = try context.perform { try self.graph(of: context, world.store, written: written) }
    world.store = graph
    world.contexts[number]?.base = graph
    world.contexts[number]?.current = graph
    world.contexts[number]?.isUndoOpen = true
    world.settle(number)
    try readFile()
  }

  /// The same for what a child's save makes of its parent.
  func adoptParent(of number: ContextNumber) throws {
    guard let parent = world.contexts[number]?.parent, let context = contexts[parent],
      let known = world.contexts[parent]
    else { return }
    // What a rule of `deny` holds back does not show, nor whether others' objects are still there.
    let openness = world.openness(of: parent)
    let showsAll =
      openness.objects.isEmpty && openness.ends.isEmpty && known.current.denied.isEmpty
      && !isAnythingDangling(known.current)
      && !schema.relationshipsByName.values.contains { $0.rule == .deny }
    guard showsAll else {
      world.contexts[number]?.base = known.current
      world.contexts[number]?.current = known.current
      world.contexts[number]?.isUndoOpen = true
      world.settle(number)
      return try rollBack(parent)
    }
    let graph = try context.perform { try self.graph(of: context, known.current) }
    let touched = Set(world.delta(of: number).rows.keys).union(world.contexts[number]?.touched ?? [])
    world.contexts[parent]?.current = graph
    world.contexts[parent]?.touched.formUnion(touched)
    world.contexts[parent]?.rewritten.formUnion(touched)
    world.touch(Delta(from: known.current, to: graph), in: parent)
    world.contexts[parent]?.isUndoOpen = true
    world.contexts[number]?.base = graph
    world.contexts[number]?.current = graph
    world.contexts[number]?.isUndoOpen = true
    world.settle(number)
  }

  func isAnythingDangling(_ graph: Graph) -> Bool {
    graph.rows.values.contains { $0.references.values.contains { !graph.isLive($0) } }
  }

  /// Reads the graph that a context has. Rows that are the same as known ones keep their versions.
  ///
  /// - Parameter written: The objects whose rows may have been written all the same; nil for all.
  func graph(
    of context: ManagedObjectContext, _ known: Graph, written: Set<ObjectNumber>? = nil
  ) throws -> Graph {
    var graph = Graph()
    var instances: [ObjectNumber: ManagedObject] = [:]
    for root in schema.roots {
      for instance in try context.fetch(FetchRequest<ManagedObject>(entityName: schema.entities[root].name)) {
        guard let object = numbers[instance.objectID], let entity = world.entities[object] else { continue }
        var row = Graph.Row(entity: entity, values: [:])
        for attribute in schema.attributes(of: entity) where attribute.derivation == nil {
          row.values[attribute.name] = try instance.value(forKey: attribute.name).attribute ?? .null
        }
        graph.rows[object] = row
        instances[object] = instance
      }
    }
    func members(_ instance: ManagedObject, _ name: String, isToMany: Bool) throws -> [ObjectNumber] {
      let value = try instance.value(forKey: name)
      return (isToMany ? value.objects : value.object.map { [$0] } ?? []).map { numbers[$0.objectID] ?? -1 }
    }
    for (object, instance) in instances {
      guard let entity = world.entities[object] else { continue }
      for relationship in schema.relationships(of: entity) {
        let related = try members(instance, relationship.name, isToMany: relationship.isToMany)
        if let inverse = schema.inverse(of: relationship) {
          for other in related {
            guard let there = instances[other],
              try members(there, inverse.name, isToMany: inverse.isToMany).contains(object)
            else {
              throw Difference(
                "o\(object).\(relationship.name) has o\(other), whose \(inverse.name) has not o\(object)")
            }
          }
        }
        switch schema.storages[relationship.name] {
        case .ownColumn?: graph.rows[object]?.references[relationship.name] = related.first
        case .pairs(let table, true)?:
          for other in related {
            graph.pairs[table, default: []].insert(Graph.Pair(source: object, target: other))
          }
        default: break
        }
        if relationship.isOrdered, !related.isEmpty {
          graph.orders[Graph.End(object: object, relationship: relationship.name)] = related
        }
      }
    }
    for (object, row) in graph.rows {
      guard let former = known.rows[object] else {
        graph.rows[object]?.version = (world.versions[object] ?? 0) + 1
        continue
      }
      // A rule of `noAction` leaves references, which getters do not show.
      var row = row
      for (key, target) in former.references where row.references[key] == nil && graph.rows[target] == nil {
        guard schema.relationship(key).flatMap(schema.inverse)?.rule == .noAction else { continue }
        row.references[key] = target
        graph.rows[object]?.references[key] = target
      }
      let isSame = row.holdsSame(as: former)
      graph.rows[object]?.version = former.version + (isSame ? 0 : 1)
      graph.rows[object]?.perhaps = former.perhaps + (written?.contains(object) == false ? 0 : 1)
    }
    return graph
  }

  func reopen() throws {
    guard kind != .memory else { return }
    for number in world.contexts.keys { world.removeContext(number) }
    contexts = [:]
    held = [:]
    second = nil
    // The lock of a whole-file store ends with its coordinator.
    let model = schema.model
    container = PersistentContainer(try PersistentStoreCoordinator(model: model, at: .inMemory))
    container = PersistentContainer(try Self.coordinator(for: schema, kind, at: url))
    makeContext(0, parent: nil, hasUndo: false, coordinator: 0)
  }

}
