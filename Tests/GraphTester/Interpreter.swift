import CDModel
@_spi(Generated) import CDRuntime
import Foundation

/// What a run has done.
public struct Counts: Sendable {
  public var programs = 0
  public var steps = 0
  public var comparisons = 0
  public var saves = 0
  public var failedSaves = 0
  public var childSaves = 0
  public var conflicts = 0
  public var resolvedConflicts = 0
  public var fetches = 0
  public var undos = 0
  public var batches = 0
  public var files = 0
  /// Programs that came to where the documentation leaves too much open.
  public var abandoned = 0

  public init() {}

  public static func += (left: inout Counts, right: Counts) {
    left.programs += right.programs
    left.steps += right.steps
    left.comparisons += right.comparisons
    left.saves += right.saves
    left.failedSaves += right.failedSaves
    left.childSaves += right.childSaves
    left.conflicts += right.conflicts
    left.resolvedConflicts += right.resolvedConflicts
    left.fetches += right.fetches
    left.undos += right.undos
    left.batches += right.batches
    left.files += right.files
    left.abandoned += right.abandoned
  }

  /// A line for people.
  public var summary: String {
    "\(programs) programs, \(steps) steps, \(comparisons) values compared, \(saves) saves, \(failedSaves) failed saves, "
      + "\(childSaves) child saves, \(conflicts) conflicts, \(resolvedConflicts) resolved, \(fetches) fetches, "
      + "\(undos) undos and redos, \(batches) batches, \(files) files read anew, \(abandoned) programs abandoned"
  }
}

/// The kind of store that programs run on.
public enum StoreKind: String, Sendable, CaseIterable {
  case sqlite, xml, binary, memory
}

/// A difference between the runtime and the reference model.
struct Difference: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// A program that has come to where the documentation leaves so much open that there is nothing to compare.
struct Abandoned: Error {}

/// Runs steps on the runtime and on the reference model, and compares what both say.
final class Interpreter {
  private(set) var world: World
  private(set) var counts = Counts()
  /// Whether everything is fetched and compared after each step. Otherwise objects stay faults until a step of the
  /// program looks at them.
  let looksAtEveryStep: Bool

  private let schema: Schema
  private let kind: StoreKind
  private let url: URL
  private var container: PersistentContainer
  /// A second coordinator on the same file.
  private var second: PersistentContainer?
  private var contexts: [ContextNumber: ManagedObjectContext] = [:]
  private var held: [ContextNumber: [ObjectNumber: ManagedObject]] = [:]
  private var identifiers: [ObjectNumber: ManagedObjectID] = [:]
  private var numbers: [ManagedObjectID: ObjectNumber] = [:]

  init(
    schema: Schema, kind: StoreKind, folder: URL, hasUndo: Bool, looksAtEveryStep: Bool, mutation: Mutation? = nil
  ) throws {
    self.schema = schema
    self.kind = kind
    self.looksAtEveryStep = looksAtEveryStep
    url = folder.appending(path: "store-\(UUID().uuidString)")
    world = World(schema: schema, mutation: mutation)
    container = PersistentContainer(
      try PersistentStoreCoordinator(model: schema.model, at: Self.location(kind, url)))
    makeContext(0, parent: nil, hasUndo: hasUndo, coordinator: 0)
  }

  deinit {
    held = [:]
    contexts = [:]
    for suffix in ["", "-wal", "-shm", "-external", "-saving"] {
      try? FileManager.default.removeItem(at: url.deletingLastPathComponent().appending(path: url.lastPathComponent + suffix))
    }
  }

  private static func location(_ kind: StoreKind, _ url: URL) -> PersistentStoreCoordinator.StoreLocation {
    switch kind {
    case .sqlite: .sqlite(url)
    case .xml: .xml(url)
    case .binary: .binary(url)
    case .memory: .inMemory
    }
  }

