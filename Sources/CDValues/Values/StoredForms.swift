#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The text that a store keeps for a decimal: a key that sorts like the numbers, a blank, and the number.
///
/// `0` is `1 0`, 9.99 is `2500999 9.99`, -1.5 is `049984~ -1.5`. The key of a positive number is `2`, then the power of
/// ten of its first digit plus 500, in three digits, then its digits. The key of a negative number is `0`, then the
/// nines' complement of the same digits, then `~`, so that the longer key sorts first. In plain SQL,
/// `substr(price, instr(price, ' ') + 1)` gives the number. Equal numbers have the same text.
package enum DecimalText {
  /// The stored text; nil for NaN, which no store accepts.
  package static func encode(_ value: Decimal) -> String? {
    guard !value.isNaN else { return nil }
    let plain = value.canonicalText
    var digits: [UInt8] = []
    var power = -1
    var sawPoint = false
    for byte in plain.utf8 {
      switch byte {
      case UInt8(ascii: "-"): continue
      case UInt8(ascii: "."): sawPoint = true
      default:
        if digits.isEmpty, byte == zero {
          if sawPoint { power -= 1 }
        } else {
          digits.append(byte)
          if !sawPoint { power += 1 }
        }
      }
    }
    guard !digits.isEmpty else { return "1 0" }
    while digits.last == zero { digits.removeLast() }
    let isNegative = plain.utf8.first == UInt8(ascii: "-")
    let magnitude = String(power + 500)
    var key: [UInt8] = Array(String(repeating: "0", count: max(0, 3 - magnitude.utf8.count)).utf8)
    key += Array(magnitude.utf8) + digits
    if isNegative { key = key.map { zero + 9 - ($0 - zero) } + [UInt8(ascii: "~")] }
    return (isNegative ? "0" : "2") + String(decoding: key, as: UTF8.self) + " " + plain
  }

  /// The number of a stored text; nil for any other text.
  package static func decode(_ text: String) -> Decimal? {
    guard let blank = text.utf8.lastIndex(of: UInt8(ascii: " ")) else { return nil }
    let number = text[text.utf8.index(after: blank)...]
    let digits = number.utf8.first == UInt8(ascii: "-") ? number.utf8.dropFirst() : number.utf8[...]
    let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isDigit) }) else { return nil }
    return Decimal(checkedText: String(number))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= zero && byte <= UInt8(ascii: "9") }

  private static let zero = UInt8(ascii: "0")
}

/// The bytes of a UUID, which determine its stored form and its order.
package enum ValueBytes {
  package static func bytes(_ uuid: UUID) -> [UInt8] {
    withUnsafeBytes(of: uuid.uuid) { Array($0) }
  }

  /// Returns the UUID for 16 bytes; nil for any other number of bytes.
  package static func uuid(_ data: Data) -> UUID? {
    guard data.count == 16 else { return nil }
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) { _ = data.copyBytes(to: $0) }
    return UUID(uuid: bytes)
  }
}
