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

/// The file of a store that is read and written as a whole, and the lock on this file.
///
/// A process that has the store open for writing holds a lock (`flock`) on the file. The system releases the lock when
/// the process ends for any reason. A new file is locked before it replaces the old one, so that the store is locked at
/// every moment. A process that has opened the old file notices the replacement by the file's identity. Reading needs
/// no lock, because a file is never changed, only replaced.
final class StoreFile: Sendable {
  let url: URL
  let format: any StoreFormat
  /// The path of the file itself. If the URL is a symbolic link, the link stays as it is.
  let path: String

  private struct State {
    let descriptor: Int32
    let identity: FileIdentity?
    /// The size of the file from then on, because a file is never changed, only replaced.
    let size: Int64?
    /// Whether the file may have changes of a save that has failed.
    var mustBeWritten = false

    init(descriptor: Int32, identity: FileIdentity?) {
      self.descriptor = descriptor
      self.identity = identity
      size = Disk.size(of: descriptor)
    }
  }
  private let state: Mutex<State>
  /// Whether the file is a SQLite database, which a read-only format may read. Then only SQLite opens the file.
  private let isDatabase: Bool

  /// The path of the file that a save writes.
  private var work: String { path + "-saving" }

  /// The path at which a save to several stores keeps the old file until all of them have the save.
  ///
  /// For a moment the old file has both names, and an interrupted save leaves them. `MigrationFiles.checkNames()` accepts a
  /// second name only if it has the form of a backup's name.
  private var kept: String { path + "-before-saving" }

  /// Opens the file, or creates an empty file if it does not exist.
  ///
  /// - Throws: ``StoreError/inUse(_:)`` if another process has the file open for writing.
  @_optimize(none)
  init(_ url: URL, _ format: any StoreFormat, isReadOnly: Bool) throws {
    self.url = url
    self.format = format
    let resolved = try Disk.resolvingLink(url)
    path = resolved.path(percentEncoded: false)
    if let file = FileIdentity(path), !file.isRegular {
      throw StoreError.cannotCreate(url, reason: "the path leads to something that is not a file")
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
          ? StoreError.cannotCreate(url, reason: "the file does not exist, and the store is opened read-only")
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

  @_optimize(none)
  private static func lock(_ path: String, _ url: URL) throws -> Int32 {
    let clock = ContinuousClock()
    let end = clock.now + patience
    // Another process may replace the file between the opening and the lock. Then the next attempt opens the new file.
    var replacements = 0
    while replacements < 100 {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else {
        let code = errno
        if code == ENOENT || code == EACCES && FileIdentity(path) == nil {
          throw StoreError.cannotCreate(
            url, reason: Disk.accessProblem(of: url, toWrite: true) ?? String(cString: strerror(code)))
        }
        throw StoreError.system(code, url)
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        let code = errno
        close(descriptor)
        if code == EINTR { continue }
        if code == EWOULDBLOCK, clock.now < end {
          usleep(2000)
          continue
        }
        throw code == EWOULDBLOCK ? StoreError.inUse(url) : StoreError.system(code, url, during: "locking")
      }
      if let identity = FileIdentity(path), identity == FileIdentity(descriptor: descriptor) {
        return descriptor
      }
      close(descriptor)
      replacements += 1
    }
    throw StoreError.inUse(url)
  }

  /// How long to wait for the lock. If this process starts another program, the new process holds this one's locks until it
  /// executes the program, also those of stores that are closed in the meantime.
  static let patience = Duration.milliseconds(500)

  /// Removes the files of an interrupted save or migration. Because of the lock, no save or migration is running.
  private func removeLeftovers() {
    unlink(work)
    unlink(kept)
    let files = MigrationFiles(URL(filePath: path))
    files.removeAllLeftovers()
    files.removeLinks()
  }

  // MARK: Reading

  /// Whether the file is empty, so that a new store can be created in it.
  var isEmpty: Bool {
    if isDatabase { return false }
    var status = stat()
    return state.withLock { fstat($0.descriptor, &status) } == 0 && status.st_size == 0
  }

  /// Removes the journals and the log that a SQLite file of the same name has left. Called when a store is created. If the
  /// store is later copied to a SQLite file of this name, the log must be gone.
  func removeJournals() throws {
    if try DatabaseFile.removeJournals(of: URL(filePath: path)) { try syncFolder() }
  }

  /// Passes the file's rows to a builder.
  ///
  /// - Throws: ``StoreError/unreadable(_:_:)``, another ``StoreError``, or an error of the format that has a situation.
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
    } catch is StoreBuilder.MetadataRead {
      return
    } catch let error as any PresentableError {
      throw error
    } catch {
      throw StoreError.formatFailed(url, format: format.name, reason: "\(error)")
    }
  }

