#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

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
