#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a migration has done.
///
/// ```swift
/// let coordinator = try PersistentStoreCoordinator(for: ToDoModel.self, at: .sqlite(url))
/// for result in coordinator.migrations {
///   print("from version \(result.source) to \(result.destination) in \(result.duration)")
///   if let backup = result.backup { print("the old store is \(backup.path(percentEncoded: false))") }
/// }
/// ```
public struct MigrationResult: Hashable, Sendable {
  /// The store's file.
  public let storeURL: URL
  /// The steps that the store went, in order. One from a version to itself leads from a draft of it.
  public let steps: [MigrationError.Step]
  /// Whether all was one transaction in the store's own file. Otherwise a new file has taken its place.
  public let isInPlace: Bool
  /// The store of before; nil where the migration was in place. It goes when the store is opened the next time,
  /// unless ``PersistentStoreDescription/keepsBackup`` is set.
  public let backup: URL?
  /// Whether the store was not migrated, but removed and made anew: it was of a draft that had changed, and
  /// ``PersistentStoreDescription/changedDraftPolicy`` said so.
  public internal(set) var hasErasedStore = false
  /// How long it took.
  public let duration: Duration

  /// The number of the version that the store was of; in a store of several merged models, that of the first to move.
  public var source: Int { steps.first?.source ?? 0 }
  /// The number of the version that it is of now; in a store of several merged models, that of the last to move.
  public var destination: Int { steps.last?.destination ?? 0 }
}
