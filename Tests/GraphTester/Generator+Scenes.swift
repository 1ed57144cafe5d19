import CDModel
import SeededRandom

/// Short sequences of steps that single draws hardly ever lead to. Each is about one way in which features meet: what a step
/// cannot do in the state that the others have led to is left out.
extension Generator {
  mutating func scene(
    _ world: World, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    let steps: [Operation]
    switch Int.random(in: 0..<8, using: &random) {
    case 0: steps = lettingGoAndDeleting(number, context, live)
    case 1: steps = reordering(world, number, context, live)
    case 2: steps = addingToUnread(world, number, context, live)
    case 3, 4: steps = deletingElsewhere(world, number, context, live)
    case 5: steps = failingAndMending(number, context, live)
    case 6: steps = undoingInsertion(number, context, live)
    default: steps = conflictsOfTwoKinds(world, number, context, live)
    }
    return steps
  }

  /// An object lets go of those that its deletion would reach, and is deleted with the same save.
  private mutating func lettingGoAndDeleting(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    guard
      let (object, relationship) = related(context, live, where: { $0.rule == .cascade || $0.rule == .deny })
    else { return [] }
    let members = context.current.members(object, relationship, schema)
    var steps: [Operation] = []
    if !relationship.isToMany {
      let others = candidates(for: relationship, context, live).filter { !members.contains($0) }
      steps.append(
        .relate(number, object, relationship.name, chance(0.7) ? nil : others.randomElement(using: &random)))
    } else if chance(0.5) {
      steps.append(.replace(number, object, relationship.name, []))
    } else {
      steps += members.prefix(2).map { .remove(number, object, relationship.name, $0) }
    }
    return steps + [.delete(number, object), .save(number)] + parentSave(context)
  }

  /// An order changes in a child, and the parent gets it.
  private mutating func reordering(
    _ world: World, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    let orders = live.flatMap { object in
      relationships(of: object, context).filter(\.isOrdered).map { (object, $0) }
    }
    guard let (object, relationship) = orders.randomElement(using: &random) else { return [] }
    let members = context.current.members(object, relationship, schema)
    var steps: [Operation] = []
    let missing = candidates(for: relationship, context, live).filter { !members.contains($0) }
    let more = members.count < 3 ? Array(missing.shuffled(using: &random).prefix(3 - members.count)) : []
    steps += more.map { .add(number, object, relationship.name, $0) }
    let all = members + more
    guard all.count > 1 else { return [] }
    if chance(0.5) { steps.append(.save(number)) }
    guard let (child, making) = child(of: number, world) else {
      return steps + [
        .replace(number, object, relationship.name, all.shuffled(using: &random)), .save(number),
      ]
    }
    steps += making
    if let moved = all.randomElement(using: &random), chance(0.4) {
      // One goes to another place.
      steps += [
        .remove(child, object, relationship.name, moved),
        chance(0.5)
          ? .add(child, object, relationship.name, moved)
          : .insertAt(child, object, relationship.name, moved, Int.random(in: 0..<all.count, using: &random)),
      ]
    } else {
      steps.append(.replace(child, object, relationship.name, all.shuffled(using: &random)))
    }
    return steps + [.save(child), .look(number, [object]), .save(number)]
  }

  /// Objects come to orders that have not been read, in another sequence than that in which they were changed.
  private mutating func addingToUnread(
    _ world: World, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    let inverses = live.flatMap { object in
      relationships(of: object, context).filter { schema.inverse(of: $0)?.isOrdered == true }.map {
        (object, $0)
      }
    }
    guard let (_, relationship) = inverses.randomElement(using: &random) else { return [] }
    let sources = live.filter { object in
      relationships(of: object, context).contains { $0.name == relationship.name }
    }
    guard let target = candidates(for: relationship, context, live).randomElement(using: &random),
      sources.count > 1
    else { return [] }
    var (place, steps) = (number, [Operation]())
    if let (child, making) = child(of: number, world) {
      place = child
      steps = making
    } else if context.parent == nil {
      steps = [.save(number), .reset(number)]
    }
    let chosen = Array(sources.shuffled(using: &random).prefix(3))
    for object in chosen.shuffled(using: &random) where chance(0.5) {
      guard let entity = context.current.rows[object]?.entity,
        let attribute = schema.attributes(of: entity).first(where: { $0.derivation == nil })
      else { continue }
      steps.append(.set(place, object, attribute.name, value(of: attribute, isValid: true)))
    }
    let inverse = schema.inverse(of: relationship)?.name ?? ""
    for object in chosen {
      steps.append(
        chance(0.3)
          ? .add(place, target, inverse, object)
          : relationship.isToMany
            ? .add(place, object, relationship.name, target)
            : .relate(place, object, relationship.name, target))
    }
    if let moved = chosen.randomElement(using: &random), chance(0.3) {
      steps += [.remove(place, target, inverse, moved), .add(place, target, inverse, moved)]
    }
    return steps + [.save(place), .look(number, [target]), .save(number)]
  }

