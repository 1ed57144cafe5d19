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
struct ExternalFiles: Sendable {
  /// Values up to here stand in the row, where SQLite reads them faster than a file can be opened.
  static let largestInlineSize = 64 * 1024

  let folder: URL

  /// The files of a SQLite store.
  init(store: URL) {
    folder = store.deletingLastPathComponent().appending(path: store.lastPathComponent + "-external")
  }

  /// Writes a value, so that it stays even if the power goes now.
  func write(_ value: Data, name: String) throws(StoreError) {
    do {
      try makeFolder()
      let file = url(name)
      try value.write(to: file, options: .withoutOverwriting)
      try sync(file.path)
    } catch let error as StoreError {
      throw error
    } catch {
      throw .externalData(url(name), reason: "\(error)")
    }
  }

  /// Has a file of another store too, unless there is none. Files are never changed, so that both may have it.
  ///
  /// - Parameter name: What a row says, which may be no file's name.
  func take(_ name: String, from other: ExternalFiles) throws(StoreError) {
    guard UUID(uuidString: name) != nil, other.exists(name), !exists(name) else { return }
    let value: Data
    do {
      try makeFolder()
      if link(other.url(name).path(percentEncoded: false), url(name).path(percentEncoded: false)) == 0 {
        return
      }
      // On another disk.
      value = try other.read(name)
    } catch { throw .externalData(other.url(name), reason: "\(error)") }
    try write(value, name: name)
  }

  private func makeFolder() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  /// Makes the folder's entries stay, once for all that a save writes.
  func syncFolder() throws(StoreError) { try sync(folder.path) }

  /// The value of a file. It is mapped, so that its bytes are read when somebody looks at them, and stays readable
  /// when the file is removed.
  func read(_ name: String) throws -> Data {
    guard UUID(uuidString: name) != nil else {
      throw StoreError.externalData(url(name), reason: "no file's name")
    }
    return try Data(contentsOf: url(name), options: .mappedIfSafe)
  }

  /// Removes a file, if it is there.
  func remove(_ name: String) {
    // What cannot be removed now is tried again at the next collection.
    try? FileManager.default.removeItem(at: url(name))
  }

  /// The names of all files; none where there is no folder. What else lies there is nobody's value.
  var names: Set<String> {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
    return Set((names ?? []).filter { UUID(uuidString: $0) != nil })
  }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: url(name).path) }

  private func url(_ name: String) -> URL { folder.appending(path: name) }

  private func sync(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else {
      throw .externalData(URL(filePath: path), reason: String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw .externalData(URL(filePath: path), reason: String(cString: strerror(errno)))
    }
  }
}
