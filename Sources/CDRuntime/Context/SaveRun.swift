#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A save to several stores that has reached only some of them.
struct PartialSave {
  let written: [any AttachedStore]
  let reason: StoreError
}

/// Derived attributes of a save were computed from objects that others have changed meanwhile, or not for all objects
/// that have them by now. Nothing has been written.
struct OutdatedDerivations: Error {
  /// The stores of the save.
  let stores: [any AttachedStore]
}

/// One save's transaction: deletes, updates, inserts, pairs, positions, history.
///
/// SQLite checks unique indexes at each statement, so the order matters: deleted rows free their unique values first.
/// Updates that block each other are tried again after others have succeeded. If they block each other in a circle,
/// their unique columns get placeholder values.
///
/// It is a class, because closures that write a row capture it: a structure of this size would be copied for each row.
final class SaveRun {
  let context: ManagedObjectContext
  let session: any StoreWriteSession
  let plan: SavePlan
  /// The count of the context's changes when the plan was made.
  let changeCount: Int
  /// The rows of this save in the stores' histories.
  var saves: [(store: any AttachedStore, id: Int64)] = []
  /// The objects whose rows have been updated. They are added while rows are written, when an object's changes are in
  /// the processor's caches.
  var updated = ObjectGroups()
  /// The identifier of the save in the store's engine.
  let id: UUID
  /// The identifier that the history rows of the save share. A save that writes the rest of an earlier one, which has reached
  /// only some of several stores, shares that of the earlier one.
  let sharedID: UUID
  var conflicts: [SaveConflict] = []
  /// The rows that hold the values of refused objects, for merge policies, as they were at each refusal.
  var obstacles: [UniqueObstacle] = []
  /// The objects whose rows violate `unique:` lists, in the order of the refusals.
  var refused: [ManagedObject] = []
  /// The objects with the same values; thrown if there are no conflicts.
  var uniquenessConflicts: [UniquenessConflict] = []
  /// The written positions. Relationships take them over once the save has committed.
  var positions: [(state: ToManyState, changes: [(key: ObjectKey, position: Int64)])] = []
  /// The stores that the session has open.
  let stores: StoreSet
  /// The stores whose rows the save writes.
  let changedStores: [any AttachedStore]
  /// The large values; nil if neither model nor store has any.
  let external: ExternalValues?
  var model: ModelPlan { context.model }

  /// - Throws: ``StoreError`` if a large value cannot be written.
  init(
    context: ManagedObjectContext, session: any StoreWriteSession, plan: SavePlan,
    id: UUID = UUID.random(), sharedID: UUID? = nil, changeCount: Int
  ) throws {
    self.context = context
    self.id = id
    self.sharedID = sharedID ?? id
    self.session = session
    self.plan = plan
    self.changeCount = changeCount
    stores = session.reader.stores
    changedStores = try plan.stores(
      among: stores, context.model, written: context.historyPosition.unfinished?.written ?? [])
    for store in changedStores {
      try store.checkIdentity()
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
    }
    external =
      context.model.hasExternalSlots && context.importTarget?.listedFiles?.isEmpty != true
      ? try ExternalValues(
        of: plan, session: session, importTarget: context.importTarget) : nil
  }

  /// Writes everything.
  ///
  /// - Returns: The stores that have been written, if not all stores could be; nil if everything has been written.
  /// - Throws: ``SaveError`` or ``StoreError``; nothing has been written then.
  func write() throws -> PartialSave? {
    do {
      try begin { try session.begin() }
      return try writeAndCommit()
    } catch is UnexpectedRows {
      forgetRows()
      try begin { try session.beginRowByRow() }
      return try writeAndCommit()
    }
  }

