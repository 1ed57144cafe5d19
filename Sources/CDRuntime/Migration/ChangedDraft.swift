import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What becomes of a store that was written with a draft of the model which has changed since, so that it cannot follow
/// without a loss.
///
/// A version is a draft until `cdgen lock` locks it. While it is worked on, stores that were written with an earlier state
/// of it follow where nothing is lost. Where something is, a store of the developer's own is in the way and nothing else:
///
/// ```swift
/// var description = PersistentStoreDescription(.sqlite(url))
/// description.changedDraftPolicy = .eraseInDebugBuilds
/// let coordinator = try PersistentStoreCoordinator(for: ToDoModel.self, stores: [description])
/// if coordinator.migrations.contains(where: \.hasErasedStore) { print("begun anew") }
/// ```
///
/// A store is erased only where the model says, by its `lockedVersionNumbers`, that the
/// version is not locked: users may have stores of one that is. No policy erases those.
public enum ChangedDraftPolicy: Hashable, Sendable, CaseIterable {
  /// The store stays as it is, and opening it throws a ``MigrationError``.
  case refuse
  /// In a build with `DEBUG`, which a debug build with SwiftPM or Xcode is, the store and all that belongs to it are
  /// removed, and a new one is made. In any other build the store is refused.
  case eraseInDebugBuilds
  /// The same in every build. For apps alone of which nobody has a store that matters.
  case eraseInEveryBuild

  /// Whether this build erases.
  fileprivate var erases: Bool {
    switch self {
    case .refuse: return false
    case .eraseInEveryBuild: return true
    case .eraseInDebugBuilds:
      #if DEBUG
        return true
      #else
        return false
      #endif
    }
  }
}

/// A store that was written with a draft of the model which has changed since, and that may make way for a new one.
struct ChangedDraft {
  private let error: MigrationError
  private let model: ManagedObjectModel
  private let start = ContinuousClock.now

  /// - Returns: Nil where the migration failed for another reason, or where nothing may be erased.
  init?(_ error: any Error, of description: PersistentStoreDescription, _ source: StoreSource) {
    guard description.changedDraftPolicy.erases, let error = error as? MigrationError,
      let step = error.step, step.source == step.destination
    else { return nil }
    switch error.reason {
    case .losesData, .missingValue, .invalidValue, .duplicate, .danglingReference: break
    default: return nil
    }
    self.error = error
    model = source.model
  }

  /// Whether a store is one that was refused: of a version of which no user has stores.
  func isIn(_ found: StoreMetadata) -> Bool {
    found.versionNumber == error.step?.source && !found.isLocked(found.versionNumber, in: model)
  }

  /// What the opening is to say of a store that has made way.
  var result: MigrationResult {
    MigrationResult(
      storeURL: error.url, steps: error.step.map { [$0] } ?? [], isInPlace: false, backup: nil,
      hasErasedStore: true, duration: ContinuousClock.now - start)
  }

  /// Removes the store of a SQLite file, where it is still the one that was refused and nobody has it open.
  ///
  /// - Throws: The error of the migration where it is not.
  func erase(_ url: URL) throws {
    let file = try Disk.resolvingLink(url)
    // A look first, which leaves a store as it is that has to stay.
    guard isIn(try Self.metadata(of: file, url)) else { throw error }
    guard try StoreRemoval(url: file).removeDatabase(where: isIn) else { throw error }
  }

  private static func metadata(of file: URL, _ url: URL) throws -> StoreMetadata {
    let reader = try SQLiteConnection(path: file.path(percentEncoded: false), of: [url], busyTimeout: 0)
    return try reader.read { try StoreMetadata(reader, url: url) }
  }

  /// Why the store could not follow.
  var reason: any Error { error }
}
