#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What goes to people and build tools, beside the output proper.
enum StandardError {
  /// Writes a line, without a buffer that an exit could lose.
  static func write(line: String) {
    var bytes = Array((line + "\n").utf8)[...]
    while !bytes.isEmpty {
      #if canImport(Darwin)
        let count = bytes.withUnsafeBytes { Darwin.write(2, $0.baseAddress, $0.count) }
      #elseif canImport(Glibc)
        let count = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
      #elseif canImport(Musl)
        let count = bytes.withUnsafeBytes { Musl.write(2, $0.baseAddress, $0.count) }
      #endif
      if count < 0 {
        if errno == EINTR { continue }
        // Nobody listens.
        return
      }
      bytes = bytes.dropFirst(count)
    }
  }
}
