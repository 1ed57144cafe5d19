import CDModel
import CDRuntime
import Foundation

/// Comparisons of objects, of extents, and of the sets of changed objects.
extension Interpreter {
  /// One side of a comparison: the graph that a context has, or the store.
  struct View {
    var graph: Graph
    var schema: Schema
    /// Whether nothing is unsaved, so that derived attributes are settled.
    var isSettled: Bool
    var open: Set<ObjectNumber> = []
    var openEnds: Set<Graph.End> = []
    var place = ""
    var evaluation: Evaluation { Evaluation(graph: graph, schema: schema, open: open) }
  }

  func view(_ number: ContextNumber) -> View {
    guard let context = world.contexts[number] else {
      return View(graph: Graph(), schema: schema, isSettled: false)
    }
    var isSettled = true
    let openness = world.openness(of: number)
    var next: ContextNumber? = number
    while let current = next {
      if !world.delta(of: current).isEmpty || world.contexts[current]?.touched.isEmpty == false {
        isSettled = false
      }
      next = world.contexts[current]?.parent
    }
    return View(
      graph: context.current, schema: schema, isSettled: isSettled && context.parent == nil,
      open: openness.objects, openEnds: openness.ends, place: "c\(number)")
  }

  func lookAtAll(_ context: ManagedObjectContext, _ number: ContextNumber) throws {
    let view = view(number)
    for root in schema.roots { try compareExtent(of: root, in: context, view) }
    for object in identifiers.keys.sorted() { try look(object, in: context, number) }
    try lookAtSets(context, number)
  }

  func look(_ object: ObjectNumber, in context: ManagedObjectContext, _ number: ContextNumber) throws {
    let view = view(number)
    if view.open.contains(object) { return }
    guard view.graph.isLive(object) else {
      // Only who has met the object knows of its end.
      guard world.contexts[number]?.parent == nil else { return }
      // What has been deleted elsewhere is noticed when it is read.
      if let instance = held[number]?[object], let key = instance.entity.attributes.first?.name {
        _ = try? instance.value(forKey: key)
      }
      if let instance = held[number]?[object], !instance.isDeleted, !instance.isInaccessible {
        throw Difference("o\(object) in c\(number) is neither deleted nor inaccessible; it should be gone")
      }
      return
    }
    try compare(try instance(object, number), object, view)
  }

  /// Compares all getters of an object.
  func compare(_ instance: ManagedObject, _ object: ObjectNumber, _ view: View) throws {
    guard let row = view.graph.rows[object] else { return }
    for attribute in schema.attributes(of: row.entity) {
      if attribute.derivation != nil {
        guard view.isSettled, let expected = view.evaluation.value(attribute.name, of: object) else {
          continue
        }
        try compare(instance, object, attribute.name, expected, view)
      } else {
        try compare(instance, object, attribute.name, row.values[attribute.name] ?? .null, view)
      }
    }
    if instance.isDeleted { throw Difference("o\(object) in \(view.place) is deleted; it should not be") }
    if instance.isInaccessible {
      throw Difference("o\(object) in \(view.place) is inaccessible; it should not be")
    }
    for relationship in schema.relationships(of: row.entity) {
      counts.comparisons += 1
      let value = try instance.value(forKey: relationship.name)
      let related: [ManagedObject]
      if relationship.isToMany {
        related = value.objects
      } else {
        related = value.object.map { [$0] } ?? []
      }
      let actual = related.map { numbers[$0.objectID] ?? -1 }
      let end = Graph.End(object: object, relationship: relationship.name)
      if !view.open.isEmpty || view.openEnds.contains(end) { continue }
      let expected = view.graph.members(object, relationship, schema)
      if view.graph.isDangling(object, relationship, schema) {
        // Undocumented: the values of an object whose deletion will be refused.
        let facts = view.graph.facts(object, relationship, schema)
        if Set(expected).isSubset(of: actual), Set(actual).isSubset(of: facts) { continue }
      }
      let isRight =
        relationship.isOrdered && !view.graph.openOrders.contains(end)
        ? actual == expected : Set(actual) == Set(expected) && actual.count == expected.count
      if !isRight {
        throw Difference(
          "o\(object).\(relationship.name) in \(view.place) is \(related.map { name($0.objectID) }), "
            + "not \(expected.map { "o\($0)" })")
      }
    }
  }

  func compare(
    _ instance: ManagedObject, _ object: ObjectNumber, _ key: String, _ expected: AttributeValue, _ view: View
  ) throws {
    counts.comparisons += 1
    let actual = try instance.value(forKey: key).attribute ?? .null
    guard actual == expected else {
      throw Difference(
        "o\(object).\(key) in \(view.place) is \(Literal.text(actual)), not \(Literal.text(expected))")
    }
  }