  /// Begins the transaction. If this fails, no row will name the files of the large values.
  private func begin(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      external?.discard(after: error)
      throw error
    }
  }

  /// Forgets what has been recorded of rows that were not written.
  private func forgetRows() {
    saves.removeAll()
    updated = ObjectGroups()
    conflicts.removeAll()
    obstacles.removeAll()
    refused.removeAll()
    uniquenessConflicts.removeAll()
    positions.removeAll()
  }

  private func writeAndCommit() throws -> PartialSave? {
    do {
      try writeRows()
      if context.importTarget == nil { try writeHistory() }
      try external?.keep()
      if let partial = try commit() {
        let kept = Set(partial.written.map(\.index)).union(unrestoredStores(after: partial.reason))
        external?.discard(after: partial.reason, exceptIn: kept)
        return partial
      }
      takePositions()
      return nil
    } catch {
      session.rollback()
      if !(error is UnexpectedRows) {
        external?.discard(after: error, exceptIn: unrestoredStores(after: error))
      }
      throw error
    }
  }

  /// The indexes of the stores whose files may still have the changes of a save that has failed.
  @_optimize(none)
  private func unrestoredStores(after error: any Error) -> Set<Int> {
    let urls = StoreError.unrestoredFiles(after: error)
    return Set(changedStores.filter { urls.contains($0.url) }.map(\.index))
  }

  /// Writes the rows in a transaction of the caller, who also writes the history.
  ///
  /// - Throws: ``SaveError`` or ``StoreError``. The caller must then roll back.
  func writeInTransaction() throws {
    try session.writePart {
      forgetRows()
      try writeRows()
    }
    takePositions()
  }

  private func writeRows() throws {
    for object in plan.deleted { try delete(object) }
    try update()
    try insert()
    if !refused.isEmpty { try findUniquenessConflicts() }
    guard conflicts.isEmpty else { throw SaveError.conflict(conflicts) }
    if let error = notUnique() { throw error }
    for object in plan.related { try writePairs(of: object) }
    // After all pairs, because the other side may write them.
    for object in plan.related { try writePositions(of: object) }
  }

  private func takePositions() {
    for (state, changes) in positions {
      for change in changes { state.positions[change.key] = change.position }
    }
  }

  private func commit() throws -> PartialSave? {
    do {
      try session.commit(changed: changedStores) {
        // The app's code encodes values, and store formats write.
        guard context.pendingChanges.changeCount == changeCount else { throw SaveError.changedWhileWriting }
      }
      return nil
    } catch is ReferenceViolation {
      conflicts = try conflictsOfReferrers()
      guard conflicts.isEmpty else { throw SaveError.conflict(conflicts) }
      throw SaveError.danglingReferences(try danglingObjects())
    } catch let error as StoreError where changedStores.count > 1 {
      // SQLite commits one file after another. If a later file fails, it cannot take back the earlier ones.
      session.rollback()
      saves = saves.filter { isWritten($0.id, in: $0.store) }
      if saves.isEmpty { throw error }
      return PartialSave(written: saves.map(\.store), reason: error)
    }
  }

  /// The objects whose rows or pairs lead to missing rows: at most 100.
  @_optimize(none)
  private func danglingObjects() throws -> [ManagedObjectID] {
    var result: [ManagedObjectID] = []
    func add(_ key: ObjectKey, _ entity: EntityPlan, _ store: any AttachedStore) {
      let id =
        context.registered(key, root: entity.root)?.objectID
        ?? ManagedObjectID(storeID: store.storeID, entityName: entity.name, key: key)
      if result.count < 100, !result.contains(id) { result.append(id) }
    }
    for store in changedStores {
      for row in try session.danglingRows(in: store) { add(row.key, row.root, store) }
    }
    // Rows of pairs have no rowid by which SQLite could name them.
    var lost: [(object: ManagedObject, store: any AttachedStore)] = []
    for object in plan.related {
      guard let store = stores.store(of: object.scope.plan) else { continue }
      for (slot, state) in object.extras?.toMany ?? [] where !state.added.isEmpty {
        guard let relationship = object.scope.plan.relationships[slot], case .join = relationship.storage
        else {
          continue
        }
        let destination = model.entities[relationship.destination]
        for key in state.added.keys where try !session.reader.hasRow(key, of: destination) {
          add(object.key, object.scope.plan, store)
        }
        if try !session.reader.hasRow(object.key, of: object.scope.plan) {
          lost.append((object, store))
        }
      }
    }
    // If the other objects have released it, the object without a row has the pairs itself.
    if result.isEmpty { for (object, store) in lost { add(object.key, object.scope.plan, store) } }
    return result
  }
}

// Single rows: deleted, updated, inserted.
extension SaveRun {
  func delete(_ object: ManagedObject) throws {
    try external?.replace(object, slots: object.scope.plan.externalSlots)
    try noteUnknownPairs(of: object)
    if case .missing = try session.delete(object.scope.plan, object.key, version: object.version) {
      try noteConflict(object)
    }
  }

