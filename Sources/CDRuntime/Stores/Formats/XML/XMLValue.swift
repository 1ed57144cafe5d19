#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The text of values in XML. It is read from bytes, and only values that are texts need a string.
enum XMLValue {
  /// Returns the value of a text; nil if the text does not have the type.
  static func value(_ bytes: UnsafeBufferPointer<UInt8>, _ type: StoreColumn.ValueType) -> StoreValue? {
    switch type {
    case .string, .decimal, .url, .json: text(bytes).map(StoreValue.text)
    case .key, .count, .integer: integer(bytes).map(StoreValue.integer)
    case .bool: bool(bytes).map { .integer($0 ? 1 : 0) }
    case .real: real(bytes).map(StoreValue.real)
    case .date: XMLDate.seconds(bytes).map(StoreValue.real)
    case .data, .externalData: text(bytes).flatMap { Data(base64Encoded: $0) }.map(StoreValue.bytes)
    case .uuid: uuid(bytes).map(StoreValue.bytes)
    }
  }

  /// Returns the text of a value; nil for null.
  static func text(_ value: StoreValue, _ type: StoreColumn.ValueType) -> String? {
    switch value {
    case .null: nil
    case .integer(let number): type == .bool ? (number == 0 ? "false" : "true") : String(number)
    case .real(let number): type == .date ? XMLDate.text(number) : "\(number)"
    case .text(let text): text
    case .bytes(let data):
      if type == .uuid, let id = ValueBytes.uuid(data) { id.uuidString } else { data.base64EncodedString() }
    }
  }

  /// Returns the text of bytes; nil if they are not valid UTF-8.
  static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
    // Decoding repairs invalid UTF-8, which changes the bytes.
    var text = String(decoding: bytes, as: UTF8.self)
    let isExact = text.withUTF8 { found in
      found.count == bytes.count && found.elementsEqual(bytes)
    }
    return isExact ? text : nil
  }

  /// Returns a number. Returns nil for other texts, and for numbers that are too large and would be read as infinity.
  static func real(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    guard let number = Double(String(decoding: bytes, as: UTF8.self)) else { return nil }
    let endsInDigit = bytes.last.map { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } ?? false
    return number.isInfinite && endsInDigit ? nil : number
  }

  private static func bool(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool? {
    if bytes.elementsEqual("true".utf8) || bytes.elementsEqual("1".utf8) { return true }
    if bytes.elementsEqual("false".utf8) || bytes.elementsEqual("0".utf8) { return false }
    return nil
  }

  private static func integer(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    let isNegative = bytes.first == UInt8(ascii: "-")
    let digits = bytes[(isNegative ? 1 : 0)...]
    // A number of up to 18 digits cannot overflow.
    guard !digits.isEmpty, digits.count <= 18 else { return Int64(String(decoding: bytes, as: UTF8.self)) }
    var number: Int64 = 0
    for byte in digits {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else {
        return Int64(String(decoding: bytes, as: UTF8.self))
      }
      number = number &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
    }
    return isNegative ? -number : number
  }

  /// Returns the bytes of a UUID's text, which has 32 digits and hyphens after digits 8, 12, 16 and 20.
  private static func uuid(_ bytes: UnsafeBufferPointer<UInt8>) -> Data? {
    guard bytes.count == 36 else { return nil }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { result in
      var index = 0
      for number in 0..<16 {
        if number == 4 || number == 6 || number == 8 || number == 10 {
          guard bytes[index] == UInt8(ascii: "-") else { return nil }
          index += 1
        }
        guard let high = digit(bytes[index]), let low = digit(bytes[index + 1]) else { return nil }
        result[number] = high << 4 | low
        index += 2
      }
      return Data(result)
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
