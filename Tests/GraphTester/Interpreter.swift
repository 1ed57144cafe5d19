import CDModel
@_spi(Generated) import CDRuntime
import Foundation

/// A difference between the runtime and the reference model.
struct Difference: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// A program that has come to where the documentation leaves so much open that there is nothing to compare.
struct Abandoned: Error {}

/// Runs steps on the runtime and on the reference model, and compares what both say.
final class Interpreter {
  var world: World
  var counts = Counts()
  /// Whether everything is fetched and compared after each step. Otherwise objects stay faults until a step of the
  /// program looks at them.
  let looksAtEveryStep: Bool

  let schema: Schema
  let kind: StoreKind
  let url: URL
  var container: PersistentContainer
  /// A second coordinator on the same file.
  var second: PersistentContainer?
  var contexts: [ContextNumber: ManagedObjectContext] = [:]
  var held: [ContextNumber: [ObjectNumber: ManagedObject]] = [:]
  var identifiers: [ObjectNumber: ManagedObjectID] = [:]
  var numbers: [ManagedObjectID: ObjectNumber] = [:]

  init(
    schema: Schema, kind: StoreKind, folder: URL, hasUndo: Bool, looksAtEveryStep: Bool,
    mutation: Mutation? = nil
  ) throws {
    self.schema = schema
    self.kind = kind
    self.looksAtEveryStep = looksAtEveryStep
    url = folder.appending(path: "store-\(UUID().uuidString)")
    world = World(schema: schema, mutation: mutation)
    container = PersistentContainer(try Self.coordinator(for: schema, kind, at: url))
    makeContext(0, parent: nil, hasUndo: hasUndo, coordinator: 0)
  }

  deinit {
    held = [:]
    contexts = [:]
    for url in [url, Self.beside(url)] {
      for suffix in ["", "-wal", "-shm", "-external", "-saving"] {
        try? FileManager.default.removeItem(
          at: url.deletingLastPathComponent().appending(path: url.lastPathComponent + suffix))
      }
    }
  }

  /// Opens the stores of a schema.
  static func coordinator(
    for schema: Schema, _ kind: StoreKind, at url: URL, isReadOnly: Bool = false
  ) throws -> PersistentStoreCoordinator {
    var stores = [PersistentStoreDescription(location(kind, url), isReadOnly: isReadOnly)]
    if !schema.rootsBeside.isEmpty {
      stores.append(
        PersistentStoreDescription(
          location(kind, beside(url)), configuration: Schema.configurationBeside, isReadOnly: isReadOnly))
    }
    return try PersistentStoreCoordinator(model: schema.model, stores: stores)
  }

  /// Where the second store is.
  private static func beside(_ url: URL) -> URL {
    url.deletingLastPathComponent().appending(path: url.lastPathComponent + "-beside")
  }

  private static func location(_ kind: StoreKind, _ url: URL) -> StoreLocation {
    switch kind {
    case .sqlite: .sqlite(url)
    case .xml: .xml(url)
    case .binary: .binary(url)
    case .memory: .inMemory
    }
  }

  func makeContext(_ number: ContextNumber, parent: ContextNumber?, hasUndo: Bool, coordinator: Int) {
    let context: ManagedObjectContext
    if let parent {
      guard let object = contexts[parent] else { return }
      context = ManagedObjectContext(parent: object)
    } else {
      if coordinator == 1, second == nil, kind == .sqlite {
        second = (try? Self.coordinator(for: schema, kind, at: url)).map(PersistentContainer.init)
      }
      context = (coordinator == 1 ? second ?? container : container).newContext()
    }
    if hasUndo { context.undoManager = ContextUndoManager() }
    contexts[number] = context
    held[number] = [:]
    world.addContext(number, parent: parent, hasUndo: hasUndo, coordinator: coordinator)
  }

  // MARK: - Steps