  private func noteConflict(_ object: ManagedObject) throws {
    if let store = try storedValues(of: object) {
      conflicts.append(
        object.conflict(.changed, snapshot: object.snapshotValues(), store: store, namesUnread: true))
    } else if !object.flags.contains(.deleted) {
      conflicts.append(object.conflict(.deleted, snapshot: object.snapshotValues(), store: nil))
    }
    // Otherwise a row that was to be deleted is already gone, which is not a conflict.
  }

  /// Records the conflict of an object whose row was to be inserted again, but another context has inserted it first.
  ///
  /// - Returns: Whether the row exists.
  private func noteConflictOfNewRow(_ object: ManagedObject) throws -> Bool {
    guard let store = try storedValues(of: object) else { return false }
    conflicts.append(object.conflict(.changed, snapshot: object.snapshotValues(), store: store))
    return true
  }

  /// The values of an object's row, without those that the object has not read; nil if there is no row.
  private func storedValues(of object: ManagedObject) throws -> [Int: AttributeValue]? {
    let plan = object.scope.plan
    var (store, unread) = ([Int: AttributeValue](), [Int]())
    do {
      let rows = try session.reader.row(object.key, of: plan)
      defer { rows.close() }
      guard try rows.next(), let row = rows.reader(of: plan, RowReport(files: context.engine.files)) else {
        return nil
      }
      for slot in plan.storedSlots {
        if plan.slots[slot].isReadLater, row.isUnread(plan.slots[slot].columns.lowerBound) {
          unread.append(slot)
        } else {
          store[slot] = ManagedObject.storedValue(of: row, plan.slots[slot])
        }
      }
    }
    for slot in unread where !object.isUnread(slot) {
      let column = plan.slots[slot].columns.lowerBound
      let rows = try session.reader.row(object.key, of: plan, reading: column)
      defer { rows.close() }
      guard try rows.next(), let row = rows.reader(of: plan, nil) else { return nil }
      store[slot] = row.value(column, .data)
    }
    return store
  }

  /// - Returns: The properties of a unique index that refuses the row; nil if there is none.
  func update(_ object: ManagedObject) throws -> [String]? {
    let entity = object.scope.plan
    guard let extras = object.extras else {
      updated.add(object.key, of: entity, SlotSet())
      return nil
    }
    let outcome = try session.update(entity, extras.changed, object.key, version: object.version) {
      if let external { try external.replace(object, slots: entity.externalSlots.filter($0.contains)) }
      encode(object, $0, $1)
    }
    switch outcome {
    case .done: updated.add(object.key, of: entity, extras.changed)
    case .notUnique(let properties): return properties
    case .missing: try noteConflict(object)
    case .unwritable: try throwFailure(of: object, entity.storedSlots.filter(extras.changed.contains))
    }
    return nil
  }

  /// Inserts the rows of new objects, those of one entity together.
  @_optimize(speed)
  private func insert() throws {
    let objects = plan.inserted
    var first = 0
    while first < objects.count {
      let entity = objects[first].scope.plan
      guard objects[first].version == 0 else {
        try insertAgain(objects[first])
        first += 1
        continue
      }
      var end = first + 1
      while end < objects.count, objects[end].scope.plan === entity, objects[end].version == 0 { end += 1 }
      try session.insert(entity, count: end - first) {
        objects[first + $0].key
      } _: {
        encode(objects[first + $0], entity.storedSlots, $1)
      } refused: {
        try noteRefusal(of: objects[first + $0], $1)
      }
      first = end
    }
  }

  /// Inserts the row of an object that had one before. Other contexts may still have read the former row, so the new one
  /// continues its versions.
  @_optimize(none)
  private func insertAgain(_ object: ManagedObject) throws {
    let entity = object.scope.plan
    let unreadable = object.unreadableSlots
    guard unreadable.isEmpty else {
      // If the row exists, a merge policy decides, and the values in its files stay.
      if try noteConflictOfNewRow(object) { return }
      throw unreadableValues(unreadable, of: object)
    }
    let outcome = try session.insert(entity, object.key) { encode(object, entity.storedSlots, $0) }
    switch outcome {
    case .done, .missing:
      try session.setVersion(object.nextVersion(plan.versionStamp), of: entity, object.key)
    case .notUnique, .unwritable:
      if case .notUnique = outcome, try noteConflictOfNewRow(object) { return }
      try noteRefusal(of: object, outcome)
    }
  }

