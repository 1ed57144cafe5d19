import Synchronization

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

/// The file of a store that is read whole and written whole, and the right to it.
///
/// Who has the store open to write holds a lock (`flock`) on the file, which the system lets go of with the process,
/// however it ends. A new file is locked before it takes the old one's name, so that the lock never rests; who was
/// waiting for the old one notices by the file's identity. Reading alone takes no lock: a file is never changed, only
/// replaced.
final class StoreFile: Sendable {
  let url: URL
  let format: any StoreFormat
  /// The file itself, where the URL leads to it by symbolic links: those stay.
  let path: String

  private struct State {
    var descriptor: Int32
    var identity: FileIdentity?
  }
  private let state: Mutex<State>
  /// Whether the file is a SQLite database, which a format of others' stores may read. Only SQLite opens it then.
  private let isDatabase: Bool

  /// The name of a file that a save writes.
  private var work: String { path + "-saving" }

  /// Opens the file, and makes an empty one where there is none.
  ///
  /// - Throws: ``StoreError/inUse(_:)`` where somebody else has it open to write.
  init(_ url: URL, _ format: any StoreFormat, isReadOnly: Bool) throws {
    self.url = url
    self.format = format
    let resolved = try Disk.resolvingLink(url)
    path = resolved.path(percentEncoded: false)
    if let file = FileIdentity(path), !file.isRegular {
      throw StoreError.cannotCreate(url, reason: "there is something that is no file")
    }
    isDatabase = DatabaseFile.isDatabase(resolved)
    if isDatabase {
      guard isReadOnly, format.recognizes(try DatabaseFile(resolved).read(upToCount: 512), of: resolved)
      else { throw StoreError.unreadable(url, StoreFormatError(.otherFormat)) }
      state = Mutex(State(descriptor: -1, identity: nil))
      return
    }
    if isReadOnly {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw errno == ENOENT
          ? StoreError.cannotCreate(url, reason: "it is to be read, and is not there")
          : StoreError.system(errno, url)
      }
      state = Mutex(State(descriptor: descriptor, identity: nil))
      return
    }
    try MigrationFiles(resolved).completeSwitch()
    try MigrationFiles(resolved).checkNames()
    let descriptor = try Self.lock(path, url)
    state = Mutex(State(descriptor: descriptor, identity: FileIdentity(path)))
    removeLeftovers()
  }

  deinit {
    let descriptor = state.withLock(\.descriptor)
    if descriptor >= 0 { close(descriptor) }
  }

  private static func lock(_ path: String, _ url: URL) throws -> Int32 {
    // Where another is quicker, the file is another one when it is ours.
    for _ in 0..<100 {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else {
        let code = errno
        if code == ENOENT || code == EACCES && FileIdentity(path) == nil {
          throw StoreError.cannotCreate(
            url, reason: Disk.hindrance(of: url, toWrite: true) ?? String(cString: strerror(code)))
        }
        throw StoreError.system(code, url)
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        let code = errno
        close(descriptor)
        if code == EINTR { continue }
        throw code == EWOULDBLOCK ? StoreError.inUse(url) : StoreError.system(code, url, during: "locking")
      }
      if let identity = FileIdentity(path), identity == FileIdentity(descriptor: descriptor) {
        return descriptor
      }
      close(descriptor)
    }
    throw StoreError.inUse(url)
  }

  /// Removes what a save or a migration has left that did not end. The lock says that none is going on.
  private func removeLeftovers() {
    unlink(work)
    let files = MigrationFiles(URL(filePath: path))
    files.removeAllLeftovers()
    files.removeLinks()
  }

  // MARK: Reading

  /// Whether there is nothing in the file: it becomes a store.
  var isEmpty: Bool {
    if isDatabase { return false }
    var status = stat()
    return state.withLock { fstat($0.descriptor, &status) } == 0 && status.st_size == 0
  }

  /// Gives a builder the file's rows.
  ///
  /// - Throws: ``StoreError/unreadable(_:_:)``, or another ``StoreError``.
  func read(into builder: StoreBuilder) throws {
    let input: StoreInput
    if isDatabase {
      input = StoreInput(try DatabaseFile(URL(filePath: path)), of: url)
    } else {
      let descriptor = state.withLock(\.descriptor)
      guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw StoreError.system(errno, url) }
      input = StoreInput(descriptor, of: url)
    }
    do {
      try format.read(input, into: builder)
      try builder.finish()
    } catch let error as StoreFormatError {
      throw StoreError.unreadable(url, error)
    } catch let error as StoreError {
      throw error
    } catch is StoreBuilder.MetadataIsEnough {
      return
    } catch {
      throw StoreError.formatFailed(url, format: format.name, reason: "\(error)")
    }
  }

  // MARK: Writing

  /// Which file it is; nil where it is read alone.
  var identity: FileIdentity? { state.withLock(\.identity) }

  /// Refuses to go on where the file has been removed, or another one has taken its place.
  func checkIdentity() throws(StoreError) {
    guard let identity else { return }
    if FileIdentity(path) != identity { throw .replaced(url) }
  }

  /// A whole new file that is on the disk and has not taken the store's name yet.
  struct Prepared {
    let path: String
    fileprivate let descriptor: Int32
  }

  /// Writes a store to a file of its own.
  ///
  /// - Parameter name: The file's path; by default a name for a save.
  func prepare(_ contents: StoreContents, at name: String? = nil) throws -> Prepared {
    let name = name ?? work
    unlink(name)
    let descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw StoreError.system(errno, url, during: "making a file beside it") }
    do {
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw StoreError.system(errno, url, during: "locking")
      }
      // Who may read the store goes on to be who may.
      var status = stat()
      if stat(path, &status) == 0 { fchmod(descriptor, status.st_mode & 0o7777) }
      let output = StoreOutput(descriptor, of: url)
      do {
        try format.write(contents, to: output)
      } catch let error as StoreError {
        throw error
      } catch {
        throw StoreError.formatFailed(url, format: format.name, reason: "\(error)")
      }
      try output.flush()
      guard fsync(descriptor) == 0 else { throw StoreError.system(errno, url, during: "syncing") }
      return Prepared(path: name, descriptor: descriptor)
    } catch {
      close(descriptor)
      unlink(name)
      throw error
    }
  }

  /// Lets a prepared file take the store's name.
  func put(_ prepared: Prepared) throws {
    do {
      try checkIdentity()
      try Disk.rename(prepared.path, path, of: url)
    } catch {
      discard(prepared)
      throw error
    }
    adopt(prepared)
    try syncFolder()
  }

  /// Holds a prepared file, which has the store's name now, instead of the one before.
  func adopt(_ prepared: Prepared) {
    let former = state.withLock { state in
      defer { state = State(descriptor: prepared.descriptor, identity: FileIdentity(path)) }
      return state.descriptor
    }
    close(former)
  }

  func discard(_ prepared: Prepared) {
    close(prepared.descriptor)
    unlink(prepared.path)
  }

  private func syncFolder() throws {
    try Disk.sync(URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false), of: url)
  }
}
