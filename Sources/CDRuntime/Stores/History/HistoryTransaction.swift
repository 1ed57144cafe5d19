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
  /// Which objects were inserted, updated and deleted. Entities that the model has no more are left out.
  public let changes: ObjectChanges
  /// Whether a context of this coordinator wrote it.
  public let isOwn: Bool
  /// The point of the history right after it.
  public let token: HistoryToken
  let updatedProperties: [UpdatedProperty]

  /// The updated objects of one entity whose values of a property were changed.
  struct UpdatedProperty: Hashable, Sendable {
    let entityName: String
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
    return Set(
      updatedProperties.filter { $0.entityName == id.entityName && $0.contains(id.key) }.map(\.name))
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