  /// The error for values that the row had before and the object does not have, because their files could not be read.
  @_optimize(none)
  private func unreadableValues(_ slots: [Int], of object: ManagedObject) -> SaveError {
    .validation(
      slots.map { slot in
        ValidationError(
          .notStorable(
            "could not be read from its file, which the row must not lose; set another value, or roll back"),
          of: object, object.scope.plan.slots[slot].name)
      })
  }

  private func noteRefusal(of object: ManagedObject, _ outcome: RowOutcome) throws {
    switch outcome {
    case .done, .missing: break
    case .notUnique(let properties): try noteRefusal(of: object, properties)
    case .unwritable: try throwFailure(of: object, object.scope.plan.storedSlots)
    }
  }

  @inline(__always) private func encode(_ object: ManagedObject, _ slots: [Int], _ writer: RowWriter) {
    if let external, !object.scope.plan.externalSlots.isEmpty {
      for slot in slots {
        if let name = external.name(object, slot) {
          writer.string(name)
        } else {
          object._encode(slot, writer)
        }
      }
    } else if !object.scope.plan.isTyped {
      object.encodeValues(slots, writer)
    } else {
      for slot in slots { object._encode(slot, writer) }
    }
  }

  private func reason(_ failure: any Error) -> ValidationError.Reason {
    if let failure = failure as? UnstorableValue { return .notStorable(failure.reason) }
    return failure is RowWriter.TooLarge ? .tooLarge : .notEncodable
  }

  /// Throws the errors of values that could not be written.
  private func throwFailure(of object: ManagedObject, _ slots: [Int]) throws {
    let errors = slots.compactMap { slot in
      session.failure { encode(object, [slot], $0) }.map { failure in
        ValidationError(reason(failure), of: object, object.scope.plan.slots[slot].name)
      }
    }
    throw SaveError.validation(errors)
  }
}

// Many-to-many relationships and orders.
extension SaveRun {
  @_optimize(none)
  private func writePairs(of object: ManagedObject) throws {
    for (slot, state) in object.extras?.toMany ?? [] where state.isChanged {
      guard let relationship = object.scope.plan.relationships[slot] else { continue }
      if case .join(let index, let isSource) = relationship.storage, isSource {
        let root = model.entities[relationship.destination].root
        // A pair that was removed and added again is kept, because the other side may keep its position there.
        try session.deletePairs(
          ofJoin: index, object.key, state.removed.keys.filter { !state.added.contains($0) })
        try session.insertPairs(
          ofJoin: index, object.key,
          state.added.keys.filter { context.registered($0, root: root)?.isDeleted != true })
      }
    }
  }

  private func writePositions(of object: ManagedObject) throws {
    for (slot, state) in object.extras?.toMany ?? [] where state.isOrderChanged {
      guard let relationship = object.scope.plan.relationships[slot], relationship.isOrdered else { continue }
      try writePositions(of: object, relationship, state)
    }
  }

  @_optimize(none)
  private func writePositions(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws {
    guard session.hasPositions(relationship) else { return }
    try context.importTarget?.index(relationship)
    var changes: [(key: ObjectKey, position: Int64)] = []
    // If the relationship was not loaded, an object may have been related before, and keeps its position.
    var isCertain = true
    if let keys = state.keys?.keys {
      changes = Positions.changes(for: keys, given: state.positions)
    } else {
      let last = try session.lastPosition(relationship, of: object.key)
      if let appended = Positions.appended(state.added.keys, after: last) {
        changes = appended
        isCertain = false
      } else {
        let others = try session.positionedKeys(relationship, of: object.key)
        changes = Positions.renumbered(others + state.added.keys.filter { !others.contains($0) })
      }
    }
    guard !changes.isEmpty else { return }
    for change in changes {
      try session.setPosition(
        change.position, of: change.key, relationship, of: object.key,
        isNew: !isCertain && !state.removed.contains(change.key))
    }
    positions.append((state, changes))
  }
}

// Objects that other contexts have related to objects that the save deletes.
extension SaveRun {
  /// The conflicts of deleted objects whose keys rows still refer to.
  ///
  /// Call this only after a foreign key constraint has failed, because it reads the store for each deleted object.
  private func conflictsOfReferrers() throws -> [SaveConflict] {
    try plan.deleted.compactMap { object in
      try conflict(of: object) { relationship in
        switch relationship.storage {
        case .join: []
        // The reference is in the deleted row itself, so no foreign key protects it.
        case .reference where !relationship.isSymmetric: []
        case .reference, .inverseReference, .referencesOfOthers:
          !relationship.hasInverse || relationship.description.deleteRule.leavesReferences
            ? [] : try session.reader.relatedKeys(of: relationship, of: object.key)
        }
      }
    }
  }

