public import CDModel
public import CDRuntime
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What came of copying a store of Core Data.
///
/// ```swift
/// func report(_ copy: CoreDataStoreCopy) {
///   for (entity, count) in copy.counts.sorted(by: { $0.key < $1.key }) { print(entity, count) }
///   for remark in copy.remarks { print(remark) }
///   print(copy.losses)
/// }
/// ```
public struct CoreDataStoreCopy: Hashable, Sendable {
  /// The version of the model that the store is of.
  public let version: ModelVersion
  /// The counts of objects of just each entity, by its name in the model.
  public let counts: [String: Int]
  /// What is worth to be known and is no value of an object: a sentence each.
  public let remarks: [String]
  /// The values that have no place in the copy; none unless they were accepted.
  public let losses: CoreDataLosses
}

extension CoreDataStore {
  /// Makes a store of cdgen of it, of the same version of the model, with the same UUID and the same keys.
  ///
  /// ```swift
  /// let new = url.appendingPathExtension("new")
  /// try CoreDataStore(at: url).copy(to: .sqlite(new), model: LibraryModel.model)
  /// // Opening it migrates it, if it is of an older version.
  /// let container = try PersistentContainer(for: LibraryModel.self, at: new)
  /// ```
  ///
  /// - Parameters:
  ///   - location: Where there is no file yet. A copy in memory would be gone at once: see ``CoreDataStoreFormat``.
  ///   - model: The model that was made of Xcode's. A store is opened by a model of the same identity alone.
  ///   - version: The number of the version that the store is of; nil to find out.
  ///   - acceptsLosses: Whether to go on without values that have no place in the copy, which are reported.
  /// - Throws: ``CoreDataStoreError``, with all losses where they are not accepted, or `StoreError`. Nothing has been
  ///   made then, and the store is as it was in any case.
  @discardableResult
  public func copy(
    to location: StoreLocation, model: ManagedObjectModel, version: Int? = nil,
    acceptsLosses: Bool = false
  ) throws -> CoreDataStoreCopy {
    let format = CoreDataStoreFormat(model: model, version: version, acceptsLosses: acceptsLosses)
    do {
      try PersistentStoreCoordinator.copyPersistentStore(at: url, to: location, formats: [format])
    } catch {
      throw format.outcome.result.withLock(\.error) ?? error
    }
    let result = format.outcome.result.withLock { $0 }
    guard let version = result.version else {
      throw CoreDataStoreError.notACoreDataStore(url, reason: "it is none any more")
    }
    return CoreDataStoreCopy(
      version: version, counts: result.report.counts, remarks: result.report.allRemarks,
      losses: result.report.losses)
  }
}
