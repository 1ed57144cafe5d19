import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The policy for a store that was written with an earlier state of a draft version, if the store cannot be migrated to
/// the current state without a loss.
///
/// A version is a draft until `cdgen lock` locks it. While you work on the draft, stores that were written with an
/// earlier state of it are migrated if no data is lost. If data would be lost, the store is usually the developer's own
/// test store, and it can be erased:
///
/// ```swift
/// var description = PersistentStoreDescription(.sqlite(url))
/// description.changedDraftPolicy = .eraseInDebugBuilds
/// let coordinator = try PersistentStoreCoordinator(for: ToDoModel.self, stores: [description])
/// if coordinator.migrations.contains(where: \.hasErasedStore) { print("begun anew") }
/// ```
///
/// The keys of a new store begin after those of the erased one. So a reference that another store of the coordinator has to an
/// erased object leads to no new object.
///
/// A store is erased only if the model says, by its `lockedVersionNumbers`, that the version is not locked. Users may
/// have stores of a locked version, and no policy erases those.
///
/// A file that another program has open is not erased. A store on a server is, and the other programs get
/// ``StoreError/replaced(_:)``: the server does not know who has a store open.
public enum ChangedDraftPolicy: Hashable, Sendable, CaseIterable {
  /// Keeps the store as it is. Opening it throws a ``MigrationError``.
  case refuse
  /// In a build with `DEBUG` (a debug build of SwiftPM or Xcode), removes the store with all its files and creates a
  /// new one. In any other build, refuses the store.
  case eraseInDebugBuilds
  /// Erases the store in every build. Use it only for apps whose stores matter to nobody.
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

/// A store that was refused because its draft version has changed, and that the policy allows to erase.
struct ChangedDraft {
  private let error: MigrationError
  private let model: ManagedObjectModel
  private let start = ContinuousClock.now

  /// Creates the value from a migration's error.
  ///
  /// - Returns: Nil if the migration failed for another reason, or if the policy does not allow to erase the store.
  @_optimize(none)
  init?(_ error: any Error, of description: PersistentStoreDescription, _ source: StoreSource) {
    guard description.changedDraftPolicy.erases, let error = error as? MigrationError,
      let step = error.step, step.source == step.destination
    else { return nil }
    switch error.reason {
    case .losesData, .missingValue, .invalidValue, .duplicate, .danglingReference: break
    // Only a mapping could say what happens then, but none leads from a draft to itself.
    case .relationshipLeavesStore, .notProven: break
    default: return nil
    }
    self.error = error
    model = source.model
  }

  /// Whether a store's metadata are those of the refused store, and the store's version is not locked.
  func isIn(_ found: StoreMetadata) -> Bool {
    found.versionNumber == error.step?.source && !found.isLocked(found.versionNumber, in: model)
  }

  /// The result that the opening reports for an erased store.
  @_optimize(none)
  var result: MigrationResult {
    MigrationResult(
      storeURL: error.url, steps: error.step.map { [$0] } ?? [], isInPlace: false, backup: nil,
      hasErasedStore: true, duration: ContinuousClock.now - start)
  }

  /// Removes a SQLite store, if it is still the refused one and no other connection has it open.
  ///
  /// - Returns: The result that the opening reports.
  /// - Throws: The error of the migration if the store was not removed.
  @_optimize(none)
  func erase(_ url: URL) throws -> MigrationResult {
    let file = try Disk.resolvingLink(url)
    // Reads the metadata first, so that a store that has to stay is not touched.
    guard isIn(try StoreMetadata(ofDatabaseAt: file, url)) else { throw error }
    var result = self.result
    let isRemoved = try StoreRemoval(url: file).removeDatabase { found, connection in
      guard isIn(found) else { return false }
      result.firstKey = try connection.unusedKey()
      return true
    }
    guard isRemoved else { throw error }
    return result
  }

  /// The error that explains why the store was not migrated.
  var reason: any Error { error }
}
