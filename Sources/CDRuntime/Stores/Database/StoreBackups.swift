#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The backups that migrations have left beside a store. The large values of a backup are in the folder of the store,
/// which shares them with its backups.
struct StoreBackups {
  /// The file of the store itself, not a link to it.
  let store: URL
  /// The app's own formats, if the backups may have one of them.
  var formats: [any StoreFormat] = []

  /// Returns the names of all files of large values that rows of the backups refer to. Returns nil if a backup cannot be
  /// read, because it may need any file.
  ///
  /// Call it without a lock on the folder, because reading a SQLite file takes that lock too.
  @_optimize(none)
  func fileNames() -> Set<String>? {
    var names: Set<String> = []
    do {
      for backup in try BackupFiles.backups(of: store) {
        names.formUnion(try ClosedStoreCopy(url: backup, formats: formats, isReplica: false).fileNames())
      }
    } catch { return nil }
    return names
  }
}
