#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The folder beside a store for values of `external:` attributes that are too large for a row.
///
/// A file contains one value and is never changed. A changed value gets a new file, and the row contains the file's
/// name. So a reader always finds the value that belongs to its row, even if the row is from an old snapshot.
///
/// A store shares its folder with the backups that migrations have left beside it: a backup's rows name files in the
/// folder of the store. A file is removed there only if neither the store nor a backup needs it.
///
/// The names come from rows, which anyone can have written. Only ``path(_:)`` makes a path from a name, and it accepts
/// only UUIDs, so that a name cannot lead out of the folder. No method here removes all contents of a folder, or
/// follows a link to a file with another name.
package struct ExternalFiles: Sendable {
  /// The maximum size of a value in a row. SQLite reads such a value faster than a file can be opened.
  package static let largestInlineSize = 64 * 1024
  /// How many seconds a file stays after it has become unused. Rows of an earlier state, which a reader may have, still
  /// name it.
  static let grace: Double = 3600
  /// The end of the name of a file whose value is not complete yet.
  private static let unfinished = "-writing"

  /// The file of the store.
  private let store: URL
  /// The folder that contains the files.
  package let folder: URL

  var folderPath: String {
    let path = folder.path(percentEncoded: false)
    return path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  /// The files of a store.
  package init(store: URL) {
    self.store = store
    folder = URL(filePath: store.path(percentEncoded: false) + "-external", directoryHint: .notDirectory)
  }

  /// Returns the path of a value's file; nil if the text is not a valid name.
  private func path(_ name: String) -> String? {
    UUID(uuidString: name) == nil ? nil : folderPath + "/" + name
  }

  private func url(_ name: String) -> URL { folder.appending(path: name) }

  /// Writes a value to a file and syncs its bytes, so that they survive a power failure. Only ``syncFolder()`` makes
  /// the file's name permanent.
  package func write(_ value: Data, name: String) throws(StoreError) {
    guard let path = path(name) else { throw noName(name) }
    try write(value, name: name, to: path)
  }

  private func write(_ value: Data, name: String, to path: String) throws(StoreError) {
    do {
      try makeFolder()
      let file = try NewFile(path, like: storePath)
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

  /// Adds a file of another store. Files are never changed, so both stores can share it.
  ///
  /// - Parameters:
  ///   - name: The text in a row, which may not be a valid name.
  ///   - willAdd: Called with the name before the file is added. Not called if the file is already there.
  /// - Returns: Whether the file was added. False if it was already there.
  /// - Throws: ``StoreError``, also if the other store does not have the file.
  @_optimize(none)
  func copyFile(
    _ name: String, from other: ExternalFiles, willAdd: (String) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    guard let path = path(name) else { throw other.noName(name) }
    // An interrupted copy has left it.
    unlink(path + Self.unfinished)
    let found = other.existingPath(name)
    // A file of another size is not the value: an interrupted copy of an earlier release has left a part.
    if exists(name), found == nil || Disk.size(path) == found.flatMap({ Disk.size($0) }) { return false }
    guard let source = found else {
      throw .externalData(
        other.url(name),
        reason: "it does not exist or is not a regular file, and a copy would silently lack the value; "
          + "verify the store to find the object, and set its value again")
    }
    try willAdd(name)
    let value: Data
    do {
      try makeFolder()
      if link(source, path) == 0 { return true }
      // The other store is on another disk, or the file is replaced.
      value = try other.read(name)
    } catch { throw .externalData(other.url(name), reason: "\(error)") }
    // The next copy accepts a file that has the value's name, so only a complete file gets it.
    try write(value, name: name, to: path + Self.unfinished)
    do { try Disk.rename(path + Self.unfinished, path, of: url(name)) } catch {
      unlink(path + Self.unfinished)
      throw .externalData(url(name), reason: "\(error)")
    }
    return true
  }

  /// The path of the store's file; nil if there is none yet. Who may read or write it may do the same with its large values.
  private var storePath: String? {
    let path = store.path(percentEncoded: false)
    return FileIdentity(path) == nil ? nil : path
  }

  /// Creates the folder, unless it exists.
  func makeFolder() throws(StoreError) { try Disk.makeFolder(folderPath, like: storePath, of: folder) }

  /// Makes the names in the folder permanent on the disk. Called once for all files of a save.
  package func syncFolder() throws(StoreError) {
    do { try Disk.sync(folderPath, of: folder) } catch { throw .externalData(folder, reason: "\(error)") }
  }

  /// Returns the contents of a file. The file is mapped: its bytes are read only when they are used, and they stay
  /// readable after the file is removed.
  package func read(_ name: String) throws -> Data {
    guard let own = path(name) else { throw noName(name) }
    let found = existingPath(name)
    if found == nil, Disk.kind(of: own) != nil {
      throw StoreError.externalData(url(name), reason: "it is not a regular file")
    }
    return try Data(
      contentsOf: URL(filePath: found ?? own, directoryHint: .notDirectory), options: .mappedIfSafe)
  }

  /// Returns the path of a value's file; nil if there is no such file. For a backup of another store, the file can be in
  /// the folder of that store.
  private func existingPath(_ name: String) -> String? {
    if exists(name) { return path(name) }
    guard let owner = BackupFiles.store(withValuesOf: store) else { return nil }
    let shared = ExternalFiles(store: owner)
    return shared.isOwn && shared.exists(name) ? shared.path(name) : nil
  }

  /// Removes a file if it exists. If this fails, the next collection tries again.
  package func remove(_ name: String) {
    guard let path = path(name) else { return }
    unlink(path)
    unlink(path + Self.unfinished)
  }

  /// Removes files. Removes the folder too, if it is then empty.
  @_optimize(none)
  func removeAll(_ names: some Sequence<String>) {
    for name in names { remove(name) }
    rmdir(folderPath)
  }

  /// The names of all files of values; empty if there is no folder. Other files in the folder are ignored.
  ///
  /// The files that an interrupted copy has left unfinished are among them, so that they are removed like unused ones.
  @_optimize(none)
  var names: Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folderPath)) ?? []
    let values = names.map { name in
      name.hasSuffix(Self.unfinished) ? String(name.dropLast(Self.unfinished.count)) : name
    }
    return Set(values.filter { path($0) != nil })
  }

  /// Whether the folder is a real folder, and not a link to a folder that may belong to another store.
  var isOwn: Bool { Disk.kind(of: folderPath) == S_IFDIR }

  /// Throws an error if the folder is a symbolic link or not a folder. With a link, the creator of the store could make
  /// this program read and remove the values of other stores.
  @_optimize(none)
  package func checkFolder() throws(StoreError) {
    guard let kind = Disk.kind(of: folderPath), kind != S_IFDIR else { return }
    // One link is allowed: a migration or a rehearsal links the folder of its own file to the folder of the store
    // beside it.
    let suffix = "-external"
    if kind == S_IFLNK, let target = Disk.linkTarget(folderPath), !target.contains("/"),
      target.hasSuffix(suffix),
      folder.lastPathComponent.hasPrefix(String(target.dropLast(suffix.count)) + "-migrating")
        || folder.lastPathComponent.hasPrefix(String(target.dropLast(suffix.count)) + "-explored")
    {
      return
    }
    throw .externalData(
      folder,
      reason: "it is a symbolic link, or not a folder; put the folder of the large values itself there")
  }

  /// Returns whether a regular file has this name. A link to a file with the same name is accepted too, because a
  /// rehearsal links to the store's files in this way.
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

/// A column that may contain the names of files with large values.
struct FileColumn: Hashable {
  let table: String
  let name: String
}

extension ModelPlan {
  /// The columns of a store that may contain names of files.
  @_optimize(none)
  func fileColumns(ofStore store: Int) -> [FileColumn] {
    // Entities with the same root share a table.
    var seen: Set<FileColumn> = []
    return entities.filter { $0.storeIndex == store }.flatMap { entity in
      entity.externalSlots.flatMap { slot in
        entity.columns[entity.slots[slot].columns].map { FileColumn(table: entity.table, name: $0.name) }
      }
    }.filter { seen.insert($0).inserted }
  }
}