  // MARK: Writing

  /// The identity of the file; nil for a store that is only read.
  var identity: FileIdentity? { state.withLock(\.identity) }

  /// Throws an error if the file was removed or replaced, or if a program that ignores the lock has changed its size.
  ///
  /// Some file systems set the time of a change later than the change, and a file can get a new time without a change. So
  /// the time says nothing.
  func checkIdentity() throws(StoreError) {
    let isSame = state.withLock { state in
      guard let identity = state.identity else { return true }
      return FileIdentity(path) == identity && Disk.size(of: state.descriptor) == state.size
    }
    if !isSame { throw .replaced(url) }
  }

  /// A complete new file on the disk that has not yet replaced the store's file.
  struct Prepared {
    let path: String
    fileprivate let descriptor: Int32
  }

  /// Writes a store to a separate file.
  ///
  /// - Parameter name: The path of the file; by default the path for a save.
  @_optimize(none)
  func prepare(_ contents: StoreContents, at name: String? = nil) throws -> Prepared {
    let name = name ?? work
    unlink(name)
    let descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError.system(errno, url, during: "creating a file beside it") }
    do {
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        throw StoreError.system(errno, url, during: "locking")
      }
      // The new file keeps the owner and the permissions of the old one.
      Disk.copyAccess(of: path, to: descriptor)
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

  /// Replaces the store's file by a prepared file.
  func replaceStore(with prepared: Prepared) throws {
    release(try exchange(for: prepared, keepingOld: false))
    try syncFolder()
  }

  /// Holds a prepared file, which now has the store's name, instead of the old file.
  func adopt(_ prepared: Prepared) { close(hold(prepared.descriptor)) }

  /// Holds the file that now has the store's name.
  ///
  /// - Returns: The descriptor of the file that was held before.
  private func hold(_ descriptor: Int32) -> Int32 {
    state.withLock { state in
      defer { state = State(descriptor: descriptor, identity: FileIdentity(path)) }
      return state.descriptor
    }
  }

  func discard(_ prepared: Prepared) {
    close(prepared.descriptor)
    unlink(prepared.path)
  }

  // MARK: Restoring the old file

  /// The file that had the store's name before a save. It stays locked until it is clear which of the two files is the
  /// store's.
  struct Former {
    /// The name of the file; nil if it has none any more.
    fileprivate let path: String?
    fileprivate let descriptor: Int32
  }

  /// Whether the file may have changes of a save that has failed, because it could not be restored. The next save writes
  /// it, even if it changes only other stores.
  var mustBeWritten: Bool { state.withLock(\.mustBeWritten) }

  /// Gives the store's name to a prepared file. The caller then passes the old file to ``release(_:)`` or to
  /// ``restore(_:writing:)``, and syncs the folder.
  ///
  /// - Parameter keepingOld: Whether the old file stays on the disk until then, if the file system has hard links. To give it
  ///   back its name needs no space on the disk, which may be full by then.
  func exchange(for prepared: Prepared, keepingOld: Bool) throws -> Former {
    var former: String?
    // A file that may have changes of a failed save is never restored.
    if keepingOld, !mustBeWritten {
      unlink(kept)
      if link(path, kept) == 0 { former = kept }
    }
    do {
      try checkIdentity()
      try Disk.rename(prepared.path, path, of: url)
    } catch {
      if let former { unlink(former) }
      discard(prepared)
      throw error
    }
    return Former(path: former, descriptor: hold(prepared.descriptor))
  }

  /// Gives up the old file, because the new one is the store's.
  func release(_ former: Former) {
    if let path = former.path { unlink(path) }
    close(former.descriptor)
  }

  /// Makes the old file the store's again, after a save has failed. If the old file has not been kept, another one is written.
  ///
  /// - Parameter contents: Returns the contents of the old file.
  /// - Throws: ``StoreError``; the file then ``mustBeWritten``.
  func restore(_ former: Former, writing contents: () throws -> StoreContents) throws {
    do {
      if let old = former.path {
        do {
          try checkIdentity()
          try Disk.rename(old, path, of: url)
        } catch {
          release(former)
          throw error
        }
        close(hold(former.descriptor))
        try syncFolder()
      } else {
        release(former)
        try replaceStore(with: prepare(contents()))
      }
    } catch {
      state.withLock { $0.mustBeWritten = true }
      throw error
    }
  }

  func syncFolder() throws {
    try Disk.sync(URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false), of: url)
  }
}
