#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The identity of the file that a path leads to: its device and its inode number. It does not depend on the path.
struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let number: UInt64
  /// Whether it is a regular file on a disk. False for folders, pipes, devices, and the files that a kernel generates.
  let isRegular: Bool

  /// Nil if there is no file.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status, isOfKernel: status.st_size == 0 && Self.isOfKernel(status.st_dev))
  }

  /// Whether a device holds files that the kernel generates while they are read. Reading `/proc/kmsg`, for example,
  /// would wait.
  private static func isOfKernel(_ own: dev_t) -> Bool {
    func device(_ folder: String) -> dev_t? {
      var status = stat()
      return stat(folder, &status) == 0 ? status.st_dev : nil
    }
    // If nothing is mounted there, they are ordinary folders.
    return own != device("/") && ["/proc", "/sys"].contains { device($0) == own }
  }

  /// The identity of an open file.
  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat, isOfKernel: Bool = false) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(truncatingIfNeeded: status.st_ino)
    isRegular = status.st_mode & S_IFMT == S_IFREG && !isOfKernel
  }
}
