#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A save or batch in a store's history, written by any context or process.
///
/// ```swift
/// let token = try coordinator.currentHistoryToken()
/// // … later, or after another start of the app:
/// for transaction in try coordinator.history(after: token) where transaction.author != "import" {
///   print(transaction.date, transaction.changes.deleted)
/// }
/// ```
public struct HistoryTransaction: Hashable, Sendable {
  /// The time of the save, by the clock of the process that wrote it.
  public let date: Date
  /// The ``ManagedObjectContext/transactionAuthor`` of the context that wrote it.
  public let author: String?
  /// The UUID of the store.
  public let storeID: UUID
  /// The identifier of the save or batch. If it wrote to several stores, it has the same identifier in each store. Nil
  /// if the store's file has no identifier.
  public let saveID: UUID?
  /// The inserted, updated and deleted objects. Objects of entities that the model no longer has are left out, and so are
  /// objects that belong to another entity now.
  public let changes: ObjectChanges
  /// Whether a context of this coordinator wrote it.
  public let isOwn: Bool
  /// The point in the history directly after this transaction.
  public internal(set) var token: HistoryToken
  /// The changes of each entity's objects, by the present entities and keys.
  let objects: [Recorded]
  /// The same changes by the entities and keys at the time of the save.
  let recorded: [Recorded]
  /// The meaning of entities and keys at that time.
  let period: InsertionOrigins.Period

  /// The changes of one entity's objects.
  struct Recorded: Hashable, Sendable {
    let entityName: String
    let inserted: [ClosedRange<ObjectKey>]
    let updated: [ClosedRange<ObjectKey>]
    let deleted: [ClosedRange<ObjectKey>]
    let properties: [Property]

    func properties(of key: ObjectKey) -> [String] { properties.filter { $0.contains(key) }.map(\.name) }
  }

  /// The updated objects of one entity for which a property was changed.
  struct Property: Hashable, Sendable {
    let name: String
    /// In ascending order, with a gap between two ranges.
    let keys: [ClosedRange<ObjectKey>]

    func contains(_ key: ObjectKey) -> Bool { KeyRanges.contains(key, in: keys) }
  }

  /// Returns the names of the changed properties of an updated object, for example to update a copy of the object. For
  /// derived attributes, a batch names every attribute that it computed again.
  ///
  /// A change of a relationship is named on the side whose row or pairs it changes. It is named on the other side too
  /// if the context had that object. The result is empty for an object that was not updated.
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

  /// The inserted, updated and deleted objects, by identifiers that are the same in all replicas of the store.
  ///
  /// No object is left out. The identifiers also name objects that were deleted later, objects of entities that the model
  /// no longer has, and objects whose key or entity a migration has changed.
  @_optimize(none)
  public var globalChanges: GlobalObjectChanges {
    func ids(_ keys: (Recorded) -> [ClosedRange<ObjectKey>]) -> GlobalObjectIDs {
      GlobalObjectIDs(recorded.flatMap { period.intervals(of: keys($0), $0.entityName) })
    }
    return GlobalObjectChanges(
      inserted: ids(\.inserted), updated: ids(\.updated), deleted: ids(\.deleted))
  }

  /// Returns the names of the changed properties of an updated object, in the version of the model that the store had at
  /// the time of the save. See ``updatedProperties(of:)-(ManagedObjectID)``.
  public func updatedProperties(of id: GlobalObjectID) -> Set<String> {
    let keys = period.tables.keys(of: id, in: Set(period.roots.values))
    return Set(
      recorded.flatMap { each in
        keys.filter { $0.root == period.roots[each.entityName] }.flatMap { each.properties(of: $0.key) }
      })
  }
}

/// A point in the history of a coordinator's stores. You can save it outside the stores.
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

/// The reason why a history cannot be read.
///
/// ```swift
/// do {
///   print(try coordinator.history(after: coordinator.currentHistoryToken()))
/// } catch HistoryError.expiredToken {
///   container.viewContext.refreshAllObjects()
/// }
/// ```
public enum HistoryError: Error, Hashable, Sendable {
  /// Entries after the token have been purged, an older copy of the store's file has replaced the file, or the token names none
  /// of the stores. Read everything again.
  case expiredToken(storeID: UUID)
}

extension HistoryError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .expiredToken(let id):
      "the history of the store \(id) lacks entries after the token; read all objects again, and get a new token"
    }
  }
}

extension HistoryError: PresentableError {
  public var situation: ErrorSituation { .expiredHistory }
}
