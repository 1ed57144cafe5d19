#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One batch's transaction, and what it changes.
final class BatchRun {
  let context: ManagedObjectContext
  let entity: EntityPlan
  /// The stores that are open.
  let stores: StoreSet
  /// What works on many rows at a time.
  let rows: any StoreBatchSession
  private let session: any StoreWriteSession
  /// What was changed, by the index of the entity.
  private var inserted: [Int: KeyRanges] = [:]
  private var updated: [Int: KeyRanges] = [:]
  /// The updated ones by the name of what was changed.
  private var changedProperties: [String: [Int: KeyRanges]] = [:]
  private var deleted: [Int: KeyRanges] = [:]
  /// One time for the whole batch.
  let now = Date()
  var model: ModelPlan { context.model }

  /// A context that reads what the transaction has written so far, for what the store does not answer. Its unsaved
  /// changes are none.
  private(set) lazy var reading = ManagedObjectContext(
    context.persistentStoreCoordinator, readingBy: session.reader)

  init(_ context: ManagedObjectContext, _ session: any StoreWriteSession, _ entity: EntityPlan) {
    self.context = context
    self.session = session
    self.entity = entity
    stores = session.reader.stores
    rows = session.batch
  }

  /// Runs a batch: all of it or, where it throws, nothing.
  ///
  /// - Parameter body: Gives how many objects the request was for.
  func run(_ body: () throws -> Int) throws -> BatchResult {
    guard let store = stores.store(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    try check(store)
    do {
      try session.begin()
      do {
        let count = try body()
        let changes = allChanges()
        try session.commit(changed: try writeHistory(of: changes)) {}
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

  private func check(_ store: any AttachedStore) throws {
    try store.checkIdentity()
    if store.isReadOnly { throw StoreError.readOnly(store.url) }
  }

  // MARK: What was changed

  func noteInserted(_ keys: ClosedRange<ObjectKey>, of entity: EntityPlan) {
    inserted[entity.index, default: KeyRanges()].append(keys)
  }

  /// - Parameter properties: The names of what was changed of them.
  func noteUpdated(_ keys: [FetchedKey], _ properties: some Sequence<String>) {
    noteUpdated(KeyRanges.byEntity(keys), properties)
  }

  func noteUpdated(_ keys: [Int: KeyRanges], _ properties: some Sequence<String>) {
    Self.note(keys, in: &updated)
    for property in properties { Self.note(keys, in: &changedProperties[property, default: [:]]) }
  }

  func noteDeleted(_ keys: [Int: KeyRanges]) { Self.note(keys, in: &deleted) }

  private static func note(_ keys: [Int: KeyRanges], in changes: inout [Int: KeyRanges]) {
    for (entity, keys) in keys {
      for range in keys.ranges { changes[entity, default: KeyRanges()].append(range) }
    }
  }

  static func byEntity(_ keys: [FetchedKey]) -> [(entity: Int, keys: [ObjectKey])] {
    guard let first = keys.first else { return [] }
    if keys.allSatisfy({ $0.entity == first.entity }) { return [(first.entity, keys.map(\.key))] }
    return Dictionary(grouping: keys, by: \.entity).sorted { $0.key < $1.key }
      .map { ($0.key, $0.value.map(\.key)) }
  }

  private func allChanges() -> ObjectChanges {
    func ids(_ keys: [Int: KeyRanges]) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: keys.map { entity, keys in
          let scope = context.scopes[entity]
          return ManagedObjectIDs.Group(
            storeID: scope.storeID, entityName: scope.plan.name, keys: keys.ranges)
        })
    }
    let deleted = ids(self.deleted)
    let inserted = ids(self.inserted)
    return ObjectChanges(
      inserted: inserted, updated: ids(updated).subtracting(deleted).subtracting(inserted), deleted: deleted)
  }

  /// - Returns: The stores that have changed.
  private func writeHistory(of changes: ObjectChanges) throws -> [any AttachedStore] {
    let groups = changes.inserted.groups + changes.updated.groups + changes.deleted.groups
    let changed = Set(groups.map(\.storeID))
    let touched = stores.all.filter { changed.contains($0.storeID) }
    let mark = HistoryText.Mark(save: UUID.random(), stores: touched.count > 1 ? touched.map(\.storeID) : [])
    let properties = namedProperties(changes.updated)
    for store in touched {
      guard let text = HistoryText.text(changes, of: store.storeID, mark, properties: properties) else {
        continue
      }
      // A delete rule may have led to another store.
      try check(store)
      _ = try session.addSave(
        to: store, at: now, origin: context.engine.origin, author: context.transactionAuthor, text)
    }
    return touched
  }

  /// The updated objects by entity and changed property, without those that are inserted or deleted as well.
  private func namedProperties(
    _ updated: ManagedObjectIDs
  ) -> [String: [(name: String, keys: [ClosedRange<ObjectKey>])]] {
    var result: [String: [(name: String, keys: [ClosedRange<ObjectKey>])]] = [:]
    for (property, entities) in changedProperties {
      let changed = ManagedObjectIDs(
        groups: entities.map { entity, keys in
          let scope = context.scopes[entity]
          return ManagedObjectIDs.Group(
            storeID: scope.storeID, entityName: scope.plan.name, keys: keys.ranges)
        })
      for group in changed.subtracting(changed.subtracting(updated)).groups {
        result[group.entityName, default: []].append((property, group.keys))
      }
    }
    return result
  }

  // MARK: Which rows a request is for

  /// The rows of a request where the store alone can tell them while it changes them, and there is no window.
  func selection(_ run: FetchRun) throws -> (rows: RowSelection, readRoots: Set<Int>)? {
    guard run.limit == nil, run.offset == 0 else { return nil }
    return try rows.selection(of: run.query)
  }

  func fetchRun<Object>(_ request: FetchRequest<Object>) throws -> FetchRun {
    try FetchRun(request, of: entity, in: reading)
  }

  func id(_ key: ObjectKey, _ entity: EntityPlan) -> ManagedObjectID {
    ManagedObjectID(storeID: context.scopes[entity.index].storeID, entityName: entity.name, key: key)
  }
}
