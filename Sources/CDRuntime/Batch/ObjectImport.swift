import CDModel

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The insertion of many objects in one transaction and in bounded memory, with keys that the caller chooses.
///
/// The caller first inserts all objects. A reference may lead to an object that follows later. Then the caller sets the
/// relationships that other rows contain. Every rule of the schema is checked, and derived attributes are computed. The
/// methods of ``ManagedObjectLifecycle`` are not called. Large values of `external:` attributes are written to files, as a
/// save does.
package final class ObjectImport {
  private let run: BatchRun
  private let target: Target
  private let context: ManagedObjectContext
  private var model: ModelPlan { context.model }
  /// The keys of the inserted objects, by the index of their entity.
  private var inserted: [Int: KeyRanges] = [:]
  /// The first and the last key of inserted objects, by the index of the root entity.
  private var bounds: [Int: (first: ObjectKey, last: ObjectKey)] = [:]
  /// The first key that no object had before, by the index of the root entity.
  private var firstKeys: [Int: ObjectKey] = [:]
  /// The first key that later objects may have, by the index of the root entity.
  private var reserved: [Int: ObjectKey] = [:]
  /// Mandatory references that have no value yet.
  private var unset: [(slot: PropertyPlan, entity: EntityPlan, key: ObjectKey)] = []
  /// Objects that were in the store before, and whose number of related objects has changed, by relationship.
  private var counted: [(relationship: RelationshipPlan, keys: Set<ObjectKey>)] = []
  /// Objects that were in the store before, and whose relationships have changed, by the name of the relationship and the
  /// index of their entity. Empty if no attribute of the model is derived.
  private var changed: [String: [Int: KeyRanges]] = [:]
  /// The keys of inserted objects with a derived value that the caller has given, by the index of their entity and the slot.
  private var given: [Int: [Int: KeyRanges]] = [:]
  /// Whether the import computes a derived attribute, by the names of the entity and the attribute.
  private var computed: [String: [String: Bool]] = [:]
  private var pendingCount = 0
  private var pendingBytes = 0
  /// The number of inserted objects.
  package private(set) var count = 0

  private static let batchSize = 500
  private static let batchBytes = 4 << 20
  private static let chunk = 10_000

  fileprivate init(
    _ run: BatchRun, _ session: any StoreWriteSession, _ files: ListedFiles,
    _ coordinator: PersistentStoreCoordinator
  ) {
    self.run = run
    target = Target(session, files, coordinator.plan)
    context = ManagedObjectContext(coordinator, importTarget: target)
  }

  /// The UUID of the store that holds an entity's objects.
  ///
  /// - Throws: ``StoreError/noStore(entity:)``, ``FetchError/unknownEntity(_:suggestion:)``.
  package func storeID(ofEntity name: String) throws -> UUID {
    guard let store = run.stores.store(of: try plan(name)) else { throw StoreError.noStore(entity: name) }
    return store.storeID
  }

  /// The first key that no object of an entity's hierarchy has ever had.
  package func firstKey(ofEntity name: String) throws -> Int64 { try firstKey(of: try plan(name)) }

  private func firstKey(of plan: EntityPlan) throws -> ObjectKey {
    if let known = firstKeys[plan.root] { return known }
    // Once there are new rows, the store's own counter is behind them.
    let key = try run.rows.firstKey(of: plan)
    firstKeys[plan.root] = key
    return key
  }

  /// Excludes keys of an entity's hierarchy from use by new objects.
  package func reserve(upTo key: Int64, ofEntity name: String) throws {
    let plan = try plan(name)
    reserved[plan.root] = max(
      min(key, KeyRanges.largestKey), try firstKey(of: plan), reserved[plan.root] ?? 1)
  }

  /// Whether the store has an object of an entity or one of its subentities.
  package func hasObject(_ key: Int64, ofEntity name: String) throws -> Bool {
    let plan = try plan(name)
    let rows = try target.session.row(key, inSubtreeOf: plan)
    defer { rows.close() }
    return try rows.next()
  }

  /// Whether an entity's own rows contain the reference of a relationship. ``insert(entity:key:references:size:_:)`` sets
  /// such a relationship, and ``relate(entity:key:relationship:to:)`` sets any other one.
  package func isReference(_ relationship: String, ofEntity name: String) throws -> Bool {
    guard let found = try plan(name).slot(relationship)?.relationship, !found.isSymmetric,
      case .reference = found.storage
    else { return false }
    return true
  }

  /// Whether the import computes the value of a derived attribute:
  /// see ``ManagedObjectContext/canDeriveAgain(_:ofEntity:)``. The caller gives any other value.
  package func computes(_ attribute: String, ofEntity name: String) -> Bool {
    if let known = computed[name]?[attribute] { return known }
    let result = context.canDeriveAgain(attribute, ofEntity: name)
    computed[name, default: [:]][attribute] = result
    return result
  }

  private func plan(_ name: String) throws -> EntityPlan {
    guard let plan = model.entity(name) else { throw FetchError.unknownEntity(name) }
    return plan
  }

  /// Inserts an object. It is written at once or with one of the next objects.
  ///
  /// - Parameters:
  ///   - key: An unused key, not below ``firstKey(ofEntity:)``.
  ///   - references: Keys of related objects, by the names of relationships for which ``isReference(_:ofEntity:)`` is
  ///     true. The caller makes sure that these objects exist in the end.
  ///   - derived: Values of derived attributes for which ``computes(_:ofEntity:)`` is false. If a value is not given, it is
  ///     computed.
  ///   - size: The approximate number of bytes of the values.
  ///   - fill: Sets the attributes.
  /// - Returns: The identifier of the object.
  /// - Throws: The errors of `fill`, and those of ``ManagedObjectContext/save()`` for this object and others before it.
  @discardableResult
  package func insert(
    entity name: String, key: Int64, references: [(relationship: String, key: Int64)],
    derived: [(attribute: String, value: AttributeValue)] = [], size: Int,
    _ fill: (ManagedObject) throws -> Void
  ) throws -> ManagedObjectID {
    let plan = try plan(name)
    guard key > 0, key < KeyRanges.largestKey else {
      throw StoreError.damagedKeys(
        run.stores.store(of: plan)?.url ?? URL(filePath: "/"), entity: model.entities[plan.root].name)
    }
    _ = try firstKey(of: plan)
    target.key = key
    target.references = []
    for (relationship, key) in references {
      guard let found = plan.slot(relationship)?.relationship else { continue }
      target.references.append((found.slot, key))
      try noteTarget(key, found)
    }
    let object = try context.insert(entityNamed: name)
    for slot in target.unset(of: object) { unset.append((plan.slots[slot], plan, key)) }
    try fill(object)
    for (attribute, value) in derived {
      guard let slot = plan.slot(attribute), slot.isStored, let value = slot.storageType?.fitted(value),
        value != .null || slot.attribute?.isOptional == true
      else { continue }
      object.setStoredValues([slot.number: value])
      given[plan.index, default: [:]][slot.number, default: KeyRanges()].append(key)
    }
    inserted[plan.index, default: KeyRanges()].append(key)
    let known = bounds[plan.root] ?? (key, key)
    bounds[plan.root] = (min(known.first, key), max(known.last, key))
    count += 1
    try noteChange(size)
    return object.objectID
  }

  /// Notes an object that was in the store before, if its inverse relationship has a rule on the number of objects.
  private func noteTarget(_ key: ObjectKey, _ relationship: RelationshipPlan) throws {
    guard let inverse = run.inverse(of: relationship), BatchRun.hasCountRule(inverse),
      run.stores.store(of: model.entities[relationship.destination]) != nil,
      try key < firstKey(of: model.entities[relationship.destination])
    else { return }
    noteCounted(key, inverse)
  }

  private func noteCounted(_ key: ObjectKey, _ relationship: RelationshipPlan) {
    if let index = counted.firstIndex(where: { $0.relationship === relationship }) {
      counted[index].keys.insert(key)
    } else {
      counted.append((relationship, [key]))
    }
  }

  /// Relates an object to others. Objects that the relationship already has stay in it, after the given ones.
  ///
  /// - Throws: ``Contradiction``; the errors of ``ManagedObjectContext/save()`` for this object and others before it.
  package func relate(entity name: String, key: Int64, relationship: String, to keys: [Int64]) throws {
    let plan = try plan(name)
    guard let found = plan.slot(relationship)?.relationship,
      let object = try context.fetchObject(key, plan)
    else { return }
    let destination = model.entities[found.destination]
    let map = context.registry.map(of: destination)
    let missing = keys.filter { map?[$0] == nil }
    var held: [ManagedObject] = []
    if !missing.isEmpty {
      held = try context.objects(
        from: target.session.rows(missing, inSubtreeOf: destination), of: destination)
    }
    let related = keys.compactMap { context.registered($0, root: destination.root) }
    try checkPartners(of: object, found, related)
    withExtendedLifetime(held) {
      if found.isToMany {
        let given = Set(related)
        object.setRelatedObjects(
          related + object.relatedObjects(found).filter { !given.contains($0) }, found)
      } else {
        object.setRelatedObject(related.first, found)
      }
    }
    try noteChange(32 * keys.count)
  }

  /// The import relates an object to two others, by a relationship that takes one.
  package struct Contradiction: Error {
    /// The key of the object among the given ones; nil if it is the object to which they were to be related.
    package let given: Int64?
    /// The relationship that takes one object.
    package let relationship: String
    /// The object to which the relationship leads already.
    package let former: ManagedObjectID
  }

  /// Refuses to take a partner away that this import has set. Otherwise the order of the calls would decide which of the
  /// partners remains. Partners from before the import can be replaced.
  ///
  /// - Parameter related: The objects that become related to the object.
  private func checkPartners(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ related: [ManagedObject]
  ) throws {
    guard let inverse = run.inverse(of: relationship) else { return }
    let root = object.scope.plan.root
    let otherRoot = model.entities[relationship.destination].root
    if case .reference = inverse.storage {
      for other in related {
        other._willRead()
        // A placeholder is negative.
        let former = other.referenceKey(inverse.slot)
        guard former > 0, former != object.key,
          try isNew(other.key, root: otherRoot) || isNew(former, root: root)
        else { continue }
        throw Contradiction(
          given: other.key, relationship: inverse.name, former: try identifier(former, root, object))
      }
    }
    guard !relationship.isToMany, let other = related.first else { return }
    let former: ObjectKey
    if case .inverseReference = relationship.storage {
      former = context.partner(of: object, relationship)?.key ?? 0
    } else {
      object._willRead()
      former = object.referenceKey(relationship.slot)
    }
    guard former > 0, former != other.key else { return }
    throw Contradiction(
      given: nil, relationship: relationship.name, former: try identifier(former, otherRoot, other))
  }

  /// Whether this import has inserted an object.
  private func isNew(_ key: ObjectKey, root: Int) throws -> Bool {
    try key >= firstKey(of: model.entities[root])
  }

  /// The identifier of an object in the same store as a neighbour.
  private func identifier(
    _ key: ObjectKey, _ root: Int, _ neighbour: ManagedObject
  ) throws -> ManagedObjectID {
    try context.fetchObject(key, model.entities[root])?.objectID
      ?? ManagedObjectID(
        storeID: neighbour.scope.storeID, entityName: model.entities[root].name, key: key)
  }

  /// Relates an object to objects of stores that are not open, in the order of the list.
  ///
  /// - Parameter others: The objects of a relationship for which
  ///   ``ManagedObjectContext/leadsOutside(_:ofEntity:)`` is true and ``isReference(_:ofEntity:)`` is false.
  /// - Returns: False if the rows of the other store contain the relationship.
  package func relate(
    entity name: String, key: Int64, relationship: String, toOutside others: [OutsideReference]
  ) throws -> Bool {
    guard let found = try plan(name).slot(relationship)?.relationship,
      case .join(let index, isSource: true) = found.storage
    else { return false }
    try target.relate(key, found, join: index, others, run.inverse(of: found))
    return true
  }

  private func noteChange(_ size: Int) throws {
    pendingCount += 1
    pendingBytes += size
    if pendingCount >= Self.batchSize || pendingBytes >= Self.batchBytes { try save() }
  }

  /// Writes the objects that have not been written yet.
  package func save() throws {
    pendingCount = 0
    pendingBytes = 0
    if context.hasChanges { try context.save() }
    context.reset()
    try noteChanges()
  }

  /// Notes the changes of objects that were in the store before: a new object may take what they had.
  ///
  /// The history names these objects as it does after a save. Their rules and their derived attributes are looked at in the
  /// end, because later objects of the import may change them again.
  private func noteChanges() throws {
    let changes = target.changes
    target.changes.removeAll(keepingCapacity: true)
    for (key, slots, isWritten) in changes {
      let plan = model.entities[key.entity]
      guard try !isNew(key.key, root: plan.root) else { continue }
      let properties = plan.slots.filter { slots.contains($0.number) }
      if isWritten { run.noteUpdated([key], properties.map(\.name)) }
      for property in properties {
        if model.hasDerivedSlots {
          changed[property.name, default: [:]][key.entity, default: KeyRanges()].append(key.key)
        }
        guard let relationship = property.relationship, BatchRun.hasCountRule(relationship) else { continue }
        if case .reference = relationship.storage { continue }
        noteCounted(key.key, relationship)
      }
    }
  }

  // MARK: The end

  /// Checks the rules that concern several rows, and computes derived attributes.
  @_optimize(none)
  fileprivate func finish() throws -> Int {
    try save()
    // The import cannot begin again, as other batches do if somebody has saved meanwhile.
    let read = Set(inserted.keys).union(changed.values.flatMap(\.keys))
    try run.willRead(from: read.sorted().map { model.entities[$0] })
    try checkUnset()
    for (root, bounds) in bounds {
      reserved[root] = max(bounds.last + 1, firstKeys[root] ?? 1, reserved[root] ?? 1)
    }
    for (root, key) in reserved { try run.rows.reserve(upTo: key, of: model.entities[root]) }
    for (entity, keys) in inserted {
      for range in KeyRanges.normalized(keys.ranges) { run.noteInserted(range, of: model.entities[entity]) }
    }
    for entity in Array(inserted.keys).sorted() { try appendPositions(of: model.entities[entity]) }
    for (relationship, keys) in counted { try run.checkCounts(of: relationship, of: keys.sorted()) }
    for entity in Array(inserted.keys).sorted() {
      let plan = model.entities[entity]
      for case let relationship? in plan.relationships where BatchRun.hasCountRule(relationship) {
        if case .reference = relationship.storage { continue }
        // The other store contains the references, and is not open.
        if case .join = relationship.storage {
        } else if run.stores.store(of: model.entities[relationship.destination]) == nil {
          continue
        }
        try forEachChunk(of: inserted[entity]) { try run.checkCounts(of: relationship, of: $0) }
      }
    }
    run.givenValues = given.mapValues { $0.mapValues { KeyRanges.normalized($0.ranges) } }
    if model.hasDerivedSlots {
      for entity in Array(inserted.keys).sorted() {
        try forEachChunk(of: inserted[entity]) { keys in
          let keys = keys.map { FetchedKey(key: $0, entity: entity) }
          try run.derive(new: keys, own: [], others: run.dependents(of: keys, nil))
        }
      }
      try deriveForChanged()
    }
    return count
  }

  /// Computes the derived attributes that depend on the relationships of objects that were in the store before.
  ///
  /// Both ends of a pair that no longer exists have changed. So the objects that have read the pair are found from these
  /// ends, by the relationships that exist now.
  @_optimize(none)
  private func deriveForChanged() throws {
    for (name, entities) in changed.orderedByKey() {
      for (entity, keys) in entities.orderedByKey() {
        try forEachChunk(of: keys) { keys in
          let keys = keys.map { FetchedKey(key: $0, entity: entity) }
          try run.derive(own: [], others: keys + run.dependents(of: keys, [name]))
        }
      }
    }
  }

  private func checkUnset() throws {
    var mistakes: [BatchMistake] = []
    for (slot, entity, key) in unset where mistakes.count < BatchRowWriter.maximumMistakes {
      guard let object = try context.fetchObject(key, entity), object.referenceKey(slot.number) < 0 else {
        continue
      }
      mistakes.append(
        BatchMistake(
          entity: entity.name, property: slot.name, reason: .missingValue, objectID: object.objectID))
    }
    context.reset()
    if !mistakes.isEmpty { throw BatchError.invalid(mistakes) }
  }

  /// Gives positions to the new objects of ordered relationships whose order was not given.
  private func appendPositions(of plan: EntityPlan) throws {
    guard let bounds = bounds[plan.root] else { return }
    for case let relationship? in plan.relationships {
      guard case .reference = relationship.storage, let inverse = run.inverse(of: relationship) else {
        continue
      }
      // All rows of the table in this range are new.
      try run.rows.appendPositions(
        inverse, plan, .range(bounds.first..<bounds.last + 1, and: []), moved: [], gap: Positions.gap)
    }
  }

  private func forEachChunk(of all: KeyRanges?, _ body: ([ObjectKey]) throws -> Void) throws {
    var keys: [ObjectKey] = []
    for range in KeyRanges.normalized(all?.ranges ?? []) {
      for key in range {
        keys.append(key)
        if keys.count == Self.chunk {
          try body(keys)
          keys.removeAll(keepingCapacity: true)
        }
      }
    }
    if !keys.isEmpty { try body(keys) }
  }
}

