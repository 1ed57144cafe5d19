import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Runs the custom mappings of a step. Source objects are read one after the other, and the objects that policies
/// create are saved in batches.
///
/// It is a class because the manager that policies receive shares it.
final class CustomWork: MigrationWork {
  /// The number of changed objects after which they are saved.
  private static let batchSize = 1000
  /// The number of bytes of large values after which they are saved.
  private static let batchBytes = 8 << 20

  private struct Item {
    let factory: MappedObjectFactory
    let policy: any EntityMigrationPolicy
  }

  let plan: StepPlan
  let session: MigrationSession
  let store: DestinationStore
  let source: ManagedObjectContext
  let destination: ManagedObjectContext
  let associations: Associations
  /// The first key beyond the keys of all mappings, by the index of the destination's root.
  private let firstFreeKeys: [Int: ObjectKey]
  private var items: [Item] = []
  /// The policies of mappings whose entities are not in the store, with their mappings. Only what generated code has
  /// attached to them for the whole step is called.
  private var policiesOfOthers: [(mapping: EntityMapping, policy: TypedMigrationPolicy)] = []
  private(set) var factories: [String: MappedObjectFactory] = [:]

  /// Set through the manager, by the policy that is running.
  var isCancelled = false
  var leavesRelationships = false
  private(set) var progress = 0.0
  /// An error that could not be thrown where it was found.
  private var mistake: MigrationError?

  /// The source object that is being migrated, its mapping, and the objects that have been created from it.
  private(set) var current: ManagedObject?
  private(set) var currentNumber = -1
  private var currentFactory: MappedObjectFactory?
  private var createdObjects: [ManagedObject] = []
  /// The keys that were used before their source objects were migrated, by mapping.
  private var usedKeys: [Int: Set<ObjectKey>] = [:]
  private var bytes = 0

  @_optimize(none)
  init(
    _ plan: StepPlan, _ session: MigrationSession,
    policies: [MigrationPolicies.Key: any EntityMigrationPolicy],
    source: PersistentStoreCoordinator, destination: PersistentStoreCoordinator, store: DestinationStore
  ) throws {
    self.plan = plan
    self.session = session
    self.store = store
    self.source = ManagedObjectContext(source)
    self.source.storeReader.hasStandIns = true
    self.destination = ManagedObjectContext(destination, importTarget: store)
    firstFreeKeys = store.nextKeys
    associations = try Associations(session)
    for (number, mapping) in plan.mapping.entityMappings.enumerated() where mapping.kind == .custom {
      guard let entity = mapping.destination.flatMap(plan.destination.entity) else { continue }
      let found = policies[plan.routeStep.policy(of: mapping.name)]
      guard entity.storeIndex == 0 else {
        if let policy = found as? TypedMigrationPolicy { policiesOfOthers.append((mapping, policy)) }
        continue
      }
      guard let policy = found else {
        throw plan.error(.missingPolicy(mapping: mapping.name), entity.name)
      }
      let factory = MappedObjectFactory(mapping, number: number, entity, of: plan)
      factories[mapping.name] = factory
      items.append(Item(factory: factory, policy: policy))
    }
  }

  /// The slots of references, in a mapping's objects, that can be set only after all objects were created.
  func deferredSlots(of mapping: EntityMapping) -> Set<Int> {
    Set(
      (factories[mapping.name]?.references ?? []).compactMap { slot, reference in
        if case .deferredSlots = reference { slot } else { nil }
      })
  }

  // MARK: The order of things

  private var shared: MigrationManager?

  private var manager: MigrationManager {
    if let shared { return shared }
    let manager = MigrationManager(
      sourceModel: plan.routeStep.source, destinationModel: plan.routeStep.destination,
      mappingModel: plan.mapping,
      sourceContext: source, destinationContext: destination, work: self)
    shared = manager
    return manager
  }

  /// Releases the manager, which holds this object.
  func finish() {
    shared = nil
    items.removeAll()
    policiesOfOthers.removeAll()
    current = nil
    createdObjects.removeAll()
  }

  /// Creates all objects.
  @_optimize(none)
  func create() throws {
    if try callForStep("begin", { try $0.beginStep($1) }) { try save() }
    for item in items {
      try hook("begin", item) { try $0.begin(item.factory.mapping, manager: manager) }
      try save()
    }
    let total = try items.reduce(Int64(1)) { try $0 + count($1) }
    var done: Int64 = 0
    for item in items {
      try stream(item, &done, total)
      try hook("endInstanceCreation", item) {
        try $0.endInstanceCreation(of: item.factory.mapping, manager: manager)
      }
      try save()
    }
    session.entity = nil
  }