  private func makeContext(_ number: ContextNumber, parent: ContextNumber?, hasUndo: Bool, coordinator: Int) {
    let context: ManagedObjectContext
    if let parent {
      guard let object = contexts[parent] else { return }
      context = ManagedObjectContext(parent: object)
    } else {
      if coordinator == 1, second == nil, kind == .sqlite {
        second = (try? PersistentStoreCoordinator(model: schema.model, at: .sqlite(url))).map(PersistentContainer.init)
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
    func fits(_ target: ObjectNumber, _ relationship: Schema.Relationship) -> Bool {
      isUsable(target) && graph.rows[target].map { schema.isA($0.entity, relationship.destination) } ?? false
    }
    switch operation {
    case .makeContext, .reopen, .save, .refreshAll, .letGo, .look, .lookAtAll, .setPolicy:
      return true
    case .discard: return number != 0
    case .undo, .redo: return context.undo != nil && !context.isUndoOpen && !isWatched(number)
    case .rollback, .reset: return !isWatched(number)
    case .beginGroup: return context.undo.map { $0.level == 0 } ?? false
    case .endGroup: return context.undo.map { $0.level > 0 } ?? false
    case .insert(_, let object, let entity, let values):
      return world.entities[object] == nil && schema.entities.contains { $0.name == entity }
        && values.keys.allSatisfy { schema.attributesByName[$0] != nil || true }
    case .delete(_, let object): return isUsable(object)
    case .set(_, let object, let key, let value):
      guard let row = graph.rows[object], isUsable(object), row.values[key] != nil else { return false }
      return row.values[key] != value
    case .relate(_, let object, let key, let target):
      guard let relationship = has(object, key), !relationship.isToMany else { return false }
      if graph.facts(object, relationship, schema) == (target.map { [$0] } ?? []) { return false }
      return target.map { fits($0, relationship) } ?? true
    case .replace(_, let object, let key, let targets):
      guard let relationship = has(object, key), relationship.isToMany else { return false }
      let members = graph.members(object, relationship, schema)
      if graph.isDangling(object, relationship, schema) { return false }
      if relationship.isOrdered ? members == targets : Set(members) == Set(targets) { return false }
      return targets.allSatisfy { fits($0, relationship) }
    case .add(_, let object, let key, let target), .insertAt(_, let object, let key, let target, _):
      guard let relationship = has(object, key), relationship.isToMany, fits(target, relationship) else { return false }
      if case .insertAt = operation, !relationship.isOrdered { return false }
      return !graph.facts(object, relationship, schema).contains(target)
    case .remove(_, let object, let key, let target):
      guard let relationship = has(object, key), relationship.isToMany, fits(target, relationship) else { return false }
      return graph.members(object, relationship, schema).contains(target)
    case .refresh(_, let object, let merging):
      guard isUsable(object), context.base.isLive(object) else { return false }
      if merging { return true }
      // What is lost besides the object's row is not for a reference to say.
      guard context.undo == nil else { return false }
      let delta = Delta(from: context.base, to: context.current)
      let isPaired = (delta.added.values.flatMap { $0 } + delta.removed.values.flatMap { $0 })
        .contains { $0.source == object || $0.target == object }
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
      return world.entities[object] == nil && schema.entities.contains { $0.name == entity } && context.parent == nil
    }
  }

  /// Whether a context has children, whose objects stay deleted when it goes back.
  private func isWatched(_ number: ContextNumber) -> Bool {
    KnownDefects.current.keepsObjectsOfChildrenDeleted && !world.children(of: number).isEmpty
  }

  private func isKnown(_ name: String) -> Bool {
    schema.attributesByName[name] != nil || schema.relationship(name) != nil
  }

  private func canEvaluate(_ condition: Condition?) -> Bool {
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
  private func learn(_ number: ContextNumber) throws {
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
  private func isDirect(_ operation: Operation) -> Bool {
    switch operation {
    case .fetch, .aggregate, .look, .lookAtAll, .save, .setPolicy, .letGo: false
    default: true
    }
  }

  /// Lets children see what their parent has changed by fetching everything.
  private func showChildren(of number: ContextNumber) throws {
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

  private func take(_ operation: Operation, in context: ManagedObjectContext, _ number: ContextNumber) throws {
    switch operation {
    case .makeContext, .discard, .reopen: break
    case .setPolicy(_, let policy):
      context.mergePolicy = Self.policy(policy)
      world.contexts[number]?.policy = policy
    case .insert(_, let object, let entity, let values):
      try insert(object, entity, values, in: context, number)
    case .delete(_, let object):
      let rules = Set(schema.relationshipsByName.values.map(\.rule))
      if !world.openness(of: number).ends.isEmpty, rules.contains(.cascade) || rules.contains(.deny) {
        throw Abandoned()
      }
      context.delete(try instance(object, number))
      let mutation = world.mutation
      world.change(number) { $0.delete([object], $1, wrong: mutation) }
    case .set(_, let object, let key, let value):
      try instance(object, number).setValue(.attribute(value), forKey: key)
      world.change(number) { graph, _ in graph.rows[object]?.values[key] = value }
    case .relate(_, let object, let key, let target):
      let value = try target.map { try instance($0, number) }
      try instance(object, number).setValue(.object(value), forKey: key)
      guard let relationship = schema.relationship(key) else { return }
      world.change(number) { graph, schema in
        for former in graph.facts(object, relationship, schema) { graph.unlink(object, relationship, former, schema) }
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
      if KnownDefects.current.keepsSnapshotsAtRollback { context.refreshAllObjects() }
      world.rollback(number)
    case .undo:
      counts.undos += 1
      context.undo()
      world.undo(number)
    case .redo:
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

  private func place(
    _ key: String, _ object: ObjectNumber, _ number: ContextNumber
  ) -> (Schema.Relationship, Int)? {
    guard let relationship = schema.relationship(key), let entity = world.entities[object],
      let slot = schema.slot(of: key, in: entity)
    else { return nil }
    return (relationship, slot)
  }

  private static func policy(_ policy: World.Policy) -> MergePolicy {
    switch policy {
    case .error: .error
    case .mergeByPropertyStoreTrump: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrump: .mergeByPropertyObjectTrump
    case .overwrite: .overwrite
    case .rollback: .rollback
    }
  }

  private func insert(
    _ object: ObjectNumber, _ entity: String, _ values: [String: AttributeValue], in context: ManagedObjectContext,
    _ number: ContextNumber
  ) throws {
    guard let index = schema.entities.firstIndex(where: { $0.name == entity }) else { return }
    let made = try context.insert(entityNamed: entity)
    var row = Graph.Row(entity: index, values: [:])
    for attribute in schema.attributes(of: index) where attribute.derivation == nil {
      row.values[attribute.name] = attribute.defaultValue ?? .null
    }
    for (key, value) in values.sorted(by: { $0.key < $1.key }) where row.values[key] != nil {
      try made.setValue(.attribute(value), forKey: key)
      row.values[key] = value
    }
    held[number]?[object] = made
    register(object, made.objectID, index)
    world.change(number) { graph, _ in graph.rows[object] = row }
  }

  private func register(_ object: ObjectNumber, _ identifier: ManagedObjectID, _ entity: Int) {
    identifiers[object] = identifier
    numbers[identifier] = object
    world.entities[object] = entity
    // The last part of an identifier's text is `p` and the key.
    world.keys[object] = Int64(identifier.description.split(separator: "/").last?.dropFirst() ?? "") ?? 0
  }

  private func instance(_ object: ObjectNumber, _ number: ContextNumber) throws -> ManagedObject {
    if let instance = held[number]?[object] { return instance }
    if world.contexts[number]?.current.isLive(object) != true { throw Abandoned() }
    guard let context = contexts[number], let identifier = identifiers[object] else {
      throw Difference("o\(object) has no identifier")
    }
    let instance = try context.registeredObject(for: identifier) ?? context.object(with: identifier)
    held[number]?[object] = instance
    return instance
  }

  private func name(_ identifier: ManagedObjectID) -> String {
    numbers[identifier].map { "o\($0)" } ?? "an unknown \(identifier.entityName)"
  }

  private func name(_ object: ManagedObject?) -> String { object.map { name($0.objectID) } ?? "nil" }

  // MARK: - Saving

  private func save(_ context: ManagedObjectContext, _ number: ContextNumber) throws {
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
      return
    }
    if let failure = verdict.failure {
      throw Difference("the save of c\(number) succeeds; it should fail: \(failure)")
    }
    let conflicts = isChild ? world.childConflicts(number) : world.storeConflicts(number).must
    if !conflicts.isEmpty { counts.resolvedConflicts += 1 }
    if !isChild, !conflicts.isEmpty || verdict.isResultOpen {
      try adoptStore(savedBy: number)
      return
    }
    if isChild, verdict.isResultOpen || !conflicts.isEmpty {
      try adoptParent(of: number)
      return
    }
    let learnsLate = KnownDefects.current.keepsListsThatOthersHaveChanged
    let wasOpen = !(world.contexts[number]?.openEnds.isEmpty ?? true)
    world.save(number)
    if learnsLate, wasOpen { context.refreshAllObjects() }
    if let parent = world.contexts[number]?.parent {
      for child in world.children(of: parent) { world.learn(child) }
    } else {
      try readFile()
    }
  }

  private func compare(_ error: any Error, with verdict: World.Verdict, _ number: ContextNumber) throws {
    guard let failure = verdict.failure else { return }
    switch (failure, error) {
    case (.validation(let expected), SaveError.validation(let errors)):
      let actual = Set(
        errors.compactMap { error in
          numbers[error.objectID].map { World.Mistake(object: $0, property: error.property ?? "") }
        })
      if actual != expected {
        throw Difference("the save of c\(number) finds the mistakes \(actual.sorted()), not \(expected.sorted())")
      }
    case (.notUnique(let expected), SaveError.notUnique(let conflicts)):
      let actual = Set(conflicts.map { Set($0.objectIDs.compactMap { numbers[$0] }) })
      let isPart = KnownDefects.current.tellsNotOfAllUniqueLists && actual.isSubset(of: expected) && !actual.isEmpty
      if actual != expected, !isPart {
        throw Difference(
          "the save of c\(number) finds equal values of \(actual.map { $0.sorted() }), not \(expected.map { $0.sorted() })")
      }
    case (.conflict(let expected), SaveError.conflict(let conflicts)):
      counts.conflicts += 1
      let actual = Set(conflicts.filter { $0.reason != .partnerTaken }.compactMap { numbers[$0.objectID] })
      if !expected.isSubset(of: actual) {
        throw Difference("the save of c\(number) finds conflicts of \(actual.sorted()), not \(expected.sorted())")
      }
    case (.some, _): break
    default: throw Difference("the save of c\(number) throws \(describe(error)); it should throw \(failure)")
    }
  }

  private func describe(_ error: any Error) -> String {
    if case SaveError.validation(let errors) = error {
      return "validation: "
        + errors.map { "\(name($0.objectID)).\($0.property ?? "") \($0.reason)" }.joined(separator: ", ")
    }
    if case SaveError.conflict(let conflicts) = error {
      return "conflict: " + conflicts.map { "\(name($0.objectID)) \($0.reason) \($0.keys)" }.joined(separator: ", ")
    }
    if case SaveError.notUnique(let conflicts) = error {
      return "notUnique: " + conflicts.map { "\($0.objectIDs.map(name)) \($0.properties)" }.joined(separator: ", ")
    }
    if case SaveError.danglingReferences(let ids) = error { return "danglingReferences: \(ids.map(name))" }
    return "\(error)"
  }

  // MARK: - The file

  /// Opens the file anew and compares everything in it with the reference's store.
  private func readFile() throws {
    counts.files += 1
    if world.mutation != nil { return }
    let coordinator: PersistentStoreCoordinator
    switch kind {
    case .memory: coordinator = container.persistentStoreCoordinator
    case .sqlite: coordinator = try PersistentStoreCoordinator(model: schema.model, at: .sqlite(url))
    case .xml, .binary:
      coordinator = try PersistentStoreCoordinator(
        model: schema.model, stores: [PersistentStoreDescription(Self.location(kind, url), isReadOnly: true)])
    }
    let findings = try coordinator.verify().filter { finding in
      // A rule of `noAction` leaves them on purpose.
      if case .danglingReference = finding { return !schema.relationshipsByName.values.contains { $0.rule == .noAction } }
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
  private func adoptStore(savedBy number: ContextNumber) throws {
    if KnownDefects.current.keepsListsThatOthersHaveChanged { contexts[number]?.refreshAllObjects() }
    let context = container.newContext()
    let graph = try context.perform { try self.graph(of: context, world.store) }
    world.store = graph
    world.contexts[number]?.base = graph
    world.contexts[number]?.current = graph
    world.contexts[number]?.isUndoOpen = true
    world.settle(number)
    try readFile()
  }

  /// The same for what a child's save makes of its parent.
  private func adoptParent(of number: ContextNumber) throws {
    guard let parent = world.contexts[number]?.parent, let context = contexts[parent],
      let known = world.contexts[parent]
    else { return }
    // What a rule of `deny` holds back does not show, nor whether others' objects are still there.
    let openness = world.openness(of: parent)
    guard openness.objects.isEmpty, openness.ends.isEmpty,
      !schema.relationshipsByName.values.contains(where: { $0.rule == .deny })
    else { throw Abandoned() }
    guard known.current.denied.isEmpty, !isAnythingDangling(known.current) else { throw Abandoned() }
    let graph = try context.perform { try self.graph(of: context, known.current) }
    let touched = Set(world.delta(of: number).rows.keys).union(world.contexts[number]?.touched ?? [])
    world.contexts[parent]?.current = graph
    world.contexts[parent]?.touched.formUnion(touched)
    world.contexts[parent]?.isUndoOpen = true
    world.contexts[number]?.base = graph
    world.contexts[number]?.current = graph
    world.contexts[number]?.isUndoOpen = true
    world.settle(number)
  }

  private func isAnythingDangling(_ graph: Graph) -> Bool {
    graph.rows.values.contains { $0.references.values.contains { !graph.isLive($0) } }
  }

  /// Reads the graph that a context has. Rows that are the same as known ones keep their versions.
  private func graph(of context: ManagedObjectContext, _ known: Graph) throws -> Graph {
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
          for other in related { graph.pairs[table, default: []].insert(Graph.Pair(source: object, target: other)) }
        default: break
        }
        if relationship.isOrdered, !related.isEmpty {
          graph.orders[Graph.End(object: object, relationship: relationship.name)] = related
        }
      }
    }
    for (object, row) in graph.rows {
      guard let former = known.rows[object] else {
        graph.rows[object]?.version = 1
        continue
      }
      let isSame = row.holdsSame(as: former)
      graph.rows[object]?.version = former.version + (isSame ? 0 : 1)
      graph.rows[object]?.perhaps = former.perhaps + 1
    }
    return graph
  }

  private func reopen() throws {
    guard kind != .memory else { return }
    for number in world.contexts.keys { world.removeContext(number) }
    contexts = [:]
    held = [:]
    second = nil
    // The lock of a whole-file store ends with its coordinator.
    let model = schema.model
    container = PersistentContainer(try PersistentStoreCoordinator(model: model, at: .inMemory))
    container = PersistentContainer(try PersistentStoreCoordinator(model: model, at: Self.location(kind, url)))
    makeContext(0, parent: nil, hasUndo: false, coordinator: 0)
  }

  // MARK: - Comparing

  /// One side of a comparison: the graph that a context has, or the store.
  private struct View {
    var graph: Graph
    var schema: Schema
    /// Whether nothing is unsaved, so that derived attributes are settled.
    var isSettled: Bool
    var open: Set<ObjectNumber> = []
    var openEnds: Set<Graph.End> = []
    var place = ""
    var evaluation: Evaluation { Evaluation(graph: graph, schema: schema, open: open) }
  }

  private func view(_ number: ContextNumber) -> View {
    guard let context = world.contexts[number] else { return View(graph: Graph(), schema: schema, isSettled: false) }
    var isSettled = true
    let openness = world.openness(of: number)
    var next: ContextNumber? = number
    while let current = next {
      if !world.delta(of: current).isEmpty { isSettled = false }
      next = world.contexts[current]?.parent
    }
    return View(
      graph: context.current, schema: schema, isSettled: isSettled && context.parent == nil,
      open: openness.objects, openEnds: openness.ends, place: "c\(number)")
  }

  private func lookAtAll(_ context: ManagedObjectContext, _ number: ContextNumber) throws {
    let view = view(number)
    for root in schema.roots { try compareExtent(of: root, in: context, view) }
    for object in identifiers.keys.sorted() { try look(object, in: context, number) }
    try lookAtSets(context, number)
  }

  private func look(_ object: ObjectNumber, in context: ManagedObjectContext, _ number: ContextNumber) throws {
    let view = view(number)
    if view.open.contains(object) { return }
    guard view.graph.isLive(object) else {
      // Only who has met the object knows of its end.
      guard let known = world.contexts[number], known.parent == nil else { return }
      if known.hasRolledBack, KnownDefects.current.revivesVanishedAtRollback { return }
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
  private func compare(_ instance: ManagedObject, _ object: ObjectNumber, _ view: View) throws {
    guard let row = view.graph.rows[object] else { return }
    for attribute in schema.attributes(of: row.entity) {
      if attribute.derivation != nil {
        guard view.isSettled, let expected = view.evaluation.value(attribute.name, of: object) else { continue }
        try compare(instance, object, attribute.name, expected, view)
      } else {
        try compare(instance, object, attribute.name, row.values[attribute.name] ?? .null, view)
      }
    }
    if instance.isDeleted { throw Difference("o\(object) in \(view.place) is deleted; it should not be") }
    if instance.isInaccessible { throw Difference("o\(object) in \(view.place) is inaccessible; it should not be") }
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
        // What a getter says of an object whose deletion is to be refused, nothing says.
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

  private func compare(
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
  private func compareExtent(of entity: Int, in context: ManagedObjectContext, _ view: View) throws {
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

  private func sorted(_ objects: [ObjectNumber]) -> [ObjectNumber] {
    objects.sorted { (world.keys[$0] ?? 0) < (world.keys[$1] ?? 0) }
  }

  /// Compares `hasChanges` and the sets of changed objects.
  private func lookAtSets(_ context: ManagedObjectContext, _ number: ContextNumber) throws {
    let openness = world.openness(of: number)
    guard let reference = world.contexts[number], openness.objects.isEmpty, openness.ends.isEmpty else { return }
    let delta = world.delta(of: number)
    if context.hasChanges == delta.isEmpty, !delta.isEmpty || reference.touched.isEmpty {
      throw Difference("hasChanges of c\(number) is \(context.hasChanges); it should be \(!delta.isEmpty)")
    }
    func compare(_ name: String, _ objects: [ManagedObject], _ must: Set<ObjectNumber>, _ may: Set<ObjectNumber>)
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
    try compare("updatedObjects", context.updatedObjects, updated, touched)
  }

  /// Takes over orders that the documentation leaves open, as the runtime has them.
  private func adoptOrders() throws {
    for (number, context) in world.contexts {
      for end in context.current.openOrders {
        guard let object = contexts[number], context.current.isLive(end.object), context.open.isEmpty,
          schema.relationship(end.relationship) != nil
        else { continue }
        let order = try object.perform {
          try instance(end.object, number).value(forKey: end.relationship).objects.compactMap { numbers[$0.objectID] }
        }
        world.adopt(order, at: end, in: number)
      }
    }
  }

  // MARK: - Fetching

  private func request(_ entity: String, _ condition: Condition?) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: entity, where: try condition.map(predicate))
  }

  private func predicate(_ condition: Condition) throws -> FetchPredicate {
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

  private func fetch(_ query: Query, in context: ManagedObjectContext, _ number: ContextNumber) throws {
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
    if !view.openEnds.isEmpty, (names + derived).contains(where: { schema.relationship($0) != nil }) {
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
      isRight = Set(matches).subtracting(may).isSubset(of: actual) && Set(actual).isSubset(of: may.union(matches))
    } else {
      isRight = Set(actual).isSubset(of: may.union(matches))
    }
    guard isRight else {
      throw Difference(
        "\(describe(query)) in c\(number) gives \(actual.map { "o\($0)" }), not \(expected.map { "o\($0)" })")
    }
  }

  /// Nil comes first; else by value.
  private static func order(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    switch (left, right) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    default: Evaluation.order(left, right) ?? 0
    }
  }

  private func describe(_ query: Query) -> String {
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

  private func aggregate(
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
    var groups: [(key: AttributeValue, values: [AttributeValue])] = aggregation.groupBy == nil ? [(.null, [])] : []
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
        return .int(values.reduce(0) { sum, value in if case .int(let number) = value { sum + number } else { sum } })
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
          + "\(actual), not \(zip(groups.map(\.key), expected).map { "\(Literal.text($0)): \(Literal.text($1))" })")
    }
  }

  // MARK: - Batches

  private func batch(_ operation: Operation, in context: ManagedObjectContext, _ number: ContextNumber) throws {
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
        next.rows[object]?.values[attribute] = value
        next.rows[object]?.version += 1
      }
      mustFail = !objects.isEmpty && breaksRules(next, objects)
      do {
        let result = try context.execute(
          BatchUpdateRequest<ManagedObject>(
            try request(entity, condition), set: [.set(attribute, to: .attribute(value))]))
        if result.count != objects.count {
          throw Difference("the batch update of \(entity) counts \(result.count) objects, not \(objects.count)")
        }
      } catch let difference as Difference { throw difference } catch { thrown = error }
      // A value that no row may have is refused where there is no row too.
      if thrown != nil, objects.isEmpty { return }
      if thrown != nil, !mustFail, world.passes(objects, attribute) { return }
    case .batchDelete(_, let entity, let condition):
      guard let objects = chosen(entity, condition) else { return }
      next.delete(objects, schema)
      mustFail = !objects.isEmpty && (leavesDenied(next) || breaksRelationships(next))
      do {
        let result = try context.execute(BatchDeleteRequest<ManagedObject>(try request(entity, condition)))
        if result.count != objects.count {
          throw Difference("the batch deletion of \(entity) counts \(result.count) objects, not \(objects.count)")
        }
      } catch let difference as Difference { throw difference } catch { thrown = error }
    case .batchInsert(_, let object, let entity, let values):
      guard let index = schema.entities.firstIndex(where: { $0.name == entity }) else { return }
      var row = Graph.Row(entity: index, values: [:], version: 1)
      var given: [String: FetchedValue] = [:]
      for attribute in schema.attributes(of: index) where attribute.derivation == nil {
        row.values[attribute.name] = values[attribute.name] ?? attribute.defaultValue ?? .null
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
      next.rows[object]?.version = (world.store.rows[object]?.version ?? 0) + 1
    }
    world.store = next
    world.learn(number)
    try readFile()
  }

  private func breaksRules(_ graph: Graph, _ objects: [ObjectNumber]) -> Bool {
    var probe = world
    probe.store = graph
    return probe.breaksRules(objects)
  }

  private func leavesDenied(_ graph: Graph) -> Bool {
    graph.rows.values.contains { row in
      row.references.contains { key, target in
        !graph.isLive(target) && schema.relationship(key).flatMap(schema.inverse)?.rule == .deny
      }
    }
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
  private func breaksRelationships(_ graph: Graph) -> Bool {
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
      store.rows[object].map { schema.uniqueLists(of: $0.entity).contains { $0.keys.contains(attribute) } } ?? false
    }
  }
}
