#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The error of a batch when others have saved while it read rows that decide about its changes. Nothing is written.
struct OutdatedBatch: Error {}

/// One batch's transaction, and its changes.
final class BatchRun {
  private let context: ManagedObjectContext
  let entity: EntityPlan
  /// The open stores.
  let stores: StoreSet
  /// Operations on many rows at a time.
  let rows: any StoreBatchSession
  private let session: any StoreWriteSession
  /// The changed objects, by entity index.
  private var inserted: [Int: KeyRanges] = [:]
  private var updated: [Int: KeyRanges] = [:]
  /// The updated objects, by the name of the changed property.
  private var changedProperties: [String: [Int: KeyRanges]] = [:]
  private var deleted: [Int: KeyRanges] = [:]
  /// The keys of new objects with a derived value that is not computed, by the index of the entity and the slot. The ranges
  /// are normalized.
  var givenValues: [Int: [Int: [ClosedRange<ObjectKey>]]] = [:]
  /// Whether the batch can run again. The rows of some sequences can be read only once.
  private(set) var isRepeatable = true
  /// Whether to keep others from saving before the batch reads rows that decide about its changes.
  private let excludesOthers: Bool
  /// The indexes of the stores of which the batch has read rows that decide about its changes, without those that exclude
  /// others by themselves.
  private var readStores: Set<Int> = []
  /// The newest saves of these stores before the batch read the rows, unless it excludes others.
  private var newestSaves: [(store: any AttachedStore, number: Int64)] = []
  /// The identifier that the batch has in the histories of its stores.
  private let saveID = UUID.random()
  /// The current time, the same for the whole batch.
  let now = Date()
  var model: ModelPlan { context.model }

  /// A context that reads the transaction's writes so far, for queries that the store cannot answer. It has no
  /// unsaved changes, and calls ``ManagedObjectLifecycle/awakeFromFetch()`` only for transient attributes: no save would write
  /// other changes.
  private(set) lazy var reading = ManagedObjectContext(
    context.persistentStoreCoordinator, readingBy: session.reader, callsLifecycle: false)

  @_optimize(none)
  init(
    _ context: ManagedObjectContext, _ session: any StoreWriteSession, _ entity: EntityPlan,
    excludesOthers: Bool
  ) {
    self.context = context
    self.session = session
    self.entity = entity
    self.excludesOthers = excludesOthers
    stores = session.reader.stores
    rows = session.batch
  }