  /// Creates the relationships that rules do not define, and calls the policies' last hooks.
  func relate() throws {
    // Rules wrote their relationships to the file, past the context.
    destination.refreshAllObjects()
    destination.registry.sweep()
    for (index, item) in items.enumerated() {
      report(0.7 + 0.15 * Double(index) / Double(items.count), item)
      leavesRelationships = false
      try relate(item)
      try hook("endRelationshipCreation", item) {
        try $0.endRelationshipCreation(of: item.factory.mapping, manager: manager)
      }
      try save()
    }
    if try callForStep("endRelationshipCreation", { try $0.endStep($1) }) { try save() }
    for item in items {
      try hook("validate", item) { try $0.validate(item.factory.mapping, manager: manager) }
    }
    try callForStep("validate") { try $0.validateStep($1) }
    for item in items { try hook("end", item) { try $0.end(item.factory.mapping, manager: manager) } }
    try save()
    session.entity = nil
  }

  private func report(_ part: Double, _ item: Item) {
    progress = part
    session.entity = item.factory.destination.name
    session.report(part)
  }

  private func count(_ item: Item) throws -> Int64 {
    guard let sourceMapping = item.factory.sourceMapping else { return 0 }
    return try session.count(of: sourceMapping)
  }

  // MARK: Hooks

  private func hook(
    _ name: String, _ item: Item, _ body: (any EntityMigrationPolicy) throws -> Void
  ) throws {
    session.entity = item.factory.destination.name
    try MigrationFaults.reach("\(name) of \(item.factory.mapping.name)")
    do { try body(item.policy) } catch { throw failed(error, item.factory.destination.name, nil) }
    try check()
  }

  /// Calls what policies of entities that are not in the store do for the whole step.
  ///
  /// - Returns: Whether there are such policies.
  @discardableResult
  private func callForStep(
    _ name: String, _ body: (TypedMigrationPolicy, MigrationManager) throws -> Void
  ) throws -> Bool {
    for (mapping, policy) in policiesOfOthers {
      session.entity = mapping.destination
      try MigrationFaults.reach("\(name) of \(mapping.name)")
      do { try body(policy, manager) } catch { throw failed(error, mapping.destination, nil) }
      try check()
    }
    return !policiesOfOthers.isEmpty
  }

  /// Throws if a policy has cancelled the migration, or if an error could not be thrown where it was found.
  @inline(__always) private func check() throws {
    if isCancelled { throw session.error(.cancelled) }
    if let mistake { throw mistake }
  }

  private func failed(_ error: any Error, _ entity: String?, _ key: ObjectKey?) -> any Error {
    if isCancelled { return session.error(.cancelled) }
    switch error {
    case is MigrationError, is CancellationError: return session.wrapped(error)
    case let error as SaveError: return translated(error)
    default:
      return plan.error(.policyFailed("\(error)"), entity, key)
    }
  }

  /// The migration's error for a failed save. It names the source row of the first invalid object.
  private func translated(_ error: SaveError) -> any Error {
    guard case .validation(let errors) = error, let first = errors.first else {
      return plan.error(.verificationFailed("\(error)"), session.entity)
    }
    return translated(first)
  }

  /// The text has the broken rule, and not the value that the description of the error would have.
  private func translated(_ error: ValidationError) -> MigrationError {
    let key = destination.registeredObject(for: error.objectID).flatMap(sourceKey)
    let property = error.property ?? ""
    let reason: MigrationError.Reason =
      error.reason == .missingValue
      ? .missingValue(property: property) : .invalidValue(property: property, reason: "it \(error.reason)")
    return plan.error(reason, error.entity, key)
  }

  /// Deletes the objects that break a rule, so that a rehearsal can continue and find all of them.
  ///
  /// - Parameter isReported: Whether the objects break rules only because others were deleted, which were reported
  ///   already.
  /// - Returns: False if nothing was deleted, or if an object is not in the context. The save would fail again.
  @_optimize(none)
  private func deleteInvalid(_ errors: [ValidationError], isReported: Bool, _ log: RehearsalLog) -> Bool {
    var isChanged = false
    for error in errors {
      guard let object = destination.registeredObject(for: error.objectID) else { return false }
      if !isReported { log.record(translated(error), of: origin(of: object)?.entity ?? error.entity, error) }
    }
    for error in errors {
      guard let object = destination.registeredObject(for: error.objectID), !object.isDeleted else {
        continue
      }
      destination.delete(object)
      isChanged = true
    }
    return isChanged
  }

