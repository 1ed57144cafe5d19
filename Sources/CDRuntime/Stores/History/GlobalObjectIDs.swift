/// The global identifiers of many objects, each once. Consecutive identifiers are stored as one range.
///
/// ```swift
/// for transaction in try coordinator.history() {
///   for id in transaction.globalChanges.deleted { print(id.entityName, id.key) }
/// }
/// ```
public struct GlobalObjectIDs: RandomAccessCollection, Hashable, Sendable {
  /// The identifiers that the objects had in the stores in which they were inserted.
  private let ids: ManagedObjectIDs

  @_optimize(none)
  init(_ intervals: [InsertionOrigins.Interval]) {
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

  /// The global identifier at a position.
  public subscript(position: Int) -> GlobalObjectID {
    let id = ids[position]
    return GlobalObjectID(storeID: id.storeID, entityName: id.entityName, key: id.key)
  }

  /// Whether a global identifier is one of them.
  public func contains(_ id: GlobalObjectID) -> Bool {
    ids.contains(ManagedObjectID(storeID: id.storeID, entityName: id.entityName, key: id.key))
  }
}

/// The objects that a save or batch changed, by identifiers that are the same in all replicas. See
/// ``HistoryTransaction/globalChanges``.
///
/// ```swift
/// func count(_ changes: GlobalObjectChanges) -> Int {
///   changes.inserted.count + changes.updated.count + changes.deleted.count
/// }
/// ```
public struct GlobalObjectChanges: Hashable, Sendable {
  /// The new objects.
  public let inserted: GlobalObjectIDs
  /// The objects whose values or relationships were changed.
  public let updated: GlobalObjectIDs
  /// The deleted objects.
  public let deleted: GlobalObjectIDs
}