  /// Records the conflict of an object that is about to be deleted and has pairs that the context does not know, if
  /// its delete rule does more than remove them. The pairs are deleted with the row, so no foreign key reports them.
  private func noteUnknownPairs(of object: ManagedObject) throws {
    guard object.scope.plan.hasRuledPairs else { return }
    let conflict = try conflict(of: object) { relationship in
      guard relationship.hasRuledPairs else { return [] }
      let root = model.entities[relationship.destination].root
      var removed = object.extras?.toManyState(relationship.slot)?.removed
      return try session.reader.relatedKeys(of: relationship, of: object.key).filter { key in
        context.registered(key, root: root)?.isDeleted != true && removed?.contains(key) != true
      }
    }
    if let conflict { conflicts.append(conflict) }
  }

  /// - Parameter keys: Returns the keys of rows that are related to the object by one of its relationships, and must
  ///   not be.
  private func conflict(
    of object: ManagedObject, _ keys: (RelationshipPlan) throws -> [ObjectKey]
  ) rethrows -> SaveConflict? {
    var names: [String] = []
    var other: ManagedObjectID?
    for case let relationship? in object.scope.plan.relationships {
      guard let key = try keys(relationship).first else { continue }
      let destination = model.entities[relationship.destination]
      names.append(relationship.name)
      other =
        other ?? context.registered(key, root: destination.root)?.objectID
        ?? context.registry.objectID(key, ofEntity: destination.index)
    }
    return names.isEmpty
      ? nil : SaveConflict(reason: .related, objectID: object.objectID, keys: names, otherID: other)
  }
}

// Updates whose unique values block each other.
extension SaveRun {
  func update() throws {
    var blocked = try blocked(among: plan.updated)
    while !blocked.isEmpty {
      let left = try self.blocked(among: blocked.map(\.object))
      if left.count < blocked.count {
        blocked = left
        continue
      }
      try writePlaceholder(left.map(\.object))
      // All of them are updated, so that all conflicts are reported.
      for entry in try self.blocked(among: left.map(\.object)) {
        try noteRefusal(of: entry.object, entry.properties)
      }
      return
    }
  }

  /// Updates rows, and returns the objects that a unique index refuses, with the properties of the index.
  private func blocked(
    among objects: [ManagedObject]
  ) throws -> [(object: ManagedObject, properties: [String])] {
    var blocked: [(object: ManagedObject, properties: [String])] = []
    for object in objects {
      if let properties = try update(object) { blocked.append((object, properties)) }
    }
    return blocked
  }

  // MARK: Passing values