  private func saveDestination() throws {
    var isReported = false
    while true {
      do {
        return try destination.save()
      } catch SaveError.validation(let errors) {
        guard let log = session.log, deleteInvalid(errors, isReported: isReported, log) else {
          throw SaveError.validation(errors)
        }
        isReported = true
      }
    }
  }

  // MARK: Making

  @_optimize(speed)
  private func stream(_ item: Item, _ done: inout Int64, _ total: Int64) throws {
    guard let sourceMapping = item.factory.sourceMapping else { return }
    let entity = sourceMapping.source
    guard let map = source.registry.map(of: entity) else { return }
    report(0.1 + 0.6 * Double(done) / Double(total), item)
    guard let rows = try source.reader().rows(of: sourceMapping) else { return }
    guard let kind = source.rowKind(of: entity, rows) else { return }
    let mapping = item.factory.mapping
    currentNumber = item.factory.number
    currentFactory = item.factory
    defer {
      current = nil
      currentFactory = nil
      currentNumber = -1
    }
    while try rows.next() {
      done += 1
      if done % 256 == 0 {
        try session.checkCancelled()
        if done % 4096 == 0 { report(0.1 + 0.6 * Double(done) / Double(total), item) }
      }
      source.registry.sweepIfDue(map)
      let key = try makeInstances(kind, rows, map, item, mapping)
      if destination.pending.count >= Self.batchSize || bytes > Self.batchBytes {
        createdObjects.removeAll(keepingCapacity: true)
        try save()
      }
      map.release(key)
    }
    createdObjects.removeAll()
    try save()
  }

  /// Calls the policy that creates the objects of one source row.
  ///
  /// - Returns: The key of the source object. The object itself is not held any longer.
  @_optimize(speed)
  private func makeInstances(
    _ kind: ManagedObjectContext.RowKind, _ rows: RowCursor, _ map: IdentityMap, _ item: Item,
    _ mapping: EntityMapping
  ) throws -> ObjectKey {
    guard let object = source.object(of: kind, rows, map) else { return 0 }
    guard try item.factory.accepts(object) else { return object.key }
    current = object
    defer { current = nil }
    createdObjects.removeAll(keepingCapacity: true)
    do {
      try item.policy.createDestinationInstances(for: object, in: mapping, manager: manager)
    } catch {
      // The policy itself may have saved its objects.
      let isLeftOut: Bool
      if let log = session.log, !isCancelled, case SaveError.validation(let errors) = error {
        isLeftOut = deleteInvalid(errors, isReported: false, log)
      } else {
        isLeftOut = false
      }
      let error = failed(error, item.factory.destination.name, object.key)
      guard
        isLeftOut
          || (error as? MigrationError).map({ session.log?.record($0, of: object.entity.name) }) == true
      else { throw error }
      // A rehearsal continues without the objects of this row, to find all rows that fail.
      for object in createdObjects { destination.delete(object) }
    }
    try check()
    return object.key
  }

  /// Saves the created objects, and releases them.
  private func save() throws {
    try check()
    try session.checkCancelled()
    guard source.pending.isEmpty else {
      throw plan.error(.policyFailed("objects of the old version were changed"), session.entity)
    }
    // An object that could not be read must not be lost silently.
    if let error = source.recentErrors.first {
      throw plan.error(.verificationFailed("\(error)"), session.entity)
    }
    bytes = 0
    do {
      try noteReplaced()
      try saveDestination()
    } catch let error as SaveError {
      throw translated(error)
    } catch {
      throw session.wrapped(error)
    }
    if let failure = store.failure { throw session.wrapped(failure) }
    destination.registry.sweep()
  }

  /// Records the to-many relationships that were replaced as a whole.
  private func noteReplaced() throws {
    for object in destination.pending {
      for entry in object.extras?.toMany ?? [] where entry.state.isReplaced {
        entry.state.isReplaced = false
        guard let relationship = object.scope.plan.relationship(entry.slot) else { continue }
        try associations.replace(relationship.path, of: object)
      }
    }
  }

