import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The binary form of `numeric`: groups of four decimal digits.
enum PostgresNumeric {
  private static let negative: UInt16 = 0x4000

  /// The bytes of a number; nil for NaN.
  static func encode(_ number: Decimal) -> [UInt8]? {
    guard !number.isNaN else { return nil }
    var integer: [UInt8] = []
    var fraction: [UInt8] = []
    var isFraction = false
    var isNegative = false
    for byte in number.canonicalText.utf8 {
      switch byte {
      case UInt8(ascii: "-"): isNegative = true
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        if isFraction { fraction.append(byte &- 48) } else { integer.append(byte &- 48) }
      default: return nil
      }
    }
    let scale = fraction.count
    integer.insert(contentsOf: repeatElement(0, count: (4 - integer.count % 4) % 4), at: 0)
    fraction.append(contentsOf: repeatElement(0, count: (4 - fraction.count % 4) % 4))
    let digits = integer + fraction
    var groups = stride(from: 0, to: digits.count, by: 4).map { start in
      digits[start..<start + 4].reduce(UInt16(0)) { $0 * 10 + UInt16($1) }
    }
    var weight = integer.count / 4 - 1
    while groups.first == 0 {
      groups.removeFirst()
      weight -= 1
    }
    while groups.last == 0 { groups.removeLast() }
    if groups.isEmpty { weight = 0 }
    var bytes: [UInt8] = []
    func append(_ word: UInt16) {
      bytes.append(UInt8(word >> 8))
      bytes.append(UInt8(word & 0xFF))
    }
    append(UInt16(groups.count))
    append(UInt16(bitPattern: Int16(weight)))
    append(isNegative && !groups.isEmpty ? negative : 0)
    append(UInt16(scale))
    for group in groups { append(group) }
    return bytes
  }

  /// The number of some bytes; nil if no decimal has this value.
  static func decode(_ bytes: UnsafeRawBufferPointer) -> Decimal? {
    func word(_ index: Int) -> UInt16 { UInt16(bytes[2 * index]) << 8 | UInt16(bytes[2 * index + 1]) }
    guard bytes.count >= 8, bytes.count == 8 + 2 * Int(word(0)) else { return nil }
    let (count, weight, sign) = (Int(word(0)), Int(Int16(bitPattern: word(1))), word(2))
    guard sign == 0 || sign == negative else { return nil }
    guard count > 0 else { return 0 }
    // The number is an integer of these digits, times a power of 10,000.
    var digits = ""
    for index in 0..<count {
      let group = String(word(4 + index))
      digits += String(repeating: "0", count: 4 - group.utf8.count) + group
    }
    let point = 4 * (weight + 1)
    guard abs(point) < 1000 else { return nil }
    let text: String
    if point <= 0 {
      text = "0." + String(repeating: "0", count: -point) + digits
    } else if point >= digits.utf8.count {
      text = digits + String(repeating: "0", count: point - digits.utf8.count)
    } else {
      let end = digits.utf8.index(digits.startIndex, offsetBy: point)
      text = "\(digits[..<end]).\(digits[end...])"
    }
    var trimmed = Substring(text)
    if trimmed.utf8.contains(UInt8(ascii: ".")) {
      while trimmed.utf8.last == UInt8(ascii: "0") { trimmed.removeLast() }
      if trimmed.utf8.last == UInt8(ascii: ".") { trimmed.removeLast() }
    }
    while trimmed.utf8.count > 1, trimmed.utf8.first == UInt8(ascii: "0"),
      trimmed.utf8.dropFirst().first != UInt8(ascii: ".")
    {
      trimmed.removeFirst()
    }
    let written = (sign == negative ? "-" : "") + trimmed
    // A decimal has at least 38 digits. With more of them the number may have to be rounded, and is another one then.
    return trimmed.utf8.count <= 38 ? Decimal(checkedText: written) : Decimal(canonicalText: written)
  }
}