  /// Gives placeholder values, which no other row has, to the unique columns of rows that block each other, until the
  /// other rows have been updated.
  @_optimize(none)
  private func writePlaceholder(_ objects: [ManagedObject]) throws {
    for object in objects {
      guard let changed = object.extras?.changed else { continue }
      let entity = object.scope.plan
      // A field of a composite is `composite.field`.
      let keys = entity.lineage.flatMap { model.entities[$0].description.uniquenessConstraints.joined() }
      let unique = Set(keys.map { key in key.prefix { $0 != "." } })
      for slot in entity.slots where changed.contains(slot.number) {
        guard unique.contains(slot.name[...]) || slot.relationship?.isOneToOne == true else { continue }
        for column in slot.columns.map({ entity.columns[$0] }) {
          try session.writePlaceholder(in: column, of: entity, object.key)
        }
      }
    }
  }
}

/// A row that blocks others because of a `unique:` list.
struct UniqueObstacle {
  let entity: String
  let properties: [String]
  /// The row that holds the values; 0 if it could not be found.
  let key: ObjectKey
  let objectID: ManagedObjectID?
  /// The objects whose rows were refused.
  var refused: [ManagedObjectID]
}

/// The values of a `unique:` list, with the index of the entity that has the list.
private struct UniqueValues: Hashable {
  let entity: Int
  let list: Int
  let texts: [String]
}

// Rows that unique indexes refuse.
extension SaveRun {
  /// Records that a unique index refuses an object's row, with all rows that hold its values.
  ///
  /// - Parameter properties: The properties of the index, if the store names them.
  @_optimize(none)
  private func noteRefusal(of object: ManagedObject, _ properties: [String]) throws {
    let plan = object.scope.plan
    refused.append(object)
    if properties.count == 1, plan.slot(properties[0])?.relationship?.isOneToOne == true {
      let other = try conflictingRow(of: properties, model.entities[plan.root], as: object).map {
        ManagedObjectID(storeID: object.scope.storeID, entityName: $0.entity, key: $0.key)
      }
      conflicts.append(
        SaveConflict(
          reason: .partnerTaken, objectID: object.objectID, keys: properties, otherID: other))
    }
    let obstacles = try obstacles(of: object)
    for found in obstacles {
      let index = self.obstacles.firstIndex {
        $0.key == found.key && $0.entity == found.entity && $0.properties == found.properties
      }
      if let index { self.obstacles[index].refused += found.refused } else { self.obstacles.append(found) }
    }
    // The model does not have this index, or defines it differently.
    if obstacles.isEmpty, conflicts.last?.objectID != object.objectID {
      self.obstacles.append(
        UniqueObstacle(
          entity: plan.name, properties: properties, key: 0, objectID: nil, refused: [object.objectID]))
    }
  }

  /// The recorded refusals, as conflicts for merge policies.
  var refusals: [SaveConflict] {
    obstacles.flatMap { obstacle in
      obstacle.refused.map {
        SaveConflict(
          reason: .notUnique, objectID: $0, keys: obstacle.properties, otherID: obstacle.objectID)
      }
    }
  }

  /// The recorded refusals, as the error that the save throws; nil if there are none.
  func notUnique() -> SaveError? { uniquenessConflicts.isEmpty ? nil : .notUnique(uniquenessConflicts) }

  /// Finds, for each `unique:` list, the objects that have the same values as refused objects: rows that were written
  /// after a refusal, and other refused objects without rows.
  @_optimize(none)
  private func findUniquenessConflicts() throws {
    var orderOfWriting: [ManagedObjectID: Int] = [:]
    for object in plan.updated + plan.inserted { orderOfWriting[object.objectID] = orderOfWriting.count }
    var groups: [UniqueValues: Int] = [:]
    var found: [(values: UniqueValues, objectIDs: Set<ManagedObjectID>)] = []
    for object in refused {
      for owner in object.scope.plan.lineage.map({ model.entities[$0] }) {
        for (list, properties) in owner.description.uniquenessConstraints.enumerated() {
          guard let texts = try self.texts(of: properties, object) else { continue }
          let values = UniqueValues(entity: owner.index, list: list, texts: texts)
          let group = groups[values] ?? found.count
          if group == found.count {
            groups[values] = group
            found.append((values, []))
          }
          found[group].objectIDs.insert(object.objectID)
          if let row = try conflictingRow(of: properties, owner, as: object) {
            found[group].objectIDs.insert(id(row, object))
          }
        }
      }
    }
    uniquenessConflicts = found.filter { $0.objectIDs.count > 1 }.map { values, objectIDs in
      let owner = model.entities[values.entity]
      return UniquenessConflict(
        entity: owner.name, properties: owner.description.uniquenessConstraints[values.list],
        // The stored object comes last.
        objectIDs: objectIDs.ordered {
          orderOfWriting[$0] ?? orderOfWriting.count < orderOfWriting[$1] ?? orderOfWriting.count
        })
    }
    uniquenessConflicts += obstacles.filter { $0.key == 0 }.map {
      UniquenessConflict(entity: $0.entity, properties: $0.properties, objectIDs: $0.refused)
    }
  }