  @_optimize(speed)
  func make(for source: ManagedObject, inMappingNamed name: String) throws -> ManagedObject {
    // It is usually the current mapping.
    if let currentFactory, currentFactory.mapping.name == name {
      return try make(for: source, currentFactory)
    }
    guard let factory = factories[name] else {
      guard let mapping = plan.mapping.entityMapping(named: name) else {
        throw FetchError.unknownEntity(name)
      }
      throw plan.error(
        .policyFailed("the entity mapping '\(name)' is not custom, so its rules create the objects"),
        mapping.destination)
    }
    return try make(for: source, factory)
  }

  @_optimize(speed)
  private func make(for source: ManagedObject, _ factory: MappedObjectFactory) throws -> ManagedObject {
    let scope = destination.registry.scope(of: factory.destination)
    var key: ObjectKey = 0
    if source.scope.plan === factory.source, try isFree(source, factory) { key = source.key + factory.offset }
    let seed =
      key == 0
      ? ObjectSeed(inserting: scope, in: destination, isComplete: true)
      : ObjectSeed(inserting: scope, key: key, in: destination)
    let object = ManagedObject(_seed: seed)
    if factory.source != nil { try factory.fill(object, from: source) }
    if key == 0 { try associations.add(factory.number, source: source, destination: object) }
    if source === current { createdObjects.append(object) }
    for slot in factory.destination.largeSlots {
      if case .data(let value)? = object.extras?.values[slot] { bytes += value.count }
    }
    return object
  }

  /// Whether the key of a source object was still free in a mapping. The call marks the key as used.
  @_optimize(speed)
  private func isFree(_ source: ManagedObject, _ factory: MappedObjectFactory) throws -> Bool {
    if source === current, factory.number == currentNumber {
      return createdObjects.isEmpty && usedKeys[factory.number]?.contains(source.key) != true
    }
    guard usedKeys[factory.number, default: []].insert(source.key).inserted else { return false }
    let key = source.key + factory.offset
    if destination.registered(key, root: factory.destination.root) != nil { return false }
    return try destination.fetchObject(key, factory.destination) == nil
  }

  func associate(_ source: ManagedObject, with object: ManagedObject, in mapping: EntityMapping) {
    guard let factory = factories[mapping.name], source.scope.context === self.source,
      object.scope.context === destination, object.key != 0
    else {
      mistake = plan.error(
        .policyFailed(
          factories[mapping.name] == nil
            ? "the entity mapping '\(mapping.name)' is not custom, so its rules create the objects"
            : "objects of other contexts were associated"), mapping.destination, source.key)
      return
    }
    if source.scope.plan === factory.source, object.scope.plan === factory.destination,
      object.key == source.key + factory.offset
    {
      return
    }
    do {
      try associations.add(factory.number, source: source, destination: object)
    } catch {
      mistake = plan.error(.system("\(error)"), mapping.destination, source.key)
    }
    if source.scope.plan === factory.source { factory.relate(object, to: source) }
    if source === current { createdObjects.append(object) }
  }

  func associateIfNeeded(_ source: ManagedObject, with object: ManagedObject, in mapping: EntityMapping) {
    if !createdObjects.contains(where: { $0 === object }) { associate(source, with: object, in: mapping) }
  }

  func discardCreated() {
    for object in createdObjects { destination.delete(object) }
    createdObjects.removeAll()
  }

  // MARK: Relationships

  private func relate(_ item: Item) throws {
    let plan = item.factory.destination
    func visit(_ objects: [ManagedObject]) throws {
      for object in objects where !leavesRelationships && !object.isDeleted {
        do {
          try item.policy.createRelationships(for: object, in: item.factory.mapping, manager: manager)
        } catch { throw failed(error, plan.name, sourceKey(object)) }
        try check()
      }
      if destination.pending.count >= Self.batchSize { try save() }
    }
    var last: ObjectKey = -1
    var end = ObjectKey.max
    if let sourceMapping = item.factory.sourceMapping {
      last = sourceMapping.offset
      end = sourceMapping.offset + (self.plan.nextSourceKeys[sourceMapping.source.root] ?? 0)
    } else {
      last = (firstFreeKeys[plan.root] ?? 1) - 1
    }
    while !leavesRelationships {
      try session.checkCancelled()
      try MigrationFaults.reach("createRelationships of \(item.factory.mapping.name)")
      _ = try destination.reader()
      let rows = try store.rows(of: plan, after: last, before: end, count: 500)
      let objects = try destination.objects(from: rows, of: plan)
      guard let highest = objects.last?.key else { break }
      last = highest
      try visit(try objects.filter { try isOf(item, $0) })
      destination.registry.sweep()
    }
    var id: Int64 = -1
    while !leavesRelationships, item.factory.sourceMapping != nil {
      let batch = try associations.batch(of: item.factory.number, after: id, limit: 500)
      guard let highest = batch.last?.id else { break }
      id = highest
      try visit(
        batch.compactMap { try destination.fetchObject($0.key, destination.model.entities[$0.entity]) })
      destination.registry.sweep()
    }
  }

