#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Pauses between attempts.
enum Waiting {
  /// Waits for a random time, which grows with each attempt to at most a second.
  static func pause(_ attempt: Int) {
    let longest = min(1, 0.01 * Double(1 << min(max(attempt, 0), 10)))
    usleep(UInt32(Double.random(in: longest / 2...longest) * 1_000_000))
  }
}