  /// Somebody else deletes an object that a context has changed, and a policy decides; a third context has read it.
  private mutating func deletingElsewhere(
    _ world: World, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    guard context.parent == nil, plan.hasSeveralRoots else { return [] }
    let stored = live.filter { world.store.isLive($0) }
    var roots = world.contexts.filter { $0.value.parent == nil && $0.key != number }.keys.sorted()
    var steps: [Operation] = []
    while roots.count < 2 {
      let made = newContext()
      roots.append(made)
      steps.append(.makeContext(made, parent: nil, hasUndo: false, coordinator: 0))
    }
    // One with many relations is more interesting.
    let weighted = stored.flatMap { object in
      [ObjectNumber](
        repeating: object,
        count: 1
          + relationships(of: object, context).map { $0.isSymmetric ? 3 : $0.inverse == nil ? 2 : 1 }.reduce(
            0, +))
    }
    let referrers = stored.filter { object in
      relationships(of: object, context).contains { $0.inverse == nil && !$0.isToMany }
    }
    guard let object = weighted.randomElement(using: &random), let row = context.current.rows[object],
      let attribute = schema.attributes(of: row.entity).first(where: { $0.derivation == nil })
    else { return [] }
    if let referrer = referrers.randomElement(using: &random), chance(0.5),
      let relationship = relationships(of: referrer, context).first(where: {
        $0.inverse == nil && !$0.isToMany
      }),
      schema.isA(row.entity, relationship.destination)
    {
      steps += [.relate(number, referrer, relationship.name, object), .save(number)]
    }
    for relationship in relationships(of: object, context) where relationship.isSymmetric && chance(0.7) {
      let others = candidates(for: relationship, context, live).filter { $0 != object }
      if let other = others.randomElement(using: &random) {
        steps += [
          relationship.isToMany
            ? .add(number, object, relationship.name, other)
            : .relate(number, object, relationship.name, other),
          .save(number),
        ]
      }
    }
    steps += [.lookAtAll(roots[1]), .look(number, [object])]
    if chance(0.5) {
      steps += [.delete(roots[0], object), .save(roots[0])]
    } else {
      let name = schema.entities[row.entity].name
      let isBatch = plan.hasBatches && chance(0.7)
      steps +=
        isBatch ? [.batchDelete(roots[0], entity: name, nil)] : [.delete(roots[0], object), .save(roots[0])]
    }
    if chance(0.3) { steps.append(.lookAtAll(roots[1])) }
    // The change comes before the context has learnt of the deletion only if it was made before.
    let change = Operation.set(number, object, attribute.name, value(of: attribute, isValid: true))
    let deletion = steps.lastIndex { step in
      switch step {
      case .delete, .batchDelete: true
      default: false
      }
    }
    steps.insert(change, at: deletion ?? 0)
    if plan.hasPolicies {
      steps.append(.setPolicy(number, chance(0.5) ? .overwrite : .mergeByPropertyObjectTrump))
    }
    return steps + [.save(number), .lookAtAll(roots[1]), .lookAtAll(number)]
  }

  /// A save is refused, what it was refused for is mended, and the next one succeeds.
  private mutating func failingAndMending(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    let references = live.flatMap { object in
      relationships(of: object, context).filter { !$0.isToMany }.map { (object, $0) }
    }
    guard let (object, relationship) = references.randomElement(using: &random),
      let target = candidates(for: relationship, context, live).randomElement(using: &random),
      target != object
    else { return [] }
    var steps: [Operation] = []
    if chance(0.3) { steps.append(.save(number)) }
    steps += [.relate(number, object, relationship.name, target), .delete(number, target)]
    // Beside a deletion that is denied, a value may be missing.
    let others = live.filter { $0 != target }
    var mended: [Operation] = []
    if let other = others.randomElement(using: &random), let row = context.current.rows[other],
      let attribute = schema.attributes(of: row.entity).first(where: {
        $0.derivation == nil && !$0.isOptional
      })
    {
      steps.append(.set(number, other, attribute.name, .null))
      mended.append(.set(number, other, attribute.name, value(of: attribute, isValid: true)))
    }
    steps.append(.save(number))
    if context.undo != nil, chance(0.5) {
      return steps + [.undo(number), .undo(number), .look(number, [object, target]), .save(number)]
    }
    let next = candidates(for: relationship, context, live).filter { $0 != target }.randomElement(
      using: &random)
    mended.append(.relate(number, object, relationship.name, chance(0.3) ? nil : next))
    return steps + mended.shuffled(using: &random) + [.save(number)]
  }