  /// Whether a mapping created an object, if the object's key is in the mapping's range. Sources of one hierarchy share
  /// that range.
  private func isOf(_ item: Item, _ object: ManagedObject) throws -> Bool {
    guard let sourceMapping = item.factory.sourceMapping else { return true }
    guard sourceMapping.source.hasEntityColumn else { return true }
    return try source.fetchObject(object.key - sourceMapping.offset, sourceMapping.source)?.scope.plan
      === sourceMapping.source
  }
}

// Associations between source objects and destination objects.
extension CustomWork {
  func destinations(of sources: [ManagedObject], in name: String?) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    for source in sources {
      for (number, mapping) in plan.mapping.entityMappings.enumerated()
      where name == nil || mapping.name == name {
        if let sourceMapping = plan.sourceMappings.first(where: { $0.mapping.name == mapping.name }),
          sourceMapping.source === source.scope.plan, let object = try destination(of: source, sourceMapping)
        {
          result.append(object)
        }
        guard mapping.kind == .custom else { continue }
        for further in try associations.destinations(of: source, in: number) {
          let entity = destination.model.entities[further.entity]
          let object =
            try destination.registered(further.key, root: entity.root)
            ?? destination.fetchObject(further.key, entity)
          if let object, !object.isDeleted { result.append(object) }
        }
      }
    }
    return result
  }

  private func destination(of source: ManagedObject, _ sourceMapping: StepPlan.SourceMapping) throws
    -> ManagedObject?
  {
    let key = source.key + sourceMapping.offset
    if let object = destination.registered(key, root: sourceMapping.destination.root) {
      return object.scope.plan === sourceMapping.destination && !object.isDeleted && !object.isInaccessible
        ? object : nil
    }
    if sourceMapping.isUnrestricted { return destination.makeFault(key, sourceMapping.destination) }
    // The current source object has no destination objects in the store yet, only in memory.
    if source === current, sourceMapping.isCustom,
      sourceMapping.mapping.name == plan.mapping.entityMappings[currentNumber].name
    {
      return nil
    }
    let object = try destination.fetchObject(key, sourceMapping.destination)
    return object?.scope.plan === sourceMapping.destination ? object : nil
  }

  func sources(of objects: [ManagedObject], in name: String?) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    for object in objects {
      for sourceMapping in plan.sourceMappings
      where (name == nil || sourceMapping.mapping.name == name)
        && sourceMapping.destination === object.scope.plan
        && object.key > sourceMapping.offset
      {
        let key = object.key - sourceMapping.offset
        let found =
          try source.registered(key, root: sourceMapping.source.root)
          ?? source.fetchObject(key, sourceMapping.source)
        if let found, found.scope.plan === sourceMapping.source { result.append(found) }
      }
      for other in try associations.sources(of: object)
      where name == nil || plan.mapping.entityMappings[other.mapping].name == name {
        let found =
          try source.registered(other.key, root: other.root)
          ?? source.fetchObject(other.key, source.model.entities[other.root])
        if let found { result.append(found) }
      }
    }
    return result
  }

  /// The source entity and the key of the row that an object was created from; nil if it has no source row.
  private func origin(of object: ManagedObject) -> (entity: String, key: ObjectKey)? {
    for factory in factories.values {
      guard let sourceMapping = factory.sourceMapping, sourceMapping.destination === object.scope.plan else {
        continue
      }
      let key = object.key - sourceMapping.offset
      if key > 0, key < plan.nextSourceKeys[sourceMapping.source.root] ?? 0 {
        return (sourceMapping.source.name, key)
      }
    }
    guard let other = (try? associations.sources(of: object))?.first else { return nil }
    let name = plan.mapping.entityMappings[other.mapping].source
    return (name ?? source.model.entities[other.root].name, other.key)
  }

  /// The key of the row that an object was created from; nil if it has no source row.
  private func sourceKey(_ object: ManagedObject) -> ObjectKey? { origin(of: object)?.key }
}
