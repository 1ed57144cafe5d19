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
  /// Which objects were inserted, updated and deleted. Entities that the model has no more are left out.
  public let changes: ObjectChanges
  /// Whether a context of this coordinator wrote it.
  public let isOwn: Bool
  /// The point of the history right after it.
  public let token: HistoryToken
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