  /// Runs a batch completely.
  ///
  /// - Parameters:
  ///   - namesNew: Whether mistakes name inserted objects, because the caller has chosen their keys.
  ///   - body: Returns the number of objects that the request concerns.
  /// - Throws: An error. Nothing is written then, except with ``BatchError/partlyWritten(written:missing:reason:)``.
  @_optimize(none)
  func run(namesNew: Bool = false, _ body: () throws -> Int) throws -> BatchResult {
    guard let store = stores.store(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    try check(store)
    do {
      try session.begin()
      do {
        let count = try body()
        try checkDerivedValues(namesNew: namesNew)
        let changes = allChanges()
        try commit(changes)
        return BatchResult(count: count, changes: changes)
      } catch {
        session.rollback()
        throw error
      }
    } catch is ReferenceViolation {
      throw BatchError.danglingReferences(entity: entity.name)
    } catch EvaluationError.cancelled {
      throw CancellationError()
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }

  /// Starts with the first of a batch's rows.
  func start(_ rows: BatchRows) -> (BatchRowWriter) throws -> Bool {
    isRepeatable = rows.isRepeatable
    let writeNext = rows.start()
    guard session.reader.isRemote else { return writeNext }
    return { [session] row in
      let isMore = try writeNext(row)
      try session.keepAlive()
      return isMore
    }
  }

  private func check(_ store: any AttachedStore) throws {
    try store.checkIdentity()
    if store.isReadOnly { throw StoreError.readOnly(store.url) }
  }

  // MARK: Others who save meanwhile

  /// A batch that has inserted more rows excludes others, rather than to insert the rows again if one of them saves.
  static let mostRepeatedRows = 1000

  /// Must be called before the batch reads rows that decide about its changes.
  ///
  /// If the store does not exclude others, and one of them saves before the batch ends, then the batch begins again and
  /// excludes them. A batch that cannot run again excludes them at once.
  ///
  /// - Parameters:
  ///   - relationships: The batch reads only rows of its entity and of the destinations of these relationships. Nil if it may
  ///     read more, because derived attributes and delete rules lead from one object to the next.
  ///   - excludesOthers: Whether to exclude others at once, because the batch has written many rows already.
  @_optimize(none)
  func willRead(_ relationships: [RelationshipPlan]?, excludesOthers: Bool = false) throws {
    let shared = sharedStores()
    guard !shared.isEmpty else { return }
    let read =
      relationships.map { relationships in
        let entities = [entity] + relationships.map { model.entities[$0.destination] }
        return Set(entities.compactMap(\.storeIndex))
      } ?? model.connectedStores(of: entity)
    try willRead(read, among: shared, excludesOthers: excludesOthers)
  }

  /// The same for rows that derived attributes and rules on the number of objects lead to from objects of several entities.
  @_optimize(none)
  func willRead(from entities: [EntityPlan]) throws {
    let shared = sharedStores()
    guard !shared.isEmpty else { return }
    var read: Set<Int> = []
    for entity in entities { read.formUnion(model.connectedStores(of: entity)) }
    try willRead(read, among: shared, excludesOthers: false)
  }

  /// The stores that others can write to while the batch's transaction is open.
  private func sharedStores() -> [any AttachedStore] {
    stores.all.filter { !session.excludesOthers(from: $0) }
  }

  /// - Parameter read: The indexes of the stores of which rows are read.
  @_optimize(none)
  private func willRead(
    _ read: Set<Int>, among shared: [any AttachedStore], excludesOthers: Bool
  ) throws {
    for store in shared where read.contains(store.index) && readStores.insert(store.index).inserted {
      if store.isReadOnly {
        // Nobody can lock a store that is open for reading only. So the batch begins again only once for it.
        if self.excludesOthers || !isRepeatable { continue }
      } else if excludesOthers || self.excludesOthers || !isRepeatable {
        try session.excludeOthers(from: store)
        continue
      }
      newestSaves.append((store, try session.reader.newestSave(of: store)))
    }
  }

  /// Throws ``OutdatedBatch`` if others have saved since the batch first read rows that decide about its changes.
  ///
  /// - Parameter saves: The numbers of the batch in the histories of the stores that it has changed. From the moment in which
  ///   it gets a number, nobody else can save to the store.
  @_optimize(none)
  private func checkNobodyHasSaved(_ saves: [Int: Int64]) throws {
    for (store, seen) in newestSaves {
      let newest = try saves[store.index].map { $0 - 1 } ?? session.reader.newestSave(of: store)
      if newest != seen { throw OutdatedBatch() }
    }
  }

  // MARK: What was changed

  func noteInserted(_ keys: ClosedRange<ObjectKey>, of entity: EntityPlan) {
    inserted[entity.index, default: KeyRanges()].append(keys)
  }

  /// - Parameter properties: The names of the changed properties.
  func noteUpdated(_ keys: [FetchedKey], _ properties: some Sequence<String>) {
    noteUpdated(KeyRanges.byEntity(keys), properties)
  }

  func noteUpdated(_ keys: [Int: KeyRanges], _ properties: some Sequence<String>) {
    Self.note(keys, in: &updated)
    for property in properties { Self.note(keys, in: &changedProperties[property, default: [:]]) }
  }

  func noteDeleted(_ keys: [Int: KeyRanges]) { Self.note(keys, in: &deleted) }

  /// The keys of the inserted objects of exactly one entity, and of its other objects of which a property has changed.
  @_optimize(none)
  func changedKeys(
    of entity: EntityPlan, _ properties: [String]
  ) -> (new: [ClosedRange<ObjectKey>], others: [ClosedRange<ObjectKey>]) {
    var changed: [ClosedRange<ObjectKey>] = []
    for property in properties { changed += changedProperties[property]?[entity.index]?.ranges ?? [] }
    let new = KeyRanges.normalized(inserted[entity.index]?.ranges ?? [])
    return (new, KeyRanges.subtracting(new, from: KeyRanges.normalized(changed)))
  }

  private static func note(_ keys: [Int: KeyRanges], in changes: inout [Int: KeyRanges]) {
    for (entity, keys) in keys {
      for range in keys.ranges { changes[entity, default: KeyRanges()].append(range) }
    }
  }

  static func byEntity(_ keys: [FetchedKey]) -> [(entity: Int, keys: [ObjectKey])] {
    guard let first = keys.first else { return [] }
    if keys.allSatisfy({ $0.entity == first.entity }) { return [(first.entity, keys.map(\.key))] }
    return Dictionary(grouping: keys, by: \.entity).orderedByKey()
      .map { ($0.key, $0.value.map(\.key)) }
  }

  @_optimize(none)
  private func allChanges() -> ObjectChanges {
    func ids(_ keys: [Int: KeyRanges]) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: keys.map { entity, keys in context.registry.objectIDs(keys, ofEntity: entity) })
    }
    let deleted = ids(self.deleted)
    let inserted = ids(self.inserted)
    return ObjectChanges(
      inserted: inserted, updated: ids(updated).subtracting(deleted).subtracting(inserted), deleted: deleted)
  }

