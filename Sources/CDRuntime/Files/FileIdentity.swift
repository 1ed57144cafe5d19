#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Which file a path leads to, whatever the path: its device and its number there.
struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let number: UInt64
  /// Whether it is a plain file: neither a folder nor a pipe or a device, nor what a kernel shows as a file without a size.
  let isRegular: Bool

  /// Nil where there is no file.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status, isOfKernel: status.st_size == 0 && Self.isOfKernel(status.st_dev))
  }

  /// Whether a device is one of those whose files the kernel makes up as they are read: to read `/proc/kmsg` is to wait.
  private static func isOfKernel(_ own: dev_t) -> Bool {
    func device(_ folder: String) -> dev_t? {
      var status = stat()
      return stat(folder, &status) == 0 ? status.st_dev : nil
    }
    // Where nothing is mounted there, they are folders like others.
    return own != device("/") && ["/proc", "/sys"].contains { device($0) == own }
  }

  /// That of an open file.
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