  private func id(_ row: (key: ObjectKey, entity: String), _ object: ManagedObject) -> ManagedObjectID {
    context.registered(row.key, root: object.scope.plan.root)?.objectID
      ?? ManagedObjectID(storeID: object.scope.storeID, entityName: row.entity, key: row.key)
  }

  /// An object's values of a `unique:` list, as the store compares them; nil if any of them is nil, or if
  /// nothing can violate the list.
  private func texts(of properties: [String], _ object: ManagedObject) throws -> [String]? {
    let plan = object.scope.plan
    let columns = plan.uniqueColumnNumbers(properties)
    if columns.isEmpty { return nil }
    return try session.comparedValues(of: columns, plan) { encode(object, $0, $1) }
  }

  /// The rows that hold an object's values of one of its `unique:` lists.
  private func obstacles(of object: ManagedObject) throws -> [UniqueObstacle] {
    let plan = object.scope.plan
    var result: [UniqueObstacle] = []
    for owner in plan.lineage.map({ model.entities[$0] }) {
      for properties in owner.description.uniquenessConstraints {
        guard let row = try conflictingRow(of: properties, owner, as: object) else { continue }
        result.append(
          UniqueObstacle(
            entity: owner.name, properties: properties, key: row.key, objectID: id(row, object),
            refused: [object.objectID]))
      }
    }
    return result
  }

  /// The other row that holds an object's values of some properties, with the name of its entity; nil if there is
  /// none, or if one of the values is nil.
  private func conflictingRow(
    of properties: [String], _ owner: EntityPlan, as object: ManagedObject
  ) throws -> (key: ObjectKey, entity: String)? {
    let columns = object.scope.plan.uniqueColumnNumbers(properties)
    if columns.isEmpty { return nil }
    return try session.conflictingRow(of: columns, object.scope.plan, owner, excluding: object.key) {
      encode(object, $0, $1)
    }
  }
}

// The row that a save adds to the history of each store.
extension SaveRun {
  private func writeHistory() throws {
    // The history of each file says that the save goes to several files, so that a verification finds files that it
    // has not reached.
    let isOneOfSeveral = changedStores.count > 1 || context.historyPosition.unfinished != nil
    let mark = HistoryText.Mark(save: sharedID, stores: isOneOfSeveral ? changedStores.map(\.storeID) : [])
    // A change of pairs changes a relationship of both sides.
    for object in plan.related where !object.flags.contains(.inserted) && !object.flags.contains(.updated) {
      updated.add(object.key, of: object.scope.plan, object.extras?.changed ?? SlotSet())
    }
    let inserted = ObjectGroups(of: plan.inserted)
    let deleted = ObjectGroups(of: plan.deleted)
    for store in changedStores {
      let changes = HistoryText.changes(
        inserted: inserted, updated: updated, deleted: deleted, ofStore: store.index, mark)
      let number = try session.addSave(
        id, to: store, at: Date(), origin: context.engine.origin, author: context.transactionAuthor, changes)
      // Without a number, the commit refuses the save because of a reference.
      guard let number else { continue }
      saves.append((store, number))
      if try derivesFromOutdated(store, before: number) {
        throw OutdatedDerivations(stores: changedStores)
      }
    }
  }

  /// Whether other contexts have saved objects that decide about derived attributes of this save: objects that these are
  /// computed from, and objects with such attributes. This context may have them in memory as they were before. An object
  /// whose derived values seem to be the stored ones is not written, so that its version is not compared.
  ///
  /// From the moment in which a save gets its number, no other save can be committed before it. So all saves that count
  /// have lower numbers.
  private func derivesFromOutdated(_ store: any AttachedStore, before number: Int64) throws -> Bool {
    if model.triggers.isEmpty || context.importTarget != nil { return false }
    guard let seen = context.historyPosition.seenSave(beforeOthersBefore: number, of: store) else {
      return false
    }
    let sources = context.derivationSources(of: plan)
    let unwritten = context.derivedUnwrittenKeys
    if sources.isEmpty && unwritten.isEmpty { return false }
    // Another program can have written any number.
    var expected = seen &+ 1
    var isOutdated = false
    try session.reader.forEachSave(of: store, after: seen) { id, text in
      if isOutdated || id >= number { return }
      // If the history has been purged of saves, any object may have changed.
      isOutdated = id != expected
      expected = id &+ 1
      if isOutdated || context.historyPosition.isOwnSave(id, of: store) { return }
      isOutdated = HistoryText.entities(ofChanges: text).contains { entity in
        guard let root = model.entity(entity.name)?.root else { return false }
        return sources.contains(root)
          || unwritten[root]?.contains { key in entity.updated.contains { $0.contains(key) } } == true
      }
    }
    return isOutdated || expected != number
  }

