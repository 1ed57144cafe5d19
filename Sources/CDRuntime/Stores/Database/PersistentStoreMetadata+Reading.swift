#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The metadata of a store that need not be open.
extension PersistentStoreMetadata {
  /// Reads the metadata of a store, which need not be open.
  init(ofStoreAt url: URL, formats: [any StoreFormat]) throws {
    try self.init(StoreMetadata(ofStoreAt: url, formats: formats), url: url)
  }

  init(ofStoreAt url: URL, format: any StoreFormat) throws {
    try self.init(StoreMetadata(ofStoreAt: url, format: format), url: url)
  }

  init(ofStoreAt url: URL, rollsBack: Bool) throws {
    try self.init(StoreMetadata(ofStoreAt: url, rollsBack: rollsBack), url: url)
  }
}

extension StoreMetadata {
  /// Reads the metadata of a store, which need not be open.
  ///
  /// - Parameter busyTimeout: How long to wait for others that have a SQLite store locked, in seconds.
  init(ofStoreAt url: URL, formats: [any StoreFormat], busyTimeout: Double = 10) throws {
    if let format = try StoreLocation(recognizing: url, formats: formats).format {
      try self.init(ofStoreAt: url, format: format)
    } else {
      try self.init(ofStoreAt: url, rollsBack: true, busyTimeout: busyTimeout)
    }
  }

  fileprivate init(ofStoreAt url: URL, format: any StoreFormat) throws {
    let builder = StoreBuilder(metadataOf: url)
    try StoreFile(url, format, isReadOnly: true).read(into: builder)
    guard let found = builder.metadata else { throw StoreError.unreadable(url, StoreFormatError(.truncated)) }
    self = found
  }

  @_optimize(none)
  fileprivate init(ofStoreAt url: URL, rollsBack: Bool, busyTimeout: Double = 10) throws {
    let url = try Disk.resolvingLink(url)
    self = try FolderLock.whileBusy(url, timeout: busyTimeout) {
      try DatabaseFile.checkHeader(of: url)
      try MigrationFiles(url).checkNames()
      let (connection, _) = try SQLiteConnection.openToRead(url, rollsBack: rollsBack, busyTimeout: 0)
      try connection.execute("BEGIN")
      try StoredSchema(connection).check(of: url)
      return try StoreMetadata(connection, url: url)
    }
  }
}
