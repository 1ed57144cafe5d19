#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The old files that migrations leave beside a store as backups. Their names are `NAME-before-VERSION`, or
/// `NAME-before-VERSION-NUMBER` if the first name was taken.
enum BackupFiles {
  private static let separator = "-before-"

  /// The beginning of the names of a store's backups.
  static func prefix(of store: URL) -> String { store.lastPathComponent + separator }

  /// Returns the store of which a file is a backup, by the file's name; nil if the name is not that of a backup.
  static func store(of backup: URL) -> URL? {
    let name = backup.lastPathComponent
    guard let range = name.ranges(of: separator).last, range.lowerBound > name.startIndex,
      isVersion(name[range.upperBound...])
    else { return nil }
    return backup.deletingLastPathComponent().appending(
      path: String(name[..<range.lowerBound]), directoryHint: .notDirectory)
  }

  /// Returns the store whose folder can have the large values of a file. The file is a backup of the store, or a migration of
  /// such a backup has created it.
  @_optimize(none)
  static func store(withValuesOf file: URL) -> URL? {
    var name = file.lastPathComponent
    // A migration of a file of another format has a temporary SQLite file, and the steps create files that are named after it.
    while let suffix = ["-migrating", "-migrating1", "-migrating2"].first(where: {
      name.hasSuffix($0) && name != $0
    }) {
      name.removeLast(suffix.count)
    }
    return store(of: file.deletingLastPathComponent().appending(path: name, directoryHint: .notDirectory))
  }

  /// Returns the backups beside a store. A second name of the store itself is not one of them. A symbolic link is not one
  /// either, because no migration creates it.
  @_optimize(none)
  static func backups(of store: URL) throws -> [URL] {
    let folder = store.deletingLastPathComponent()
    let beginning = prefix(of: store)
    let own = FileIdentity(store.path(percentEncoded: false))
    return try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
      .filter { $0.hasPrefix(beginning) && isVersion($0.dropFirst(beginning.count)) }
      .map { folder.appending(path: $0, directoryHint: .notDirectory) }
      .filter { file in
        let path = file.path(percentEncoded: false)
        return Disk.kind(of: path) == S_IFREG && FileIdentity(path) != own
      }
  }

  /// Whether a text is a number, or two numbers with a hyphen between them.
  @_optimize(none)
  private static func isVersion(_ text: Substring) -> Bool {
    let numbers = text.split(separator: "-", omittingEmptySubsequences: false)
    return numbers.count <= 2
      && numbers.allSatisfy { number in
        !number.isEmpty && number.utf8.allSatisfy { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }
      }
  }
}
