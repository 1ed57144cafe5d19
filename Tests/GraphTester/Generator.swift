import CDModel
import Foundation
import SeededRandom

/// What the programs of a seed do.
struct Plan: Sendable {
  var hasUndo = false
  var hasChildren = false
  var hasSeveralRoots = false
  var hasBatches = false
  var hasPolicies = false
  /// Whether several root contexts change the same few objects again and again.
  var contends = false
  var looksAtEveryStep = true
  var reopens = true
  var features = RandomSchema.Features()
}

/// Draws the steps of a program, each for the state that the steps before it have led to.
struct Generator {
  private static let maximumObjects = 14

  let schema: Schema
  private var entities: [ObjectNumber: Int] = [:]
  let plan: Plan
  var random: SplitMix
  private var nextObject = 1
  private var nextContext = 1
  /// What is left of a sequence of steps.
  private var scene: [Operation] = []

  init(schema: Schema, plan: Plan, random: SplitMix) {
    self.schema = schema
    self.plan = plan
    self.random = random
  }

  mutating func next(_ world: World) -> Operation {
    if let step = scene.popLast() { return step }
    let number = context(of: world)
    entities = world.entities
    guard let context = world.contexts[number] else { return .reopen }
    let live = context.current.rows.keys.filter { !context.open.contains($0) }.sorted()
    if live.count < 3, chance(0.6) { return insertion(number) }
    if live.count > 2, chance(0.05) {
      scene = self.scene(world, number, context, live).reversed()
      if let step = scene.popLast() { return step }
    }
    if plan.contends, let operation = contention(world, number, context, live) { return operation }
    for _ in 0..<20 {
      if let operation = draw(world, number, context, live) { return operation }
    }
    return insertion(number)
  }

  private mutating func context(of world: World) -> ContextNumber {
    let numbers = world.contexts.keys.sorted()
    // Children at work are more interesting than their idle parents.
    if let last = numbers.last, last != 0, chance(0.4) { return last }
    return numbers.randomElement(using: &random) ?? 0
  }