extension ObjectImport {
  /// The open transaction, as the store of the importing context.
  private final class Target: ImportTarget {
    /// The key and the references of the object that is about to be inserted.
    var key: ObjectKey = 0
    var references: [(slot: Int, key: ObjectKey)] = []
    /// The objects with rows that the last save has changed, with the changed properties. Nothing of an object is written if
    /// only the reference of its partner has changed.
    var changes: [(key: FetchedKey, slots: SlotSet, isWritten: Bool)] = []
    private let writer: any StoreWriteSession
    private let files: ListedFiles
    /// The slots of mandatory references in the entity's own table, by the index of the entity.
    private let mandatorySlots: [[Int]]

    @_optimize(none)
    init(_ writer: any StoreWriteSession, _ files: ListedFiles, _ model: ModelPlan) {
      self.writer = writer
      self.files = files
      mandatorySlots = model.entities.map { entity in
        entity.slots.filter { $0.isStored && $0.relationship?.description.isOptional == false }
          .map(\.number)
      }
    }

    var session: any StoreSession { writer.reader }
    var listedFiles: ListedFiles? { files }

    func nextKey(for plan: EntityPlan) -> ObjectKey { key }

    /// Sets the references. A mandatory one without a value gets a key that no row has, and that is unique for references
    /// of one-to-one relationships.
    func prepare(_ object: ManagedObject) {
      for slot in mandatorySlots[object.scope.plan.index] { object.extras?.values[slot] = .int(-object.key) }
      for (slot, key) in references { object.extras?.values[slot] = .int(key) }
    }

