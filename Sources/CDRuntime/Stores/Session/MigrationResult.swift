#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The result of a migration.
///
/// ```swift
/// let coordinator = try PersistentStoreCoordinator(for: ToDoModel.self, at: .sqlite(url))
/// for result in coordinator.migrations {
///   print("from version \(result.source) to \(result.destination) in \(result.duration)")
///   if let backup = result.backup { print("the old store is \(backup.path(percentEncoded: false))") }
/// }
/// ```
public struct MigrationResult: Hashable, Sendable {
  /// The store's file, or the address of a store on a server.
  public let storeURL: URL
  /// The migration steps in order. A step whose source and destination are the same version starts from a draft of that
  /// version.
  public let steps: [MigrationError.Step]
  /// Whether the migration was one transaction in the store's own file or on its server. Otherwise, a new file replaced
  /// the store's file.
  public let isInPlace: Bool
  /// The store as it was before the migration, or nil if the migration was in place. The next opening of the store
  /// removes this backup, unless ``PersistentStoreDescription/keepsBackup`` is set.
  public let backup: URL?
  /// Whether the store was erased and created anew instead of migrated. This happens if the store's version was a draft
  /// that has changed and ``PersistentStoreDescription/changedDraftPolicy`` allows it.
  public internal(set) var hasErasedStore = false
  /// The first key of new objects in the file that replaces an erased one.
  var firstKey: ObjectKey = 1
  /// The schema that has the tables of the store since the migration, if a migration on a server has created them beside the
  /// store's own schema; otherwise nil.
  public package(set) var schemaBeside: String?
  /// The duration of the migration.
  public let duration: Duration

  /// The number of the store's version before the migration. For a store of several merged models, the number belongs
  /// to the first step's model.
  public var source: Int { steps.first?.source ?? 0 }
  /// The number of the store's version after the migration. For a store of several merged models, the number belongs to
  /// the last step's model.
  public var destination: Int { steps.last?.destination ?? 0 }
}