  /// Whether a step can be taken. A program that a shrinker has cut has steps that cannot.
  func canTake(_ operation: Operation) -> Bool {
    if case .makeContext(let number, let parent, _, _) = operation {
      return contexts[number] == nil && (parent.map { contexts[$0] != nil } ?? true)
    }
    guard let number = operation.context else { return true }
    guard let context = world.contexts[number] else { return false }
    let graph = context.current
    func isUsable(_ object: ObjectNumber) -> Bool { graph.isLive(object) && !context.open.contains(object) }
    func has(_ object: ObjectNumber, _ relationship: String) -> Schema.Relationship? {
      guard let row = graph.rows[object], isUsable(object),
        let description = schema.relationship(relationship), schema.isA(row.entity, description.entity)
      else { return nil }
      return description
    }
    func isOpen(_ object: ObjectNumber, _ relationship: String) -> Bool {
      world.openness(of: number).ends.contains(Graph.End(object: object, relationship: relationship))
    }
    func fits(_ target: ObjectNumber, _ relationship: Schema.Relationship) -> Bool {
      isUsable(target) && graph.rows[target].map { schema.isA($0.entity, relationship.destination) } ?? false
    }
    switch operation {
    case .makeContext, .reopen, .save, .setPolicy, .refreshAll, .letGo, .look, .lookAtAll, .rollback, .reset:
      return true
    case .discard: return number != 0
    case .undo, .redo: return context.undo != nil
    case .beginGroup: return context.undo.map { $0.level == 0 } ?? false
    case .endGroup: return context.undo.map { $0.level > 0 } ?? false
    case .insert(_, let object, let entity, let values):
      return world.entities[object] == nil && schema.entities.contains { $0.name == entity }
        && values.keys.allSatisfy { schema.attributesByName[$0] != nil || true }
    case .delete(_, let object):
      // What a deletion reaches is open where relationships are, and where it leads on from what others have deleted and
      // is related here.
      let openness = world.openness(of: number)
      // Whether the delete rules of an object apply that an undo has brought back shows only in what the parent has.
      return isUsable(object) && openness.ends.isEmpty && world.returned(number).isEmpty
        && !openness.objects.contains { !graph.isLive($0) && graph.isRelated($0) }
    case .set(_, let object, let key, let value):
      guard let row = graph.rows[object], isUsable(object), row.values[key] != nil else { return false }
      return row.values[key] != Self.plain(value)
    case .relate(_, let object, let key, let target):
      guard let relationship = has(object, key), !relationship.isToMany else { return false }
      if graph.facts(object, relationship, schema) == (target.map { [$0] } ?? []) { return false }
      // Where others have given one of the two another partner than this context has, its save finds out.
      if graph.facts(object, relationship, schema).count > 1 || isOpen(object, key) { return false }
      if let target, let inverse = schema.inverse(of: relationship), !inverse.isToMany,
        graph.facts(target, inverse, schema).count > 1 || isOpen(target, inverse.name)
      {
        return false
      }
      return target.map { fits($0, relationship) } ?? true
    case .replace(_, let object, let key, let targets):
      guard let relationship = has(object, key), relationship.isToMany, !isOpen(object, key) else {
        return false
      }
      let members = graph.members(object, relationship, schema)
      if graph.isDangling(object, relationship, schema) { return false }
      if relationship.isOrdered ? members == targets : Set(members) == Set(targets) { return false }
      return targets.allSatisfy { fits($0, relationship) }
    case .add(_, let object, let key, let target), .insertAt(_, let object, let key, let target, _):
      guard let relationship = has(object, key), relationship.isToMany, fits(target, relationship),
        !isOpen(object, key)
      else { return false }
      if case .insertAt = operation, !relationship.isOrdered { return false }
      return !graph.facts(object, relationship, schema).contains(target)
    case .remove(_, let object, let key, let target):
      guard let relationship = has(object, key), relationship.isToMany, fits(target, relationship),
        !isOpen(object, key)
      else { return false }
      return graph.members(object, relationship, schema).contains(target)
    case .refresh(_, let object, let merging):
      guard isUsable(object), context.base.isLive(object) else { return false }
      if merging { return true }
      // What is lost besides the object's row is not for a reference to say.
      guard context.undo == nil else { return false }
      let delta = Delta(from: context.base, to: context.current)
      let isPaired = (delta.added.values.flatMap { $0 } + delta.removed.values.flatMap { $0 })
        .contains { $0.source == object || $0.target == object }
      if delta.orders.keys.contains(where: { $0.object == object }) { return false }
      guard let change = delta.rows[object] else { return !isPaired }
      return !isPaired && change.before?.references == change.after?.references
    case .fetch(_, let query):
      return schema.entities.contains { $0.name == query.entity } && canEvaluate(query.condition)
        && query.sort.allSatisfy { sort in (sort.path + [sort.key]).allSatisfy(isKnown) }
    case .aggregate(_, let aggregation):
      return schema.entities.contains { $0.name == aggregation.entity } && canEvaluate(aggregation.condition)
        && isKnown(aggregation.attribute) && aggregation.groupBy.map(isKnown) ?? true
    case .batchUpdate(_, let entity, let condition, let attribute, _):
      return schema.entities.contains { $0.name == entity } && canEvaluate(condition) && isKnown(attribute)
        && context.parent == nil
    case .batchDelete(_, let entity, let condition):
      return schema.entities.contains { $0.name == entity } && canEvaluate(condition) && context.parent == nil
    case .batchInsert(_, let object, let entity, _):
      return world.entities[object] == nil && schema.entities.contains { $0.name == entity }
        && context.parent == nil
    }
  }