  private mutating func draw(
    _ world: World, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    if context.undo != nil, chance(0.07) { return chance(0.6) ? .undo(number) : .redo(number) }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<12: return live.count < Self.maximumObjects ? insertion(number) : nil
    case 12..<19: return live.randomElement(using: &random).map { .delete(number, $0) }
    case 19..<31: return setting(number, context, live)
    case 31..<43: return relating(number, context, live)
    case 43..<59: return toMany(number, context, live)
    case 59..<70: return .fetch(number, query(context, live))
    case 70..<72: return aggregation(number, context, live)
    case 72..<84: return saving(world, number)
    case 84..<86: return chance(0.4) ? .rollback(number) : .look(number, some(of: live))
    case 86..<91:
      guard plan.hasUndo, context.undo != nil else { return nil }
      switch Int.random(in: 0..<10, using: &random) {
      case 0: return .beginGroup(number)
      case 1, 2: return .endGroup(number)
      case 3..<7: return .undo(number)
      default: return .redo(number)
      }
    case 91..<92:
      guard let object = live.randomElement(using: &random) else { return nil }
      return chance(0.3) ? .refreshAll(number) : .refresh(number, object, merging: chance(0.6))
    case 92: return .letGo(number)
    case 93: return plan.looksAtEveryStep ? nil : .lookAtAll(number)
    case 94:
      if plan.reopens, chance(0.15) { return .reopen }
      return chance(0.15) ? .reset(number) : nil
    case 95...97:
      if plan.hasSeveralRoots, !plan.hasChildren || chance(0.5), world.contexts.count < 4 {
        nextContext += 1
        return .makeContext(
          nextContext - 1, parent: nil, hasUndo: plan.hasUndo && chance(0.3), coordinator: chance(0.3) ? 1 : 0
        )
      }
      guard plan.hasChildren, world.contexts.count < 4 else { return nil }
      nextContext += 1
      return .makeContext(
        nextContext - 1, parent: number, hasUndo: plan.hasUndo && chance(0.5), coordinator: 0)
    case 98:
      if number != 0, chance(0.4) { return .discard(number) }
      guard plan.hasPolicies else { return nil }
      return .setPolicy(number, policy())
    default: return plan.hasBatches && context.parent == nil ? batch(number, context, live) : nil
    }
  }

  /// A step that leads to a conflict: contexts that all have changes of the oldest objects, and policies for them.
  private mutating func contention(
    _ world: World, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    let roots = world.contexts.values.filter { $0.parent == nil }.count
    if roots < 3, world.store.rows.count > 2, chance(0.3) {
      nextContext += 1
      return .makeContext(
        nextContext - 1, parent: nil, hasUndo: plan.hasUndo && chance(0.3), coordinator: chance(0.3) ? 1 : 0)
    }
    if plan.hasPolicies, context.policy == .error, context.parent == nil, chance(0.3) {
      return .setPolicy(number, policy())
    }
    let shared = Array(live.filter { world.store.isLive($0) }.prefix(4))
    guard shared.count > 1, chance(0.6) else { return nil }
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4: return setting(number, context, shared)
    case 4..<6: return relating(number, context, shared)
    case 6..<8: return toMany(number, context, shared)
    case 8: return chance(0.5) ? shared.randomElement(using: &random).map { .delete(number, $0) } : nil
    default: return .save(number)
    }
  }

  mutating func policy() -> World.Policy {
    World.Policy.allCases.randomElement(using: &random) ?? .error
  }

  mutating func newObject() -> ObjectNumber {
    nextObject += 1
    return nextObject - 1
  }

  mutating func newContext() -> ContextNumber {
    nextContext += 1
    return nextContext - 1
  }

  // MARK: - Changes

  private mutating func insertion(_ number: ContextNumber) -> Operation {
    let entity = schema.concreteEntities.randomElement(using: &random) ?? 0
    nextObject += 1
    return .insert(number, nextObject - 1, entity: schema.entities[entity].name, values: values(for: entity))
  }

  mutating func values(for entity: Int) -> [String: AttributeValue] {
    var values: [String: AttributeValue] = [:]
    for attribute in schema.attributes(of: entity) where attribute.derivation == nil {
      if !attribute.isOptional && attribute.defaultValue == nil ? chance(0.97) : chance(0.5) {
        values[attribute.name] = value(of: attribute)
      }
    }
    return values
  }

  mutating func value(of attribute: Schema.Attribute, isValid: Bool = false) -> AttributeValue {
    if isValid || chance(0.95) {
      if attribute.minimum != nil { return .int(Int64.random(in: -1...2, using: &random)) }
      if attribute.maximumLength != nil {
        return .string(["", "a", "b", "ab"].randomElement(using: &random) ?? "")
      }
    }
    if !isValid, attribute.isOptional ? chance(0.15) : chance(0.02) { return .null }
    return RandomValue.value(of: attribute.type, using: &random)
  }

  private mutating func setting(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    guard let object = live.randomElement(using: &random), let row = context.current.rows[object],
      let attribute = schema.attributes(of: row.entity).filter({ $0.derivation == nil }).randomElement(
        using: &random)
    else { return nil }
    return .set(number, object, attribute.name, value(of: attribute))
  }

  private mutating func relating(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    guard let object = live.randomElement(using: &random), let row = context.current.rows[object],
      let relationship = schema.relationships(of: row.entity).filter({ !$0.isToMany }).randomElement(
        using: &random)
    else { return nil }
    if chance(relationship.isOptional ? 0.2 : 0.05) { return .relate(number, object, relationship.name, nil) }
    let target = candidates(for: relationship, context, live).randomElement(using: &random)
    return target.map { .relate(number, object, relationship.name, $0) }
  }

  func candidates(
    for relationship: Schema.Relationship, _ context: World.Context, _ live: [ObjectNumber]
  ) -> [ObjectNumber] {
    live.filter { object in
      context.current.rows[object].map { schema.isA($0.entity, relationship.destination) } ?? false
    }
  }

  private mutating func toMany(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    guard let object = live.randomElement(using: &random), let row = context.current.rows[object],
      let relationship = schema.relationships(of: row.entity).filter(\.isToMany).randomElement(using: &random)
    else { return nil }
    let members = context.current.members(object, relationship, schema)
    let candidates = candidates(for: relationship, context, live)
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4:
      let others = candidates.filter { !members.contains($0) }
      return others.randomElement(using: &random).map { .add(number, object, relationship.name, $0) }
    case 4..<6:
      let others = candidates.filter { !members.contains($0) }
      guard relationship.isOrdered, let target = others.randomElement(using: &random) else { return nil }
      let index = Int.random(in: 0...(members.count + 1), using: &random)
      return .insertAt(number, object, relationship.name, target, index)
    case 6..<8:
      return members.randomElement(using: &random).map { .remove(number, object, relationship.name, $0) }
    case 8:
      // The same ones in another order.
      return relationship.isOrdered
        ? .replace(number, object, relationship.name, members.shuffled(using: &random)) : nil
    default:
      let count = Int.random(in: 0...min(4, candidates.count), using: &random)
      return .replace(
        number, object, relationship.name, Array(candidates.shuffled(using: &random).prefix(count)))
    }
  }

  private mutating func some(of live: [ObjectNumber]) -> [ObjectNumber] {
    Array(live.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))).sorted()
  }

  // MARK: - Saves

  /// A save, or a step towards one that succeeds.
  private mutating func saving(_ world: World, _ number: ContextNumber) -> Operation {
    guard chance(0.8), let context = world.contexts[number] else { return .save(number) }
    let live = context.current.rows.keys.filter { !context.open.contains($0) }.sorted()
    switch world.verdict(ofSaving: number).failure {
    case nil: return .save(number)
    case .validation(let mistakes)?:
      guard let mistake = mistakes.sorted().randomElement(using: &random) else { return .save(number) }
      return repair(mistake, number, context, live) ?? .save(number)
    case .notUnique(let groups)?:
      guard let object = groups.first?.sorted().last, let entity = context.current.rows[object]?.entity,
        let key = schema.uniqueLists(of: entity).first?.keys.first,
        let attribute = schema.attributesByName[key]
      else { return .save(number) }
      return .set(number, object, key, value(of: attribute))
    case .conflict(let objects)?:
      if chance(0.3) { return .rollback(number) }
      return objects.sorted().first.map { .refresh(number, $0, merging: true) } ?? .rollback(number)
    case .some?: return chance(0.5) ? .rollback(number) : .save(number)
    }
  }

  private mutating func repair(
    _ mistake: World.Mistake, _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    if let attribute = schema.attributesByName[mistake.property] {
      return .set(number, mistake.object, attribute.name, value(of: attribute, isValid: true))
    }
    guard let relationship = schema.relationship(mistake.property) else { return nil }
    guard context.current.isLive(mistake.object) else {
      // A denied deletion.
      let others = context.current.facts(mistake.object, relationship, schema).filter(context.current.isLive)
      guard let other = others.first else { return nil }
      if let inverse = schema.inverse(of: relationship), !inverse.isToMany, chance(0.5) {
        let targets = candidates(for: inverse, context, live)
        return .relate(number, other, inverse.name, chance(0.5) ? targets.randomElement(using: &random) : nil)
      }
      return chance(0.6) ? .delete(number, other) : context.undo == nil ? .rollback(number) : .undo(number)
    }
    if let maximum = relationship.maximumCount {
      let members = context.current.members(mistake.object, relationship, schema)
      if members.count > maximum {
        return .replace(number, mistake.object, relationship.name, Array(members.prefix(maximum)))
      }
    }
    let targets = candidates(for: relationship, context, live)
    guard let target = targets.randomElement(using: &random), chance(0.9) else {
      let concrete = schema.concreteEntities.filter { schema.isA($0, relationship.destination) }
      guard let entity = concrete.randomElement(using: &random), chance(0.7),
        live.count < Self.maximumObjects + 4
      else { return .delete(number, mistake.object) }
      nextObject += 1
      return .insert(
        number, nextObject - 1, entity: schema.entities[entity].name, values: values(for: entity))
    }
    return relationship.isToMany
      ? .add(number, mistake.object, relationship.name, target)
      : .relate(number, mistake.object, relationship.name, target)
  }

  // MARK: - Questions

  private mutating func query(_ context: World.Context, _ live: [ObjectNumber]) -> Query {
    let entity = Int.random(in: schema.entities.indices, using: &random)
    var query = Query(entity: schema.entities[entity].name)
    if chance(0.85) { query.condition = condition(entity, live, depth: 2) }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      var at = entity
      var path: [String] = []
      if chance(0.25),
        let step = schema.relationships(of: at).filter({ !$0.isToMany }).randomElement(using: &random)
      {
        path = [step.name]
        at = step.destination
      }
      if chance(0.2),
        let many = schema.relationships(of: at).filter(\.isToMany).randomElement(using: &random),
        path.isEmpty
      {
        query.sort.append(Query.Sort(path: path, key: many.name, isCount: true, ascending: chance(0.6)))
      } else if let attribute = sortable(at).randomElement(using: &random) {
        query.sort.append(Query.Sort(path: path, key: attribute.name, ascending: chance(0.6)))
      }
    }
    if chance(0.3) { query.limit = Int.random(in: 0...4, using: &random) }
    if chance(0.2) { query.offset = Int.random(in: 0...3, using: &random) }
    if chance(0.1) { query.includesSubentities = false }
    query.form = chance(0.6) ? .objects : chance(0.5) ? .identifiers : .count
    return query
  }

  private func sortable(_ entity: Int) -> [Schema.Attribute] {
    schema.attributes(of: entity).filter {
      [.string, .bool, .int16, .int32, .int64, .float, .double, .decimal, .date].contains($0.type)
    }
  }

  private mutating func condition(_ entity: Int, _ live: [ObjectNumber], depth: Int) -> Condition {
    if depth > 0, chance(0.35) {
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        return .and([condition(entity, live, depth: depth - 1), condition(entity, live, depth: depth - 1)])
      case 1:
        return .or([condition(entity, live, depth: depth - 1), condition(entity, live, depth: depth - 1)])
      default: return .not(condition(entity, live, depth: depth - 1))
      }
    }
    var at = entity
    var path: [String] = []
    while path.count < 2, chance(0.25),
      let step = schema.relationships(of: at).filter({ !$0.isToMany }).randomElement(using: &random)
    {
      path.append(step.name)
      at = step.destination
    }
    let relationships = schema.relationships(of: at)
    if chance(0.4), let relationship = relationships.randomElement(using: &random) {
      guard relationship.isToMany else {
        return .isRelated(
          path: path, relationship: relationship.name,
          chance(0.5) ? live.randomElement(using: &random) : nil,
          isEqual: chance(0.6))
      }
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        return .count(
          path: path, relationship: relationship.name,
          Condition.Comparator.allCases.randomElement(using: &random) ?? .equal,
          Int.random(in: 0...3, using: &random))
      case 1:
        if path.isEmpty, let object = live.randomElement(using: &random) {
          return .contains(relationship: relationship.name, object)
        }
      default:
        if path.isEmpty, let attribute = comparable(relationship.destination).randomElement(using: &random) {
          let comparator: Condition.Comparator = hasOrder(attribute) && chance(0.5) ? .less : .equal
          return .any(
            relationship: relationship.name, attribute: attribute.name, comparator,
            RandomValue.value(of: attribute.type, using: &random))
        }
      }
    }
    guard let attribute = comparable(at).randomElement(using: &random) else { return .and([]) }
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return .compare(path: path, attribute: attribute.name, chance(0.5) ? .equal : .notEqual, .null)
    case 1:
      return .among(
        path: path, attribute: attribute.name,
        (0..<2).map { _ in RandomValue.value(of: attribute.type, using: &random) })
    case 2, 3:
      if attribute.type == .string {
        return .text(
          path: path, attribute: attribute.name,
          Condition.TextTest.allCases.randomElement(using: &random) ?? .begins,
          ["", "a", "b", "bc", "é"].randomElement(using: &random) ?? "a")
      }
    case 4, 5:
      if isInteger(attribute), case .int(let number) = RandomValue.value(of: attribute.type, using: &random) {
        return .digits(
          path: path, attribute: attribute.name, String(number), isEqual: chance(0.5))
      }
    default: break
    }
    let comparators = hasOrder(attribute) ? Condition.Comparator.allCases : [.equal, .notEqual]
    return .compare(
      path: path, attribute: attribute.name, comparators.randomElement(using: &random) ?? .equal,
      RandomValue.value(of: attribute.type, using: &random))
  }

  private func comparable(_ entity: Int) -> [Schema.Attribute] {
    schema.attributes(of: entity).filter { $0.type != .data && $0.type != .url }
  }

  private func isInteger(_ attribute: Schema.Attribute) -> Bool {
    [.int16, .int32, .int64].contains(attribute.type)
  }

  private func hasOrder(_ attribute: Schema.Attribute) -> Bool {
    ![.bool, .uuid, .data, .url].contains(attribute.type)
  }

  private mutating func aggregation(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    let entity = Int.random(in: schema.entities.indices, using: &random)
    let attributes = schema.attributes(of: entity)
    let kind = Aggregation.Kind.allCases.randomElement(using: &random) ?? .count
    let fitting: [Schema.Attribute]
    switch kind {
    case .count: fitting = attributes.filter { $0.type != .data }
    case .sum: fitting = attributes.filter { $0.type == .int16 || $0.type == .int32 }
    case .min, .max:
      fitting = attributes.filter { [.int16, .int32, .int64, .string, .date].contains($0.type) }
    }
    guard let attribute = fitting.randomElement(using: &random) else { return nil }
    var aggregation = Aggregation(entity: schema.entities[entity].name, kind: kind, attribute: attribute.name)
    if chance(0.5) {
      aggregation.groupBy =
        attributes.filter { [.string, .bool, .int32].contains($0.type) }.randomElement(using: &random)?.name
    }
    if chance(0.5) { aggregation.condition = condition(entity, live, depth: 1) }
    return .aggregate(number, aggregation)
  }

  // MARK: - Batches

  private mutating func batch(
    _ number: ContextNumber, _ context: World.Context, _ live: [ObjectNumber]
  ) -> Operation? {
    let entity = schema.concreteEntities.randomElement(using: &random) ?? 0
    let stored = live.filter { context.base.isLive($0) }
    let condition = chance(0.8) ? condition(entity, stored, depth: 1) : nil
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      return .batchDelete(number, entity: schema.entities[entity].name, condition)
    case 1:
      guard
        let attribute = schema.attributes(of: entity)
          .filter({ $0.derivation == nil && $0.type != .data }).randomElement(using: &random)
      else { return nil }
      return .batchUpdate(
        number, entity: schema.entities[entity].name, condition, attribute: attribute.name,
        value(of: attribute))
    default:
      nextObject += 1
      return .batchInsert(
        number, nextObject - 1, entity: schema.entities[entity].name, values: values(for: entity))
    }
  }

  mutating func chance(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &random) < probability
  }
}