    /// The mandatory references of a new object that have no value.
    func unset(of object: ManagedObject) -> [Int] {
      mandatorySlots[object.scope.plan.index].filter { object.referenceKey($0) < 0 }
    }

    /// Writes pairs of an object with objects of a store that is not open.
    func relate(
      _ key: ObjectKey, _ relationship: RelationshipPlan, join: Int, _ others: [OutsideReference],
      _ inverse: RelationshipPlan?
    ) throws {
      try writer.writePart {
        try writer.insertPairs(ofJoin: join, key, others.map(\.number))
        if relationship.isOrdered {
          for change in Positions.renumbered(others.map(\.number)) {
            try writer.setPosition(change.position, of: change.key, relationship, of: key, isNew: false)
          }
        }
        for other in others {
          // Without an order, the rows of the join table have no position.
          guard let inverse, inverse.isOrdered, let position = other.inversePosition else { continue }
          try writer.setPosition(position, of: key, inverse, of: other.number, isNew: false)
        }
      }
    }

    func willWriteFiles(_ names: [String]) throws {}
    func index(_ relationship: RelationshipPlan) throws {}

    func write(_ plan: SavePlan, of context: ManagedObjectContext) throws {
      for object in context.pending where object.flags.isDisjoint(with: [.inserted, .deleted]) {
        guard let extras = object.extras else { continue }
        try checkReferences(of: object, extras.changed)
        let isWritten =
          object.flags.contains(.updated) || extras.toMany.contains(where: { $0.state.isChanged })
        changes.append(
          (FetchedKey(key: object.key, entity: object.scope.plan.index), extras.changed, isWritten))
      }
      let run = try SaveRun(
        context: context, session: writer, plan: plan,
        changeCount: context.pendingChanges.changeCount)
      try run.writeInTransaction()
    }