  /// Adds the batch to the histories of the stores, and ends the transaction.
  @_optimize(none)
  private func commit(_ changes: ObjectChanges) throws {
    let saves = try writeHistory(of: changes)
    let changed = stores.all.filter { saves[$0.index] != nil }
    do {
      try session.commit(changed: changed) {}
    } catch let error as StoreError where changed.count > 1 {
      // The stores are committed one after another. If a later one fails, the earlier ones cannot be taken back.
      session.rollback()
      let origin = context.engine.origin
      let written = changed.filter { store in
        saves[store.index].map { session.hasEntry($0, ofSave: saveID, from: origin, in: store) } ?? false
      }
      if written.isEmpty { throw error }
      let storeIDs = Set(written.map(\.storeID))
      func missing(_ ids: ManagedObjectIDs) -> ManagedObjectIDs {
        ManagedObjectIDs(groups: ids.groups.filter { !storeIDs.contains($0.storeID) })
      }
      throw BatchError.partlyWritten(
        written: written.map(\.url),
        missing: ObjectChanges(
          inserted: missing(changes.inserted), updated: missing(changes.updated),
          deleted: missing(changes.deleted)), reason: error)
    }
  }

  /// - Returns: The numbers of the batch in the histories of the stores that it has changed, by the index of the store.
  @_optimize(none)
  private func writeHistory(of changes: ObjectChanges) throws -> [Int: Int64] {
    let groups = changes.inserted.groups + changes.updated.groups + changes.deleted.groups
    let changed = Set(groups.map(\.storeID))
    let touched = stores.all.filter { changed.contains($0.storeID) }
    let mark = HistoryText.Mark(save: saveID, stores: touched.count > 1 ? touched.map(\.storeID) : [])
    let properties = namedProperties(changes.updated)
    var saves: [Int: Int64] = [:]
    for store in touched {
      guard let text = HistoryText.text(changes, of: store.storeID, mark, properties: properties) else {
        continue
      }
      // A delete rule may have reached another store.
      try check(store)
      let number = try session.addSave(
        mark.save, to: store, at: now, origin: context.engine.origin, author: context.transactionAuthor, text)
      guard let number else { throw ReferenceViolation() }
      saves[store.index] = number
    }
    if !touched.isEmpty { try checkNobodyHasSaved(saves) }
    return saves
  }

  /// The updated objects by entity and changed property, without those that are inserted or deleted as well.
  @_optimize(none)
  private func namedProperties(
    _ updated: ManagedObjectIDs
  ) -> [String: [(name: String, keys: [ClosedRange<ObjectKey>])]] {
    var result: [String: [(name: String, keys: [ClosedRange<ObjectKey>])]] = [:]
    for (property, entities) in changedProperties {
      let changed = ManagedObjectIDs(
        groups: entities.map { entity, keys in context.registry.objectIDs(keys, ofEntity: entity) })
      for group in changed.subtracting(changed.subtracting(updated)).groups {
        result[group.entityName, default: []].append((property, group.keys))
      }
    }
    return result
  }

  // MARK: Written rows

  /// Calls a body with each row of some objects of an entity, as the batch has written it so far.
  ///
  /// The body gets the columns themselves. The property of an object with a generated class cannot show that a mandatory
  /// value is missing: it has the empty value of its type then, such as 0.
  @_optimize(none)
  func forEachRow(
    _ keys: [ObjectKey], of entity: EntityPlan, _ body: (ObjectKey, EntityPlan, RowReader) -> Void
  ) throws {
    for start in stride(from: 0, to: keys.count, by: 500) {
      let chunk = Array(keys[start..<min(start + 500, keys.count)])
      let rows = try reading.reader().rows(chunk, inSubtreeOf: entity)
      defer { rows.close() }
      while try rows.next() {
        guard let plan = rows.isMixed ? model.entity(rows.entityName) : entity,
          let row = rows.reader(of: plan, nil)
        else { continue }
        body(rows.key, plan, row)
      }
    }
  }