  func isKnown(_ name: String) -> Bool {
    schema.attributesByName[name] != nil || schema.relationship(name) != nil
  }

  func canEvaluate(_ condition: Condition?) -> Bool {
    guard let condition else { return true }
    return condition.names.allSatisfy(isKnown) && condition.objects.allSatisfy { identifiers[$0] != nil }
  }

  /// Takes a step on both sides. Throws a ``Difference`` where they do not agree.
  func take(_ operation: Operation) throws {
    if let number = operation.context { try learn(number) }
    guard canTake(operation) else { return }
    counts.steps += 1
    switch operation {
    case .makeContext(let number, let parent, let hasUndo, let coordinator):
      makeContext(number, parent: parent, hasUndo: hasUndo, coordinator: coordinator)
    case .discard(let number):
      for child in world.children(of: number) { try take(.discard(child)) }
      contexts[number] = nil
      held[number] = nil
      world.removeContext(number)
    case .reopen: try reopen()
    default:
      guard let number = operation.context, let context = contexts[number] else { return }
      try context.perform { try take(operation, in: context, number) }
      if isDirect(operation) { try showChildren(of: number) }
    }
    try adoptOrders()
    if looksAtEveryStep, let number = operation.context, let context = contexts[number] {
      try context.perform { try lookAtAll(context, number) }
    }
  }

  /// Lets a context see what others have saved. It does so as it reads, and a change alone reads nothing.
  func learn(_ number: ContextNumber) throws {
    var root = number
    while let parent = world.contexts[root]?.parent { root = parent }
    if let context = contexts[root], world.isBehind(root), let entity = schema.roots.first {
      _ = try context.perform {
        try context.count(for: FetchRequest<ManagedObject>(entityName: schema.entities[entity].name))
      }
      // A child learns with its parent.
    }
    world.learn(number)
  }

  /// Whether an operation is a change that children see with their next fetch only.
  func isDirect(_ operation: Operation) -> Bool {
    switch operation {
    case .fetch, .aggregate, .look, .lookAtAll, .save, .setPolicy, .letGo: false
    default: true
    }
  }

  /// Lets children see what their parent has changed by fetching everything.
  func showChildren(of number: ContextNumber) throws {
    for child in world.children(of: number) {
      guard let context = contexts[child] else { continue }
      world.learn(child)
      try context.perform {
        for root in schema.roots {
          _ = try context.fetch(FetchRequest<ManagedObject>(entityName: schema.entities[root].name))
        }
      }
      try showChildren(of: child)
    }
  }