    /// Throws if an object has lost a mandatory reference, because a new object has taken its partner.
    private func checkReferences(of object: ManagedObject, _ changed: SlotSet) throws {
      let plan = object.scope.plan
      for slot in mandatorySlots[plan.index] where changed.contains(slot) && object.referenceKey(slot) == 0 {
        throw BatchError.invalid([
          BatchMistake(
            entity: plan.name, property: plan.slots[slot].name, reason: .missingValue,
            objectID: object.objectID)
        ])
      }
    }
  }
}

extension ManagedObjectContext {
  /// Imports objects in one transaction. Other contexts see either all of them or none.
  ///
  /// - Parameters:
  ///   - largeValueCount: The greatest number of values that are so large that a file is written for them. Rows contain
  ///     the large values beyond this number.
  ///   - body: Inserts the objects.
  /// - Returns: The number of inserted objects.
  /// - Throws: The errors of the body; ``SaveError``, ``BatchError`` or ``StoreError``. Nothing has been written then, except
  ///   with ``BatchError/partlyWritten(written:missing:reason:)``.
  @discardableResult
  package func importObjects(
    largeValueCount: Int = 0, _ body: (ObjectImport) throws -> Void
  ) throws -> Int {
    guard let plan = model.entities.first(where: { storeReader.hasStore(of: $0) }) else { return 0 }
    return try learningOfBatch {
      try engine.write { session in
        let files = try ListedFiles(count: largeValueCount, session)
        let run = BatchRun(self, session, plan, excludesOthers: true)
        do {
          return try run.run(namesNew: true) {
            let objects = ObjectImport(run, session, files, persistentStoreCoordinator)
            try body(objects)
            let count = try objects.finish()
            try files.keep()
            return count
          }
        } catch {
          files.discard(after: error)
          throw error
        }
      }
    }.count
  }

