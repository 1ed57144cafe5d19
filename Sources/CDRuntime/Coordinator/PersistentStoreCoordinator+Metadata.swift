#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PersistentStoreCoordinator {
  /// Reads the metadata of a store without opening it as a store. Creates, changes and migrates nothing.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - formats: The app's own formats, if the store may have one of them.
  /// - Throws: ``StoreError`` if there is no store that this release can read.
  public static func metadata(
    forStoreAt url: URL, formats: [any StoreFormat] = []
  ) throws -> PersistentStoreMetadata {
    try PersistentStoreMetadata(ofStoreAt: url, formats: formats)
  }

  /// Reads the metadata of a store at any location, such as a server, without opening it as a store. Creates, changes and
  /// migrates nothing.
  ///
  /// ```swift
  /// let location = StoreLocation.sqlite(url)
  /// let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: location)
  /// ```
  ///
  /// - Throws: ``StoreError`` if there is no store that this release can read.
  public static func metadata(forStoreAt location: StoreLocation) throws -> PersistentStoreMetadata {
    if case .engine(let engine) = location {
      return try engine.requiredTransfer.read { try PersistentStoreMetadata($0.metadata(), url: $0.url) }
    }
    guard let url = location.url else {
      throw StoreError.notSupported("the metadata of a store in memory without its coordinator")
    }
    return try metadata(forStoreAt: url, formats: location.ownFormats)
  }

  /// Returns the metadata of one of the coordinator's stores; nil if the coordinator has no store with this UUID.
  public func metadata(forStore id: UUID) throws -> PersistentStoreMetadata? {
    try engine.write { session in
      guard let store = session.reader.stores[id] else { return nil }
      return try PersistentStoreMetadata(session.reader.metadata(of: store), url: store.url)
    }
  }

  /// Writes the app's own values to a store's metadata at once. They replace all of the app's earlier values.
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
  /// Removes a store at any location, such as a server. If there is no store, the method does nothing.
  ///
  /// ```swift
  /// let location = StoreLocation.sqlite(url)
  /// try PersistentStoreCoordinator.destroyPersistentStore(at: location)
  /// ```
  ///
  /// A store on a server is removed even if other programs use it. They then get ``StoreError/replaced(_:)``.
  ///
  /// - Throws: ``StoreError/foreignDatabase(_:)`` if there is something else at the location, and other ``StoreError``s.
  ///   Nothing is removed then.
  public static func destroyPersistentStore(at location: StoreLocation) throws {
    if case .engine(let engine) = location { return try engine.requiredTransfer.remove() }
    if let url = location.url { try destroyPersistentStore(at: url, formats: location.ownFormats) }
  }

  /// Removes a store: its file, the files that SQLite keeps beside it, and its large values. A symbolic link to the
  /// file stays, and so do other files in the folder of the large values.
  ///
  /// If the store is open, the method waits for a while, up to about a second, because others may be about to close it. Call
  /// it outside the main actor if that is too long.
  ///
  /// Backups that were kept with ``PersistentStoreDescription/keepsBackup`` stay too, with their large values. To remove
  /// a backup, call this method with the backup's URL.
  ///
  /// - Throws: ``StoreError/notADatabase(_:)`` or ``StoreError/foreignDatabase(_:)`` if the file is not a store, and
  ///   ``StoreError/inUse(_:)`` if the store is open. Nothing is removed then. If there is no store, the method only removes
  ///   what a killed program has left beside it: a log, an unfinished copy, or the large values of an unfinished removal.
  public static func destroyPersistentStore(at url: URL, formats: [any StoreFormat] = []) throws {
    let url = try Disk.resolvingLink(url)
    let removal = StoreRemoval(url: url, formats: formats)
    try removal.completeSwitch()
    guard FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) else {
      return try removal.removeJournalsWithoutFile()
    }
    _ = try metadata(forStoreAt: url, formats: formats)
    if let format = try StoreLocation(recognizing: url, formats: formats).format {
      if format.isReadOnly { throw StoreError.readOnly(url) }
      try removal.remove(StoreFile(url, format, isReadOnly: false))
    } else {
      _ = try removal.removeDatabase { _, _ in true }
    }
  }
}