  /// A reference to an object that is never saved goes forth and back.
  private mutating func undoingInsertion(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    guard context.undo != nil else { return [] }
    let references = live.flatMap { object in
      relationships(of: object, context).filter { !$0.isToMany }.map { (object, $0) }
    }
    guard let (object, relationship) = references.randomElement(using: &random) else { return [] }
    let concrete = schema.concreteEntities.filter { schema.isA($0, relationship.destination) }
    guard let entity = concrete.randomElement(using: &random) else { return [] }
    let made = newObject()
    var steps: [Operation] = [
      .insert(number, made, entity: schema.entities[entity].name, values: values(for: entity)),
      .relate(number, object, relationship.name, made),
    ]
    let other = candidates(for: relationship, context, live).randomElement(using: &random)
    var middle: [Operation] = [
      .relate(number, object, relationship.name, chance(0.6) ? nil : other), .delete(number, made),
    ]
    if chance(0.3) { middle.swapAt(0, 1) }
    if chance(0.3) { middle.removeFirst() }
    if chance(0.3) { middle.append(.save(number)) }
    steps += middle
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      steps.append(chance(0.75) ? .undo(number) : .redo(number))
    }
    steps.append(.look(number, [object]))
    return steps + [.save(number)]
  }

  /// Others have changed the row of an object that a context has changed too, and there are two objects with equal unique
  /// values, which no policy makes one.
  private mutating func conflictsOfTwoKinds(
    _ world: World, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [Operation] {
    guard context.parent == nil, plan.hasSeveralRoots else { return [] }
    let other: ContextNumber
    var steps: [Operation] = []
    if let root = world.contexts.filter({ $0.value.parent == nil && $0.key != number }).keys.min() {
      other = root
    } else {
      other = newContext()
      steps.append(.makeContext(other, parent: nil, hasUndo: false, coordinator: 0))
    }
    let stored = live.filter { world.store.isLive($0) }
    let lists = schema.concreteEntities.flatMap { entity in
      schema.uniqueLists(of: entity).map { (entity, $0) }
    }
    guard let object = stored.randomElement(using: &random), let row = context.current.rows[object],
      let attribute = schema.attributes(of: row.entity).filter({ $0.derivation == nil })
        .randomElement(using: &random),
      let (entity, list) = lists.randomElement(using: &random)
    else { return [] }
    var equal: [String: AttributeValue] = [:]
    for key in list.keys { equal[key] = schema.attributesByName[key].map { value(of: $0, isValid: true) } }
    steps += [
      .set(number, object, attribute.name, value(of: attribute, isValid: true)),
      .set(other, object, attribute.name, value(of: attribute, isValid: true)), .save(other),
    ]
    for _ in 0..<2 {
      steps.append(
        .insert(
          number, newObject(), entity: schema.entities[entity].name,
          values: values(for: entity).merging(equal) { $1 }))
    }
    if plan.hasPolicies { steps.append(.setPolicy(number, policy())) }
    return steps + [.save(number)]
  }

  // MARK: - Parts

  private func relationships(of object: ObjectNumber, _ context: World.Context) -> [Schema.Relationship] {
    context.current.rows[object].map { schema.relationships(of: $0.entity) } ?? []
  }

  /// An object that has others in a relationship.
  private mutating func related(
    _ context: World.Context, _ live: [ObjectNumber], where isWanted: (Schema.Relationship) -> Bool
  ) -> (ObjectNumber, Schema.Relationship)? {
    live.flatMap { object in
      relationships(of: object, context).filter { relationship in
        isWanted(relationship) && !context.current.members(object, relationship, schema).isEmpty
      }.map { (object, $0) }
    }.randomElement(using: &random)
  }

  private func parentSave(_ context: World.Context) -> [Operation] {
    context.parent.map { [.save($0)] } ?? []
  }

  /// A child that has read nothing yet, and the step that makes it.
  private mutating func child(
    of number: ContextNumber, _ world: World
  ) -> (ContextNumber, [Operation])? {
    guard plan.hasChildren, world.contexts.count < 5 else { return nil }
    let made = newContext()
    return (made, [.makeContext(made, parent: number, hasUndo: plan.hasUndo && chance(0.3), coordinator: 0)])
  }
}
