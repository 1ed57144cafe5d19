#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The bytes of a store's file, which a ``StoreFormat`` reads from beginning to end.
///
/// ```swift
/// func read(_ input: StoreInput, into builder: StoreBuilder) throws {
///   while let chunk = try input.read(upToCount: 65_536) { print(chunk.count) }
/// }
/// ```
public final class StoreInput {
  /// The URL of the store, for a format that has several files or reads with another library. Your errors should name
  /// it.
  public let url: URL
  private let source: Source

  private enum Source {
    case descriptor(Int32)
    case database(DatabaseFile)
  }
  /// The number of bytes that were read from the database file.
  private var offset: Int64 = 0

  /// - Parameter descriptor: A descriptor at the beginning of the file. The caller closes it.
  init(_ descriptor: Int32, of url: URL) {
    source = .descriptor(descriptor)
    self.url = url
  }

  init(_ database: DatabaseFile, of url: URL) {
    source = .database(database)
    self.url = url
  }

  /// Reads the next bytes: the requested number, or fewer at the end of the file. Returns nil if no bytes are left.
  ///
  /// - Throws: ``StoreError/inputOutput(_:reason:)``.
  public func read(upToCount count: Int) throws -> [UInt8]? {
    var bytes: [UInt8] = []
    try read(upToCount: count, into: &bytes)
    return bytes.isEmpty ? nil : bytes
  }

  /// Reads all remaining bytes.
  ///
  /// - Throws: ``StoreError/inputOutput(_:reason:)``.
  public func readAll() throws -> Data {
    var result = Data()
    while let bytes = try read(upToCount: 1 << 20) { result.append(contentsOf: bytes) }
    return result
  }

  /// Replaces an array by the next bytes. At the end of the file, the array becomes empty.
  func read(upToCount count: Int, into bytes: inout [UInt8]) throws {
    guard count > 0 else { return bytes.removeAll() }
    let descriptor: Int32
    switch source {
    case .database(let file):
      bytes = try file.read(at: offset, upToCount: min(count, 1 << 30))
      offset += Int64(bytes.count)
      return
    case .descriptor(let open): descriptor = open
    }
    var failure: Int32 = 0
    if bytes.count != count { bytes = [UInt8](repeating: 0, count: count) }
    let filled = bytes.withUnsafeMutableBytes { buffer in
      var filled = 0
      while filled < count, let start = buffer.baseAddress {
        #if canImport(Glibc)
          let result = Glibc.read(descriptor, start + filled, count - filled)
        #else
          let result = Darwin.read(descriptor, start + filled, count - filled)
        #endif
        if result < 0, errno == EINTR { continue }
        if result < 0 { failure = errno }
        if result <= 0 { break }
        filled += result
      }
      return filled
    }
    if failure != 0 { throw StoreError.inputOutput([url], reason: String(cString: strerror(failure))) }
    if filled < count { bytes.removeLast(count - filled) }
  }
}
