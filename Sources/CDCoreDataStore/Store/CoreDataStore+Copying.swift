public import CDModel
public import CDRuntime
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The result of copying a Core Data store.
///
/// ```swift
/// func report(_ copy: CoreDataStoreCopy) {
///   for (entity, count) in copy.counts.sorted(by: { $0.key < $1.key }) { print(entity, count) }
///   for remark in copy.remarks { print(remark) }
///   print(copy.losses)
/// }
/// ```
public struct CoreDataStoreCopy: Hashable, Sendable {
  /// The version of the model that fits the store.
  public let version: ModelVersion
  /// The number of objects of each entity, without subentities, by the entity's name in the model.
  public let counts: [String: Int]
  /// Remarks about findings that are not values of objects, one sentence each.
  public let remarks: [String]
  /// The values that the copy cannot hold; empty unless losses were accepted.
  public let losses: CoreDataLosses
}

extension CoreDataStore {
  /// Creates a cdgen store from this store, of the same version of the model, with the same UUID and the same keys.
  ///
  /// ```swift
  /// let new = url.appendingPathExtension("new")
  /// try CoreDataStore(at: url).copy(to: .sqlite(new), model: LibraryModel.model)
  /// // Opening it migrates it, if it is of an older version.
  /// let container = try PersistentContainer(for: LibraryModel.self, at: new)
  /// ```
  ///
  /// - Parameters:
  ///   - location: A location without a file. A copy in memory would be lost at once: see ``CoreDataStoreFormat``.
  ///   - model: The model that was imported from Xcode's model. Only a model with the same identity can open the copy.
  ///   - version: The number of the store's version; nil to find it.
  ///   - acceptsLosses: Whether to continue without values that the copy cannot hold. The result lists them.
  /// - Throws: ``CoreDataStoreError``, with all losses if they are not accepted, or `StoreError`. No copy has been
  ///   created then. The store itself is never changed.
  @discardableResult
  public func copy(
    to location: StoreLocation, model: ManagedObjectModel, version: Int? = nil,
    acceptsLosses: Bool = false
  ) throws -> CoreDataStoreCopy {
    let format = CoreDataStoreFormat(model: model, version: version, acceptsLosses: acceptsLosses)
    try PersistentStoreCoordinator.copyPersistentStore(at: url, to: location, formats: [format])
    let result = format.outcome.result.withLock { $0 }
    guard let version = result.version else {
      throw CoreDataStoreError.notACoreDataStore(url, reason: "it is no longer a store of Core Data")
    }
    return CoreDataStoreCopy(
      version: version, counts: result.report.counts, remarks: result.report.allRemarks,
      losses: result.report.losses)
  }
}
