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

/// What the operating system does with files and folders, each with an error that names the store.
enum Disk {
  /// Has the disk keep what a file, or the entries that a folder, has now.
  ///
  /// Never called with an open database: see ``DatabaseFile``.
  static func sync(_ path: String, of url: URL) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError.system(errno, url, during: "opening \(path)") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StoreError.system(errno, url, during: "syncing \(path)") }
  }

  /// Has the disk keep the entries of a file's folder.
  static func syncFolder(of url: URL) throws(StoreError) {
    try sync(url.deletingLastPathComponent().path(percentEncoded: false), of: url)
  }

  /// Gives a file another name in its file system, in place of a file that has the name. The disk keeps that once the
  /// folder is synced.
  static func rename(_ from: String, _ to: String, of url: URL) throws(StoreError) {
    #if canImport(Glibc)
      let result = Glibc.rename(from, to)
    #else
      let result = Darwin.rename(from, to)
    #endif
    if result != 0 { throw StoreError.system(errno, url, during: "renaming \(from)") }
  }

  /// Why a file cannot be made, or be opened where it is there: the folder or the permission that is missing; nil where
  /// neither is.
  static func hindrance(of url: URL, toWrite: Bool) -> String? {
    let file = url.path(percentEncoded: false)
    var folder = url.deletingLastPathComponent().path(percentEncoded: false)
    if folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
    var status = stat()
    if stat(folder, &status) != 0 {
      return errno == EACCES
        ? "the folder \(folder), or one above it, may not be looked into"
        : "there is no folder \(folder); make it first"
    }
    if status.st_mode & S_IFMT != S_IFDIR { return "\(folder) is a file and no folder" }
    if !allows(folder, X_OK) { return "the folder \(folder) may not be looked into" }
    if stat(file, &status) == 0 {
      if !allows(file, R_OK) { return "the file may not be read by this user" }
      if toWrite, !allows(file, W_OK) { return "the file may not be written to by this user" }
    }
    if toWrite, !allows(folder, W_OK) { return "nothing may be written into the folder \(folder)" }
    return nil
  }

  /// Whether the rights with which files are opened, which are not always those of who has started the program, suffice.
  private static func allows(_ path: String, _ access: Int32) -> Bool {
    faccessat(AT_FDCWD, path, access, AT_EACCESS) == 0
  }

  /// The kind of what a path leads to, without following a link at its end; nil where there is nothing.
  static func kind(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  /// Makes a folder, unless it is there.
  static func makeFolder(_ path: String, of url: URL) throws(StoreError) {
    if mkdir(path, 0o777) == 0 {
      let parent = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
      return try sync(parent, of: url)
    }
    let code = errno
    var status = stat()
    guard code == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw StoreError.system(code, url, during: "making the folder \(path)")
    }
  }

  /// The URL of the file itself, where a URL leads to it by symbolic links. What belongs to a store is beside the file
  /// itself: by the link's own name its large values would not be found.
  ///
  /// - Throws: ``StoreError/cannotCreate(_:reason:)`` where links lead in a circle.
  static func resolvingLink(_ url: URL) throws(StoreError) -> URL {
    var path = url.path(percentEncoded: false)
    var count = 0
    while kind(of: path) == S_IFLNK {
      guard count < 40, let target = linkTarget(path) else {
        throw StoreError.cannotCreate(url, reason: "its symbolic links lead in a circle")
      }
      count += 1
      let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
      path = target.hasPrefix("/") ? target : folder + (folder.hasSuffix("/") ? "" : "/") + target
    }
    if count == 0 { return url }
    let file = URL(filePath: path, directoryHint: .notDirectory)
    // Without detours, so that the store has one name in errors.
    guard let folder = realpath(file.deletingLastPathComponent().path(percentEncoded: false), nil) else {
      return file
    }
    defer { free(folder) }
    return URL(filePath: String(cString: folder), directoryHint: .isDirectory).appending(
      path: file.lastPathComponent, directoryHint: .notDirectory)
  }

  /// The bytes of a file; nil where there is none.
  static func size(_ path: String) -> Int64? {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }

  /// The bytes that are free on the disk of a file or a folder.
  static func freeSpace(_ path: String) -> Int64? {
    var volume = statvfs()
    guard statvfs(path, &volume) == 0 else { return nil }
    let free = UInt64(volume.f_bavail).multipliedReportingOverflow(by: UInt64(volume.f_frsize))
    return free.overflow ? .max : Int64(clamping: free.partialValue)
  }

  /// What a symbolic link says; nil for what is none.
  static func linkTarget(_ path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = buffer.withUnsafeMutableBytes { bytes -> Int in
      guard let start = bytes.baseAddress else { return -1 }
      return readlink(path, start.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return count > 0 && count < buffer.count ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }
}

/// A file that is made now, written from beginning to end, and on the disk when ``finish()`` has returned.
final class NewFile {
  private var descriptor: Int32
  private let url: URL
  private let output: StoreOutput

  /// - Throws: ``StoreError`` where there is something of that name, a symbolic link included.
  init(_ path: String) throws(StoreError) {
    url = URL(filePath: path)
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw StoreError.system(errno, url, during: "making it") }
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