  /// Calls a body with each stored object of exactly one entity, in the order of the keys. All of them come from one state
  /// of the store, and each is released after its call.
  ///
  /// - Throws: The errors of the body; ``FetchError/unknownEntity(_:suggestion:)``; ``StoreError``.
  package func forEachObject(ofEntity name: String, _ body: (ManagedObject) throws -> Void) throws {
    guard let plan = model.entity(name) else { throw FetchError.unknownEntity(name) }
    try perform {
      var last: ObjectKey = 0
      while let batch = try reader().rows(ofSubtree: plan, isOwn: true, after: last, count: 500) {
        last = batch.last
        try forEach(try objects(from: batch.rows, of: plan), body)
        registry.sweep()
      }
    }
  }

  /// Whether a relationship must be listed in a dump of its object: the rows of the related objects do not tell it, or not
  /// in which order. The rows of a store that this context does not have tell their side of a relationship.
  package func isListed(_ relationship: String, ofEntity name: String) -> Bool {
    guard let found = model.entity(name)?.slot(relationship)?.relationship else { return false }
    let isOutside = !storeReader.hasStore(of: model.entities[found.destination])
    switch found.storage {
    case .reference: return true
    case .inverseReference: return false
    case .referencesOfOthers: return found.isOrdered && !isOutside
    case .join(_, let isSource): return isSource || found.isOrdered && !isOutside
    }
  }

