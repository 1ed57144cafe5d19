#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PersistentStoreCoordinator {
  /// Reads what a store says of itself, without opening it as a store: nothing is made, changed or migrated.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - formats: The app's own, where the store may be of one of them.
  /// - Throws: ``StoreError`` where there is no store that this release can read.
  public static func metadata(
    forStoreAt url: URL, formats: [any StoreFormat] = []
  ) throws -> PersistentStoreMetadata {
    try PersistentStoreMetadata(ofStoreAt: url, formats: formats)
  }

  /// What one of the coordinator's stores says of itself; nil for another store's UUID.
  public func metadata(forStore id: UUID) throws -> PersistentStoreMetadata? {
    try engine.write { session in
      guard let store = session.reader.stores[id] else { return nil }
      return try PersistentStoreMetadata(session.metadata(of: store), url: store.url)
    }
  }

  /// Keeps values of the app's own in a store, at once: those of before are replaced.
  ///
  /// - Throws: ``StoreError``.
  public func setMetadata(_ values: [String: String], forStore id: UUID) throws {
    try engine.write { session in
      guard let store = session.reader.stores[id] else { return }
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
      try session.write(to: store) { try session.setMetadata(values, of: store) }
    }
  }
}

extension PersistentStoreCoordinator {
  /// Removes a store: its file, what SQLite keeps beside it, and its large values. A symbolic link to the file stays, and
  /// so does what else somebody has put into the folder of the large values.
  ///
  /// - Throws: ``StoreError/notADatabase(_:)`` or ``StoreError/foreignDatabase(_:)`` for a file that is no store, and
  ///   ``StoreError/inUse(_:)`` where somebody has it open: nothing was removed then. If there is no file, nothing
  ///   happens.
  public static func destroyPersistentStore(at url: URL, formats: [any StoreFormat] = []) throws {
    let url = try Disk.resolvingLink(url)
    guard FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) else { return }
    _ = try metadata(forStoreAt: url, formats: formats)
    let removal = StoreRemoval(url: url)
    if let format = try StoreLocation(recognizing: url, formats: formats).format {
      if format.isReadOnly { throw StoreError.readOnly(url) }
      // Nobody else may have it, or get it, until it is gone.
      let file = try StoreFile(url, format, isReadOnly: false)
      try withExtendedLifetime(file) { try removal.removeFiles() }
    } else {
      _ = try removal.removeDatabase { _ in true }
    }
  }
}
