#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension ModelFolder {
  /// Does the work of a command that reads a file of a model and then writes it again. Other commands wait that long, so
  /// that none of them writes a file without the changes of the one before.
  ///
  /// The lock ends with the process, however it ends. If the file system has no such locks, no lock is held.
  static func whileLocked<R>(_ path: String, _ work: () throws -> R) throws -> R {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // The work reports a folder that cannot be read.
    guard descriptor >= 0 else { return try work() }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
    return try work()
  }
}
