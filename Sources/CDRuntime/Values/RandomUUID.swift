#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension UUID {
  /// Returns a random UUID of version 4 that no other call returns.
  ///
  /// Foundation's `UUID()` opens a file for its random bytes on some systems. If the process has no file descriptor
  /// left, all its UUIDs are zero, and two stores or objects would be taken for one. Swift's generator asks the system
  /// without a file, and stops the program if the system has no random numbers at all. Generated classes use this
  /// method for the default `uuid()` of a schema. Use it too for values that identify your own rows:
  ///
  /// ```swift
  /// let id = UUID.random()
  /// ```
  public static func random() -> UUID {
    var generator = SystemRandomNumberGenerator()
    let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    func byte(_ word: UInt64, _ index: UInt64) -> UInt8 {
      UInt8(truncatingIfNeeded: word >> (56 - 8 * index))
    }
    return UUID(
      uuid: (
        byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
        byte(high, 6), byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3),
        byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
      ))
  }
}