  // MARK: Which rows a request is for

  /// The rows of a request without limit and offset, if the store can select them while it changes them; nil
  /// otherwise.
  func selection(_ run: FetchRun) throws -> (rows: RowSelection, readRoots: Set<Int>)? {
    guard run.limit == nil, run.offset == 0 else { return nil }
    return try rows.selection(of: run.query)
  }

  func fetchRun<Object>(_ request: FetchRequest<Object>) throws -> FetchRun {
    try FetchRun(request, of: entity, in: reading, now: now)
  }

  func id(_ key: ObjectKey, _ entity: EntityPlan) -> ManagedObjectID {
    context.registry.objectID(key, ofEntity: entity.index)
  }
}

// Rules across rows: orders, counts, files.
extension BatchRun {
  /// The relationship on the other side.
  func inverse(of relationship: RelationshipPlan) -> RelationshipPlan? {
    relationship.inverseSlot.flatMap { model.entities[relationship.destination].relationship($0) }
  }

  /// Moves rows whose reference was set to the end of the other side's ordered relationship.
  ///
  /// - Parameter moved: Rows that may have a former position.
  func appendPositions(
    _ relationship: RelationshipPlan, _ selected: RowSelection, moved: [ObjectKey] = []
  )
    throws
  {
    guard let inverse = inverse(of: relationship) else { return }
    try rows.appendPositions(inverse, entity, selected, moved: moved, gap: Positions.gap)
  }

  /// The objects that the references of rows lead to, if their side has a rule on the number of objects.
  @_optimize(none)
  func countedTargets(of relationship: RelationshipPlan, _ selected: RowSelection) throws -> [ObjectKey] {
    guard let inverse = inverse(of: relationship), Self.hasCountRule(inverse),
      case .reference(let column) = relationship.storage,
      let owner = model.entity(relationship.owner)
    else { return [] }
    return try rows.targets(of: owner.columns[column], of: owner, selected)
  }

  func checkCountsOfTargets(of relationship: RelationshipPlan, _ selected: RowSelection) throws {
    guard let inverse = inverse(of: relationship) else { return }
    try checkCounts(of: inverse, of: try countedTargets(of: relationship, selected))
  }

  static func hasCountRule(_ relationship: RelationshipPlan) -> Bool {
    let description = relationship.description
    return !description.isOptional || description.minimumCount != nil || description.maximumCount != nil
  }

  /// Throws if objects have too few or too many related objects.
  @_optimize(none)
  func checkCounts(of relationship: RelationshipPlan, of keys: [ObjectKey]) throws {
    guard !keys.isEmpty, let owner = model.entity(relationship.owner) else { return }
    let description = relationship.description
    let least = max(description.minimumCount ?? 0, description.isOptional ? 0 : 1)
    let most = description.isToMany ? description.maximumCount ?? Int.max : 1
    let found = try rows.ownersWithWrongCount(
      relationship, of: keys, least...most, most: BatchRowWriter.maximumMistakes)
    let mistakes = found.map { key, count in
      BatchMistake(
        entity: owner.name, property: relationship.name,
        reason: relationship.isToMany ? .wrongCount(count) : .missingValue, objectID: id(key, owner))
    }
    if !mistakes.isEmpty { throw BatchError.invalid(mistakes) }
  }

  /// Throws the first of the mistakes that a batch has found, if there are any.
  @_optimize(none)
  func refuse(_ mistakes: [BatchMistake]) throws {
    if !mistakes.isEmpty { throw BatchError.invalid(Array(mistakes.prefix(BatchRowWriter.maximumMistakes))) }
  }

  /// Lists the files that rows refer to, for a later collection.
  @_optimize(none)
  func listFiles(_ slots: [PropertyPlan], of entity: EntityPlan, _ selected: RowSelection) throws {
    let columns = slots.filter { $0.mayNameFile }
      .flatMap { $0.columns.map { entity.columns[$0].name } }
    try rows.listFiles(columns, of: entity, selected, at: now)
  }
}
