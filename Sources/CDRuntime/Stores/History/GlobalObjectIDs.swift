/// Global identifiers of many objects, each once. Neighbours are kept as one range.
///
/// ```swift
/// for transaction in try coordinator.history() {
///   for id in transaction.globalChanges.deleted { print(id.entityName, id.key) }
/// }
/// ```
public struct GlobalObjectIDs: RandomAccessCollection, Hashable, Sendable {
  /// The same, as if they were identifiers of the stores in which the objects were inserted.
  private let ids: ManagedObjectIDs

  init(_ intervals: [StoreBirths.Interval]) {
    ids = ManagedObjectIDs(
      groups: intervals.map {
        ManagedObjectIDs.Group(
          storeID: $0.first.storeID, entityName: $0.first.entityName, keys: [$0.firstKeys])
      })
  }

  /// 0.
  public var startIndex: Int { 0 }
  /// The count.
  public var endIndex: Int { ids.count }

  /// The global identifier at a place.
  public subscript(position: Int) -> GlobalObjectID {
    let id = ids[position]
    return GlobalObjectID(storeID: id.storeID, entityName: id.entityName, key: id.key)
  }

  /// Whether a global identifier is one of them.
  public func contains(_ id: GlobalObjectID) -> Bool {
    ids.contains(ManagedObjectID(storeID: id.storeID, entityName: id.entityName, key: id.key))
  }
}

/// Which objects were changed, by identifiers that are the same in all replicas: see ``HistoryTransaction/globalChanges``.
///
/// ```swift
/// func count(_ changes: GlobalObjectChanges) -> Int {
///   changes.inserted.count + changes.updated.count + changes.deleted.count
/// }
/// ```
public struct GlobalObjectChanges: Hashable, Sendable {
  /// New objects.
  public let inserted: GlobalObjectIDs
  /// Objects with other values or relationships.
  public let updated: GlobalObjectIDs
  /// Objects that are gone.
  public let deleted: GlobalObjectIDs
}

/// What entries of the history mean by an entity and a key, which is the same between two migrations.
struct HistoryPeriod: Hashable, Sendable {
  /// The root entity of each entity.
  let roots: [String: String]
  let tables: StoreBirths.Tables

  /// Objects of an entity by where they were inserted.
  func intervals(of keys: [ClosedRange<ObjectKey>], _ entityName: String) -> [StoreBirths.Interval] {
    guard let root = roots[entityName] else { return [] }
    return keys.flatMap { tables.intervals(of: $0, in: root) }
  }
}