  func take(_ operation: Operation, in context: ManagedObjectContext, _ number: ContextNumber) throws {
    switch operation {
    case .makeContext, .discard, .reopen: break
    case .setPolicy(_, let policy):
      context.mergePolicy = Self.policy(policy)
      world.contexts[number]?.policy = policy
    case .insert(_, let object, let entity, let values):
      try insert(object, entity, values, in: context, number)
    case .delete(_, let object):
      context.delete(try instance(object, number))
      let mutation = world.mutation
      let base = world.contexts[number]?.base ?? world.store
      world.change(number) { $0.delete([object], $1, base: base, wrong: mutation) }
    case .set(_, let object, let key, let value):
      try instance(object, number).setValue(.attribute(value), forKey: key)
      world.change(number) { graph, _ in graph.rows[object]?.values[key] = Self.plain(value) }
    case .relate(_, let object, let key, let target):
      let value = try target.map { try instance($0, number) }
      try instance(object, number).setValue(.object(value), forKey: key)
      guard let relationship = schema.relationship(key) else { return }
      world.change(number) { graph, schema in
        for former in graph.facts(object, relationship, schema) {
          graph.unlink(object, relationship, former, schema)
        }
        if let target { graph.link(object, relationship, target, schema) }
      }
    case .replace(_, let object, let key, let targets):
      let values = try targets.map { try instance($0, number) }
      try instance(object, number).setValue(.objects(values), forKey: key)
      guard let relationship = schema.relationship(key) else { return }
      world.change(number) { $0.replace(object, relationship, with: targets, $1) }
    case .add(_, let object, let key, let target):
      guard let (relationship, slot) = place(key, object, number) else { return }
      try instance(object, number)._add(try instance(target, number), slot)
      let mutation = world.mutation
      world.change(number) { graph, schema in
        if mutation == .inverseIsForgotten, relationship.inverse != nil { return }
        graph.link(object, relationship, target, at: mutation == .orderIsForgotten ? 0 : nil, schema)
      }
    case .insertAt(_, let object, let key, let target, let index):
      guard let (relationship, slot) = place(key, object, number) else { return }
      try instance(object, number)._insert(try instance(target, number), at: index, slot)
      world.change(number) { $0.link(object, relationship, target, at: index, $1) }
    case .remove(_, let object, let key, let target):
      guard let (relationship, slot) = place(key, object, number) else { return }
      try instance(object, number)._remove(try instance(target, number), slot)
      world.change(number) { $0.unlink(object, relationship, target, $1) }
    case .fetch(_, let query): try fetch(query, in: context, number)
    case .aggregate(_, let aggregation): try aggregate(aggregation, in: context, number)
    case .look(_, let objects):
      for object in objects where identifiers[object] != nil { try look(object, in: context, number) }
      try lookAtSets(context, number)
    case .lookAtAll: try lookAtAll(context, number)
    case .save: try save(context, number)
    case .rollback:
      context.rollback()
      world.rollback(number)
    case .undo:
      if world.isUndoOpen(number) { return forgetGroups(of: context, number) }
      counts.undos += 1
      context.undo()
      world.undo(number)
    case .redo:
      if world.isUndoOpen(number) { return forgetGroups(of: context, number) }
      counts.undos += 1
      context.redo()
      world.redo(number)
    case .beginGroup:
      context.undoManager?.beginUndoGrouping()
      world.beginGroup(number)
    case .endGroup:
      context.undoManager?.endUndoGrouping()
      world.endGroup(number)
    case .refresh(_, let object, let merging):
      context.refresh(try instance(object, number), mergeChanges: merging)
      world.refresh(object, merging: merging, in: number)
    case .refreshAll: context.refreshAllObjects()
    case .reset:
      context.reset()
      world.rollback(number)
      for child in world.children(of: number) { held[child] = [:] }
      held[number] = [:]
    case .letGo: held[number] = [:]
    case .batchUpdate, .batchDelete, .batchInsert: try batch(operation, in: context, number)
    }
  }