  /// Whether a store's history has the row of this save, after a failed commit.
  private func isWritten(_ number: Int64, in store: any AttachedStore) -> Bool {
    session.hasEntry(number, ofSave: sharedID, from: context.engine.origin, in: store)
  }
}

extension HistoryText {
  /// The history text for the objects of a save that are in one store. The groups may contain objects of other stores
  /// too.
  @_optimize(none)
  fileprivate static func changes(
    inserted: ObjectGroups, updated: ObjectGroups, deleted: ObjectGroups, ofStore index: Int, _ mark: Mark
  ) -> String {
    var entities: [String: [JSONValue.Member]] = [:]
    for (kind, objects) in [("deleted", deleted), ("inserted", inserted), ("updated", updated)] {
      for groups in objects.byEntity(ofStore: index) {
        var members = [JSONValue.Member(kind, keys(of: groups))]
        let changed = changedProperties(groups)
        if !changed.isEmpty { members.append(JSONValue.Member(properties, .object(changed))) }
        entities[groups[0].plan.name, default: []] += members
      }
    }
    return JSONValue.object(
      [JSONValue.Member(Mark.key, mark.json)]
        + entities.orderedByKey().map { JSONValue.Member($0.key, .object($0.value)) }
    ).canonicalText
  }

  private static func keys(of groups: [ObjectGroups.Group]) -> JSONValue {
    .array(ranges(groups.flatMap(\.keys).sorted()))
  }

  /// The changed properties of one entity's objects. Each property has the keys of the objects in which it has
  /// changed, or `true` for all of them.
  private static func changedProperties(_ groups: [ObjectGroups.Group]) -> [JSONValue.Member] {
    let slots = groups[0].plan.slots
    var members: [JSONValue.Member] = []
    for slot in slots.indices {
      let changedGroups = groups.filter { $0.slots.contains(slot) }
      if changedGroups.isEmpty { continue }
      let isInAll = changedGroups.count == groups.count
      members.append(JSONValue.Member(slots[slot].name, isInAll ? .bool(true) : keys(of: changedGroups)))
    }
    return members.ordered { $0.key < $1.key }
  }
}

/// The keys of a save's objects. A group has the objects of one entity in which the same properties have changed.
///
/// Most objects of a save have the same changed properties, so that there are few groups.
struct ObjectGroups {
  struct Group {
    let plan: EntityPlan
    /// The changed properties; empty for inserted and deleted objects.
    let slots: SlotSet
    fileprivate(set) var keys: [ObjectKey]
  }

  private struct Kind: Hashable {
    let entity: Int
    let slots: SlotSet
  }

  private var groups: [Group] = []
  private var indices: [Kind: Int] = [:]
  /// The group of the object that was added last.
  private var last = 0

  init() {}

  /// Groups objects by entity only.
  init(of objects: [ManagedObject]) {
    for object in objects { add(object.key, of: object.scope.plan, SlotSet()) }
  }

  mutating func add(_ key: ObjectKey, of plan: EntityPlan, _ slots: SlotSet) {
    if last < groups.count, groups[last].plan === plan, groups[last].slots == slots {
      groups[last].keys.append(key)
      return
    }
    let kind = Kind(entity: plan.index, slots: slots)
    last = indices[kind] ?? groups.count
    if last < groups.count {
      groups[last].keys.append(key)
    } else {
      indices[kind] = last
      groups.append(Group(plan: plan, slots: slots, keys: [key]))
    }
  }

  /// The groups of the entities that a store holds, one list for each entity.
  func byEntity(ofStore index: Int) -> [[Group]] {
    let ofStore = groups.filter { $0.plan.storeIndex == index }
    return Array(Dictionary(grouping: ofStore, by: \.plan.index).values)
  }
}
