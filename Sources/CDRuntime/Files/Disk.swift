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

/// Operations of the operating system on files and folders. Their errors name the store.
enum Disk {
  /// Writes the contents of a file, or the entries of a folder, to the disk (`fsync`).
  ///
  /// Do not call it with a database that is open: see ``DatabaseFile``.
  static func sync(_ path: String, of url: URL) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError.system(errno, url, during: "opening \(path)") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StoreError.system(errno, url, during: "syncing \(path)") }
  }

  /// Writes the entries of a file's folder to the disk.
  static func syncFolder(of url: URL) throws(StoreError) {
    try sync(url.deletingLastPathComponent().path(percentEncoded: false), of: url)
  }

  /// Renames a file within its file system, and replaces an existing file of the new name. The change is permanent
  /// after the folder is synced.
  static func rename(_ from: String, _ to: String, of url: URL) throws(StoreError) {
    #if canImport(Glibc)
      let result = Glibc.rename(from, to)
    #else
      let result = Darwin.rename(from, to)
    #endif
    if result != 0 { throw StoreError.system(errno, url, during: "renaming \(from)") }
  }

  /// The reason why a file cannot be created, or cannot be opened if it exists: a missing folder or a missing
  /// permission. Nil if neither is missing.
  @_optimize(none)
  static func accessProblem(of url: URL, toWrite: Bool) -> String? {
    let file = url.path(percentEncoded: false)
    var folder = url.deletingLastPathComponent().path(percentEncoded: false)
    if folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
    var status = stat()
    if stat(folder, &status) != 0 {
      return errno == EACCES
        ? "this user has no permission to read the folder \(folder) or a folder above it"
        : "the folder \(folder) does not exist; create it first"
    }
    if status.st_mode & S_IFMT != S_IFDIR { return "\(folder) is a file, not a folder" }
    if !allows(folder, X_OK) { return "this user has no permission to read the folder \(folder)" }
    if stat(file, &status) == 0 {
      if !allows(file, R_OK) { return "this user has no permission to read the file" }
      if toWrite, !allows(file, W_OK) { return "this user has no permission to write to the file" }
    }
    if toWrite, !allows(folder, W_OK) {
      return "this user has no permission to write to the folder \(folder)"
    }
    return nil
  }

  /// Whether the process has an access right. It checks the effective user, who opens the files and may differ from the
  /// user who has started the program.
  private static func allows(_ path: String, _ access: Int32) -> Bool {
    faccessat(AT_FDCWD, path, access, AT_EACCESS) == 0
  }

  /// The type of the file at a path, without following a link at the end of the path; nil if there is no file.
  static func kind(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  /// Creates an empty file with the owner and the permissions of another file.
  static func makeFile(_ path: String, like other: String, of url: URL) throws(StoreError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError.system(errno, url, during: "making \(path)") }
    copyAccess(of: other, to: descriptor)
    close(descriptor)
  }

  /// Gives a new file the owner and the permissions of another file, as far as this user may and the file system has them.
  ///
  /// - Parameter change: Returns the new file's permissions for those of the other file.
  static func copyAccess(
    of path: String, to descriptor: Int32, _ change: (mode_t) -> mode_t = { $0 & 0o7777 }
  ) {
    var status = stat()
    guard stat(path, &status) == 0 else { return }
    // The permissions come last, because a change of the owner can take some away. Only the superuser may give a file to
    // another user, but each user may give one to a group of theirs.
    if fchown(descriptor, status.st_uid, status.st_gid) != 0 {
      _ = fchown(descriptor, uid_t.max, status.st_gid)
    }
    _ = fchmod(descriptor, change(status.st_mode))
  }

  /// Creates a folder, unless it exists.
  ///
  /// - Parameter other: A file. Who may read or write this file may do the same in the folder. Nil for the permissions that
  ///   new folders usually have.
  @_optimize(none)
  static func makeFolder(_ path: String, like other: String?, of url: URL) throws(StoreError) {
    if mkdir(path, other == nil ? 0o777 : 0o700) == 0 {
      if let other {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // To look up a name in a folder is to execute it.
        copyAccess(of: other, to: descriptor) { $0 & 0o666 | ($0 & 0o444) >> 2 }
        if descriptor >= 0 { close(descriptor) }
      }
      let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
      return try sync(parent, of: url)
    }
    let code = errno
    var status = stat()
    guard code == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw StoreError.system(code, url, during: "making the folder \(path)")
    }
  }

  /// The URL of the file itself, if symbolic links lead to it. Other files of a store are beside the file itself. Large
  /// values, for example, would not be found by the name of the link.
  ///
  /// - Throws: ``StoreError/cannotCreate(_:reason:)`` if the links form a circle.
  static func resolvingLink(_ url: URL) throws(StoreError) -> URL {
    var path = url.path(percentEncoded: false)
    var count = 0
    while kind(of: path) == S_IFLNK {
      guard count < 40, let target = linkTarget(path) else {
        throw StoreError.cannotCreate(url, reason: "its symbolic links form a circle")
      }
      count += 1
      let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
      path = target.hasPrefix("/") ? target : folder + (folder.hasSuffix("/") ? "" : "/") + target
    }
    if count == 0 { return url }
    let file = URL(filePath: path, directoryHint: .notDirectory)
    // The folder's real path, so that errors always name the store by the same path.
    guard let folder = realpath(file.deletingLastPathComponent().path(percentEncoded: false), nil) else {
      return file
    }
    defer { free(folder) }
    return URL(filePath: String(cString: folder), directoryHint: .isDirectory).appending(
      path: file.lastPathComponent, directoryHint: .notDirectory)
  }

  /// The size of a file in bytes; nil if there is no file.
  static func size(_ path: String) -> Int64? {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }

  /// The size of an open file in bytes; nil if the descriptor is none.
  static func size(of descriptor: Int32) -> Int64? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : nil
  }

  /// The number of free bytes on the disk of a file or a folder.
  static func freeSpace(_ path: String) -> Int64? {
    var volume = statvfs()
    guard statvfs(path, &volume) == 0 else { return nil }
    let free = UInt64(volume.f_bavail).multipliedReportingOverflow(by: UInt64(volume.f_frsize))
    return free.overflow ? .max : Int64(clamping: free.partialValue)
  }

  /// The target of a symbolic link; nil if the path is not a link.
  @_optimize(none)
  static func linkTarget(_ path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = buffer.withUnsafeMutableBytes { bytes -> Int in
      guard let start = bytes.baseAddress else { return -1 }
      return readlink(path, start.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return count > 0 && count < buffer.count ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }
}

/// A new file that is written from beginning to end. It is on the disk after ``finish()`` has returned.
final class NewFile {
  private var descriptor: Int32
  private let url: URL
  private let output: StoreOutput

  /// Creates the file.
  ///
  /// - Parameter other: A file. Who may read or write this file may do the same with the new one. Nil for the permissions
  ///   that new files usually have.
  /// - Throws: ``StoreError`` if the name exists already, even as a symbolic link.
  init(_ path: String, like other: String? = nil) throws(StoreError) {
    url = URL(filePath: path)
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, other == nil ? 0o666 : 0o600)
    guard descriptor >= 0 else { throw StoreError.system(errno, url, during: "making it") }
    if let other { Disk.copyAccess(of: other, to: descriptor) { $0 & 0o666 } }
    output = StoreOutput(descriptor, of: url)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func write(_ bytes: some Collection<UInt8>) throws { try output.write(bytes) }

  func finish() throws {
    try output.flush()
    guard fsync(descriptor) == 0 else { throw StoreError.system(errno, url, during: "syncing") }
    close(descriptor)
    descriptor = -1
  }
}