  /// Lets a context go on where it is open what an undo would bring.
  private func forgetGroups(of context: ManagedObjectContext, _ number: ContextNumber) {
    context.undoManager?.removeAllActions()
    world.contexts[number]?.undo = World.UndoStack()
    world.contexts[number]?.isUndoOpen = false
  }

  /// Lets a context go on where it is open what it has.
  func rollBack(_ number: ContextNumber) throws {
    guard let context = contexts[number] else { return }
    context.perform { context.rollback() }
    world.rollback(number)
    try showChildren(of: number)
  }

  func place(
    _ key: String, _ object: ObjectNumber, _ number: ContextNumber
  ) -> (Schema.Relationship, Int)? {
    guard let relationship = schema.relationship(key), let entity = world.entities[object],
      let slot = schema.slot(of: key, in: entity)
    else { return nil }
    return (relationship, slot)
  }

  /// A value as objects have it: no store keeps a negative zero.
  static func plain(_ value: AttributeValue) -> AttributeValue {
    switch value {
    case .double(let number) where number == 0: .double(0)
    case .date(let date) where date.timeIntervalSinceReferenceDate == 0:
      .date(Date(timeIntervalSinceReferenceDate: 0))
    default: value
    }
  }

  static func policy(_ policy: World.Policy) -> MergePolicy {
    switch policy {
    case .error: .error
    case .mergeByPropertyStoreTrump: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrump: .mergeByPropertyObjectTrump
    case .overwrite: .overwrite
    case .rollback: .rollback
    }
  }

  func insert(
    _ object: ObjectNumber, _ entity: String, _ values: [String: AttributeValue],
    in context: ManagedObjectContext,
    _ number: ContextNumber
  ) throws {
    guard let index = schema.entities.firstIndex(where: { $0.name == entity }) else { return }
    let made = try context.insert(entityNamed: entity)
    var row = Graph.Row(entity: index, values: [:])
    for attribute in schema.attributes(of: index) where attribute.derivation == nil {
      row.values[attribute.name] = Self.plain(attribute.defaultValue ?? .null)
    }
    for (key, value) in values.sorted(by: { $0.key < $1.key }) where row.values[key] != nil {
      try made.setValue(.attribute(value), forKey: key)
      row.values[key] = Self.plain(value)
    }
    held[number]?[object] = made
    register(object, made.objectID, index)
    world.change(number) { graph, _ in graph.rows[object] = row }
  }

  func register(_ object: ObjectNumber, _ identifier: ManagedObjectID, _ entity: Int) {
    identifiers[object] = identifier
    numbers[identifier] = object
    world.entities[object] = entity
    // The last part of an identifier's text is `p` and the key.
    world.keys[object] = Int64(identifier.description.split(separator: "/").last?.dropFirst() ?? "") ?? 0
  }

  func instance(_ object: ObjectNumber, _ number: ContextNumber) throws -> ManagedObject {
    // Where a row has come back, another instance is the row's: the one that was deleted stays so.
    if let instance = held[number]?[object], !instance.isDeleted, !instance.isInaccessible { return instance }
    if world.contexts[number]?.current.isLive(object) != true { throw Abandoned() }
    guard let context = contexts[number], let identifier = identifiers[object] else {
      throw Difference("o\(object) has no identifier")
    }
    var instance = context.registeredObject(for: identifier)
    if instance?.isInaccessible != false { instance = try context.object(with: identifier) }
    guard let instance else { throw Abandoned() }
    held[number]?[object] = instance
    return instance
  }

  func name(_ identifier: ManagedObjectID) -> String {
    numbers[identifier].map { "o\($0)" } ?? "an unknown \(identifier.entityName)"
  }

  func name(_ object: ManagedObject?) -> String { object.map { name($0.objectID) } ?? "nil" }
}