  /// Whether the value of a derived attribute can be computed again from the objects of this context's stores.
  ///
  /// This is not so if the value depends on the time or on chance, or on objects of a store that this context does not have.
  /// A dump has such a value, and an import stores it as it is.
  package func canDeriveAgain(_ attribute: String, ofEntity name: String) -> Bool {
    guard let plan = model.entity(name), let derivation = plan.slot(attribute)?.attribute?.derivation else {
      return false
    }
    return derivation.isRepeatable && canRead(derivation, of: plan)
  }

  /// The objects of a relationship for which ``leadsOutside(_:ofEntity:)`` is true, in the relationship's order. Empty if
  /// the rows of the other store contain the relationship.
  package func outsideReferences(
    of object: ManagedObject, _ relationship: String
  ) throws -> [OutsideReference] {
    guard let found = object.scope.plan.slot(relationship)?.relationship else { return [] }
    let entity = model.entities[found.destination].name
    switch found.storage {
    case .reference:
      let key = object.referenceKey(found.slot)
      return key == 0 ? [] : [OutsideReference(entity: entity, number: key, inversePosition: nil)]
    case .join(let index, isSource: true):
      let pairs = try reader().pairs(ofJoin: index, isSource: true, of: [object.key])
      return pairs.sorted(by: JoinedPair.precedes).map {
        OutsideReference(entity: entity, number: $0.member, inversePosition: $0.inversePosition)
      }
    case .join, .inverseReference, .referencesOfOthers: return []
    }
  }

