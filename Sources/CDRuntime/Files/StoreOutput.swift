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

/// A new file that a ``StoreFormat`` writes from beginning to end. It replaces the old file after it has been written
/// to the disk completely.
///
/// ```swift
/// func write(_ contents: StoreContents, to output: StoreOutput) throws {
///   try output.write("a line\n")
///   try output.write([0xCA, 0xFE])
/// }
/// ```
public final class StoreOutput {
  private let descriptor: Int32
  private let url: URL
  private var buffer: [UInt8] = []
  private static let capacity = 1 << 18

  /// - Parameter descriptor: A descriptor of the caller, open at the end of an empty file.
  init(_ descriptor: Int32, of url: URL) {
    self.descriptor = descriptor
    self.url = url
    buffer.reserveCapacity(Self.capacity + 1024)
  }

  /// Writes text as UTF-8.
  ///
  /// - Throws: ``StoreError/diskFull(_:)`` or ``StoreError/inputOutput(_:reason:)``.
  public func write(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Writes bytes.
  ///
  /// - Throws: ``StoreError/diskFull(_:)`` or ``StoreError/inputOutput(_:reason:)``.
  public func write(_ bytes: some Collection<UInt8>) throws {
    buffer.append(contentsOf: bytes)
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Writes the bytes that are still in memory.
  func flush() throws {
    var failure: Int32 = 0
    buffer.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count, let start = bytes.baseAddress {
        #if canImport(Glibc)
          let result = Glibc.write(descriptor, start + done, bytes.count - done)
        #else
          let result = Darwin.write(descriptor, start + done, bytes.count - done)
        #endif
        if result < 0, errno == EINTR { continue }
        if result <= 0 {
          failure = result < 0 ? errno : EIO
          return
        }
        done += result
      }
    }
    buffer.removeAll(keepingCapacity: true)
    if failure != 0 { throw StoreError.system(failure, url) }
  }
}

extension StoreError {
  /// The error for an error number of the operating system.
  static func system(_ code: Int32, _ url: URL, during operation: String? = nil) -> StoreError {
    let text = (operation.map { "\($0): " } ?? "") + String(cString: strerror(code))
    return switch code {
    case ENOSPC, EDQUOT, EFBIG: .diskFull([url])
    case EACCES, EPERM, EROFS: .notWritable([url], reason: text)
    default: .inputOutput([url], reason: text)
    }
  }
}