  /// Compares which objects of an entity there are, and in which order.
  func compareExtent(of entity: Int, in context: ManagedObjectContext, _ view: View) throws {
    counts.fetches += 1
    let request = FetchRequest<ManagedObject>(entityName: schema.entities[entity].name)
    let actual = try context.fetch(request).map { numbers[$0.objectID] ?? -1 }
    let expected = sorted(view.graph.objects(of: entity, in: schema)).filter { !view.open.contains($0) }
    guard actual.filter({ !view.open.contains($0) }) == expected else {
      throw Difference(
        "all \(schema.entities[entity].name) in \(view.place) are \(actual.map { "o\($0)" }), "
          + "not \(expected.map { "o\($0)" })")
    }
  }

  func sorted(_ objects: [ObjectNumber]) -> [ObjectNumber] {
    objects.sorted { (world.keys[$0] ?? 0) < (world.keys[$1] ?? 0) }
  }

  /// Compares `hasChanges` and the sets of changed objects.
  func lookAtSets(_ context: ManagedObjectContext, _ number: ContextNumber) throws {
    let openness = world.openness(of: number)
    guard let reference = world.contexts[number], openness.objects.isEmpty, openness.ends.isEmpty else {
      return
    }
    // Nor is there anything to write of a pair that a rule of `noAction` has left between new objects that are deleted.
    let delta = Delta(
      from: reference.base.withoutDeadPairs(schema), to: reference.current.withoutDeadPairs(schema))
    // What has been set back is no change. Of pairs and orders a context may not know it.
    let isOpen = reference.touched.contains { object in
      guard let entity = world.entities[object] else { return true }
      return schema.relationships(of: entity).contains { relationship in
        // A reference that has gone from its row with its object is nil here too, and not the same to each context.
        if relationship.inverse == nil, reference.assignedKeys[object]?.contains(relationship.name) == true {
          return true
        }
        if case .pairs? = schema.storages[relationship.name] { return true }
        return relationship.isOrdered
      }
    }
    if context.hasChanges == delta.isEmpty, !delta.isEmpty || !isOpen {
      throw Difference("hasChanges of c\(number) is \(context.hasChanges); it should be \(!delta.isEmpty)")
    }
    func compare(
      _ name: String, _ objects: [ManagedObject], _ must: Set<ObjectNumber>, _ may: Set<ObjectNumber>
    )
      throws
    {
      let actual = Set(objects.map { numbers[$0.objectID] ?? -1 })
      if !must.isSubset(of: actual) || !actual.isSubset(of: must.union(may)) {
        throw Difference(
          "\(name) of c\(number) are \(actual.sorted().map { "o\($0)" }), not \(must.sorted().map { "o\($0)" })"
            + (may.isEmpty ? "" : ", with any of \(may.sorted().map { "o\($0)" })"))
      }
    }
    let inserted = Set(delta.rows.filter { $0.value.before == nil }.keys)
    let deleted = Set(delta.rows.filter { $0.value.after == nil }.keys)
    let updated = Set(delta.rows.filter { !world.isClearedOnly($0.value, in: reference.current) }.keys)
      .subtracting(inserted).subtracting(deleted)
    let touched = reference.touched.filter { reference.base.isLive($0) && reference.current.isLive($0) }
    try compare("insertedObjects", context.insertedObjects, inserted, [])
    try compare("deletedObjects", context.deletedObjects, deleted, [])
    // So it is with objects whose derived attributes read what has changed.
    let hasDerived = schema.attributesByName.values.contains { $0.derivation != nil }
    var perhaps = hasDerived ? touched.union(reference.base.rows.keys) : touched
    // Nor is it said whether an object is changed that others have related to one that is deleted here.
    for pair in reference.base.pairs.values.joined() {
      if deleted.contains(pair.source) { perhaps.insert(pair.target) }
      if deleted.contains(pair.target) { perhaps.insert(pair.source) }
    }
    try compare("updatedObjects", context.updatedObjects, updated, perhaps)
  }

  /// Takes over orders that the documentation leaves open, as the runtime has them.
  func adoptOrders() throws {
    for (number, context) in world.contexts {
      for end in context.current.openOrders {
        guard let object = contexts[number], context.current.isLive(end.object), context.open.isEmpty,
          schema.relationship(end.relationship) != nil
        else { continue }
        let order = try object.perform {
          try instance(end.object, number).value(forKey: end.relationship).objects.compactMap {
            numbers[$0.objectID]
          }
        }
        world.adopt(order, at: end, in: number)
      }
    }
  }

}
