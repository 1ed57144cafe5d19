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

/// The folder beside a store that holds the values of `external:` attributes which are too large for its rows.
///
/// A file holds one value and is never written again: a changed value is a new file, and the row says which is
/// its own. So a reader finds the value that belongs to the row that it has read, however old that is.
///
/// Names come from rows, which anybody may have written. Only ``path(_:)`` makes a path of a name, and of nothing but a
/// UUID: no name leads out of the folder. No method here removes a folder's contents, or follows a link to a file of
/// another name.
struct ExternalFiles: Sendable {
  /// Values up to here stand in the row, where SQLite reads them faster than a file can be opened.
  static let largestInlineSize = 64 * 1024

  let folder: URL

  private var folderPath: String {
    let path = folder.path(percentEncoded: false)
    return path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  /// The files of a store.
  init(store: URL) {
    folder = store.deletingLastPathComponent().appending(path: store.lastPathComponent + "-external")
  }

  /// The path of a value's file; nil for a text that is no name of one.
  private func path(_ name: String) -> String? {
    UUID(uuidString: name) == nil ? nil : folderPath + "/" + name
  }

  private func url(_ name: String) -> URL { folder.appending(path: name) }

  /// Writes a value, so that its bytes stay even if the power goes now. Its name stays after ``syncFolder()``.
  func write(_ value: Data, name: String) throws(StoreError) {
    guard let path = path(name) else { throw noName(name) }
    do {
      try makeFolder()
      let file = try NewFile(path)
      do {
        try file.write(value)
        try file.finish()
      } catch {
        unlink(path)
        throw error
      }
    } catch StoreError.diskFull {
      throw .diskFull([url(name)])
    } catch {
      throw .externalData(url(name), reason: "\(error)")
    }
  }

  /// Has a file of another store too, unless there is none. Files are never changed, so that both may have it.
  ///
  /// - Parameter name: What a row says, which may be no file's name.
  /// - Returns: Whether the file was not there and is now.
  @discardableResult func take(_ name: String, from other: ExternalFiles) throws(StoreError) -> Bool {
    guard let path = path(name), let source = other.path(name), other.exists(name), !exists(name) else {
      return false
    }
    let value: Data
    do {
      try makeFolder()
      if link(source, path) == 0 { return true }
      // On another disk.
      value = try other.read(name)
    } catch { throw .externalData(other.url(name), reason: "\(error)") }
    try write(value, name: name)
    return true
  }

  private func makeFolder() throws(StoreError) { try Disk.makeFolder(folderPath, of: folder) }

  /// Makes the folder's entries stay, once for all that a save writes.
  func syncFolder() throws(StoreError) {
    do { try Disk.sync(folderPath, of: folder) } catch { throw .externalData(folder, reason: "\(error)") }
  }

  /// The value of a file. It is mapped, so that its bytes are read when somebody looks at them, and stays readable
  /// when the file is removed.
  func read(_ name: String) throws -> Data {
    guard path(name) != nil else { throw noName(name) }
    let file = url(name)
    if Disk.kind(of: file.path(percentEncoded: false)) != nil, !exists(name) {
      throw StoreError.externalData(file, reason: "it is no plain file")
    }
    return try Data(contentsOf: file, options: .mappedIfSafe)
  }

  /// Removes a file, if it is there. What cannot be removed now is tried again at the next collection.
  func remove(_ name: String) {
    if let path = path(name) { unlink(path) }
  }

  /// Removes files, and the folder if nothing else is in it.
  func removeAll(_ names: some Sequence<String>) {
    for name in names { remove(name) }
    rmdir(folderPath)
  }

  /// The names of all files; none where there is no folder. What else lies there is nobody's value.
  var names: Set<String> {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folderPath)
    return Set((names ?? []).filter { path($0) != nil })
  }

  /// Whether the folder is one of its own, and no link to one that another store may have.
  var isOwn: Bool { Disk.kind(of: folderPath) == S_IFDIR }

  /// Refuses a folder that is a symbolic link, or no folder. Whoever made the store could have the values of others read
  /// and removed by a link.
  func checkFolder() throws(StoreError) {
    guard let kind = Disk.kind(of: folderPath), kind != S_IFDIR else { return }
    // The one link that a migration makes leads from the file of a step to the folder of the store beside it.
    let suffix = "-external"
    if kind == S_IFLNK, let target = Disk.linkTarget(folderPath), !target.contains("/"),
      target.hasSuffix(suffix),
      folder.lastPathComponent.hasPrefix(String(target.dropLast(suffix.count)) + "-migrating")
        || folder.lastPathComponent.hasPrefix(String(target.dropLast(suffix.count)) + "-explored")
    {
      return
    }
    throw .externalData(
      folder, reason: "it is a symbolic link or no folder; put the folder of the large values itself there")
  }

  /// Whether there is a plain file of that name. A link may lead to one of the same name: a rehearsal has the files of
  /// the store so.
  func exists(_ name: String) -> Bool {
    guard let path = path(name) else { return false }
    switch Disk.kind(of: path) {
    case S_IFREG?: return true
    case S_IFLNK?:
      guard let target = try? Disk.resolvingLink(URL(filePath: path, directoryHint: .notDirectory)) else {
        return false
      }
      return target.lastPathComponent == name && Disk.kind(of: target.path(percentEncoded: false)) == S_IFREG
    default: return false
    }
  }

  private func noName(_ name: String) -> StoreError { .externalData(url(name), reason: "no file's name") }
}
