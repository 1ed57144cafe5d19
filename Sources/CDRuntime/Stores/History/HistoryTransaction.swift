#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// One save or batch as a store's history tells it, of whatever context and process.
///
/// ```swift
/// let token = try coordinator.currentHistoryToken()
/// // … later, or after another start of the app:
/// for transaction in try coordinator.history(after: token) where transaction.author != "import" {
///   print(transaction.date, transaction.changes.deleted)
/// }
/// ```
public struct HistoryTransaction: Hashable, Sendable {
  /// When it was written, by the clock of whoever did it.
  public let date: Date
  /// The ``ManagedObjectContext/transactionAuthor`` of the context that wrote it.
  public let author: String?
  /// The UUID of the store.
  public let storeID: UUID
  /// What tells the save or batch from all others. Where it wrote to several stores, it is the same in each of them. Nil
  /// where the store's file does not say.
  public let saveID: UUID?
  /// Which objects were inserted, updated and deleted. Entities that the model has no more are left out, and so are
  /// objects that another entity has taken over.
  public let changes: ObjectChanges
  /// Whether a context of this coordinator wrote it.
  public let isOwn: Bool
  /// The point of the history right after it.
  public let token: HistoryToken
  /// What was recorded, by the entities and keys of now.
  let objects: [Recorded]
  /// The same by the entities and keys of then.
  let recorded: [Recorded]
  /// What they mean.
  let period: HistoryPeriod

  /// What was changed of one entity's objects.
  struct Recorded: Hashable, Sendable {
    let entityName: String
    let inserted: [ClosedRange<ObjectKey>]
    let updated: [ClosedRange<ObjectKey>]
    let deleted: [ClosedRange<ObjectKey>]
    let properties: [Property]

    func properties(of key: ObjectKey) -> [String] { properties.filter { $0.contains(key) }.map(\.name) }
  }

  /// The updated objects of one entity whose values of a property were changed.
  struct Property: Hashable, Sendable {
    let name: String
    /// In their order, with a gap between two.
    let keys: [ClosedRange<ObjectKey>]

    func contains(_ key: ObjectKey) -> Bool {
      var (low, high) = (0, keys.count)
      while low < high {
        let middle = (low + high) / 2
        if keys[middle].upperBound < key { low = middle + 1 } else { high = middle }
      }
      return low < keys.count && keys[low].contains(key)
    }
  }

  /// The names of the properties that were changed of an updated object: what a copy elsewhere has to be told. Of derived
  /// attributes a batch names all that it has computed anew.
  ///
  /// A change of a relationship is named on the side whose row or pairs it changes, and on the other side where the context
  /// had that object. None for objects that were not updated.
  ///
  /// ```swift
  /// for transaction in try coordinator.history() {
  ///   for id in transaction.changes.updated { print(id, transaction.updatedProperties(of: id)) }
  /// }
  /// ```
  public func updatedProperties(of id: ManagedObjectID) -> Set<String> {
    guard id.storeID == storeID else { return [] }
    return Set(objects.filter { $0.entityName == id.entityName }.flatMap { $0.properties(of: id.key) })
  }

  /// Which objects were inserted, updated and deleted, by identifiers that are the same in all replicas of the store.
  ///
  /// Objects are among them whatever became of them since: those that were deleted later, and those of entities that
  /// the model has no more. So are objects whose key or entity a migration has changed.
  public var globalChanges: GlobalObjectChanges {
    func ids(_ keys: (Recorded) -> [ClosedRange<ObjectKey>]) -> GlobalObjectIDs {
      GlobalObjectIDs(recorded.flatMap { period.intervals(of: keys($0), $0.entityName) })
    }
    return GlobalObjectChanges(
      inserted: ids(\.inserted), updated: ids(\.updated), deleted: ids(\.deleted))
  }

  /// The names of the properties that were changed of an updated object, as the version of the model has them that the
  /// store had then. See ``updatedProperties(of:)-(ManagedObjectID)``.
  public func updatedProperties(of id: GlobalObjectID) -> Set<String> {
    let keys = period.tables.keys(of: id, in: Set(period.roots.values))
    return Set(
      recorded.flatMap { each in
        keys.filter { $0.root == period.roots[each.entityName] }.flatMap { each.properties(of: $0.key) }
      })
  }
}

/// A point in the history of a coordinator's stores. It can be kept outside of them.
///
/// ```swift
/// let data = try JSONEncoder().encode(coordinator.currentHistoryToken())
/// let token = try JSONDecoder().decode(HistoryToken.self, from: data)
/// let count = try coordinator.history(after: token).count
/// ```
public struct HistoryToken: Hashable, Codable, Sendable {
  /// The number of the last save, by the UUID of the store.
  var saves: [String: Int64]
}

/// Why a history cannot be told.
///
/// ```swift
/// do {
///   print(try coordinator.history(after: coordinator.currentHistoryToken()))
/// } catch HistoryError.expiredToken {
///   container.viewContext.refreshAllObjects()
/// }
/// ```
public enum HistoryError: Error, Hashable, Sendable {
  /// Some of what came after the token has been purged, or the file is one of before it: read everything anew.
  case expiredToken(storeID: UUID)
}

extension HistoryError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .expiredToken(let id):
      "the history of the store \(id) has been purged beyond the token; read everything anew, and take a new token"
    }
  }
}
