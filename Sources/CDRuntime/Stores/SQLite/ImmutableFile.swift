import CSQLite

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A file that SQLite reads as one that nobody changes (`immutable`), for a reader that may not create files beside it.
///
/// SQLite then takes no locks, and keeps the pages that it has read. But the owner of the file may have more rights than the
/// reader. So the path of each connection contains a stamp of the file, and each read begins with a look at the file.
enum ImmutableFile {
  private static let parameter = "cdgen_stamp"

  /// The query of the URI that opens a file in this way.
  static func query(_ path: String) -> String { "?immutable=1&\(parameter)=\(stamp(path) ?? "")" }

  /// Returns whether others have changed a file since its path was made. Returns false for a file that is opened otherwise.
  ///
  /// - Parameter schema: The name of the file's database in the connection.
  static func hasChanged(_ connection: OpaquePointer?, schema: String = "main") -> Bool {
    guard let connection, let file = sqlite3_db_filename(connection, schema),
      let former = sqlite3_uri_parameter(file, parameter)
    else { return false }
    let path = String(cString: file)
    // A save may still be in the log, which is not read.
    return String(cString: former) != stamp(path) || (Disk.size(path + "-wal") ?? 0) > 0
  }

  @_optimize(none)
  private static func stamp(_ path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
    #else
      let (modified, changed) = (status.st_mtim, status.st_ctim)
    #endif
    return "\(status.st_ino).\(status.st_size).\(modified.tv_sec).\(modified.tv_nsec)"
      + ".\(changed.tv_sec).\(changed.tv_nsec)"
  }
}
