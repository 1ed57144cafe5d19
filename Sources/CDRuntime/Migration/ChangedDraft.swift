#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A store that was written with a draft of the model which has changed since, and that may make way for a new one.
struct ChangedDraft {
  private let error: MigrationError
  private let locked: Set<Int>
  private let lockedParts: [UUID: Set<Int>]
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
    locked = source.model.lockedVersionNumbers
    lockedParts = Dictionary(
      source.model.parts.map { ($0.id, $0.lockedVersionNumbers) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether a store is one that was refused: of a version of which no user has stores.
  func isIn(_ found: StoreMetadata) -> Bool {
    guard found.versionNumber == error.step?.source, !locked.contains(found.versionNumber) else {
      return false
    }
    return lockedParts.allSatisfy { part, locked in
      found.partVersions[part].map { !locked.contains($0) } ?? locked.isEmpty
    }
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