  /// Whether the objects of a relationship are in a store that this context does not have.
  package func leadsOutside(_ relationship: String, ofEntity name: String) -> Bool {
    guard let found = model.entity(name)?.slot(relationship)?.relationship else { return false }
    return !storeReader.hasStore(of: model.entities[found.destination])
  }

  /// Whether one of the context's stores holds the objects of an entity.
  package func holdsObjects(ofEntity name: String) -> Bool {
    model.entity(name).map { storeReader.hasStore(of: $0) } ?? false
  }
}

/// An object of a store that is not open, to which a relationship leads.
package struct OutsideReference {
  /// The destination of the relationship. The object may be of a subentity.
  package let entity: String
  /// The number, which is unique within the entity's hierarchy.
  package let number: Int64
  /// The position in the ordered inverse of a many-to-many relationship; nil if it has none.
  package let inversePosition: Int64?

  package init(entity: String, number: Int64, inversePosition: Int64?) {
    self.entity = entity
    self.number = number
    self.inversePosition = inversePosition
  }
}

/// What an empty store needs to continue another one: its metadata, and the first key of each root entity that is not
/// used.
package struct StoreBeginning {
  package var metadata: [String: String]
  package var nextKeys: [String: Int64]

  package init(metadata: [String: String], nextKeys: [String: Int64]) {
    self.metadata = metadata
    self.nextKeys = nextKeys
  }
}

extension ManagedObjectID {
  /// Creates an identifier from the text of its ``uriRepresentation``; nil for any other text.
  package init?(uriText text: String) { self.init(text: text) }

  /// The number at the end of the ``uriRepresentation``, which is unique within the entity's hierarchy.
  package var number: Int64 { key }
}

extension PersistentStoreCoordinator {
  /// What an empty store needs to continue one of the coordinator's stores; nil if there is no such store.
  package func beginning(ofStore id: UUID) throws -> StoreBeginning? {
    try engine.write { session in
      guard let store = session.reader.stores[id] else { return nil }
      var entries = try session.reader.metadata(of: store).allEntries
      // The global identifiers, and the identifiers from before migrations.
      var origins = try session.reader.insertionOrigins(of: store)
      // The past periods are numbers of saves. The new store has a history of its own.
      origins.past = []
      if !origins.isEmpty { entries[InsertionOrigins.metadataKey] = origins.text }
      let moved = try session.reader.movedKeys(of: store)
      if !moved.isEmpty { entries[MovedKeys.metadataKey] = MovedKeys.text(moved) }
      let tables = StoreTables(plan, store: store.index)
      entries[StoreBuilder.entitiesKey] = tables.roots.joined(separator: " ")
      var keys: [String: Int64] = [:]
      for root in tables.roots {
        if let root = plan.entity(root) { keys[root.name] = try session.batch.firstKey(of: root) }
      }
      return StoreBeginning(metadata: entries, nextKeys: keys)
    }
  }
}
