/// Where a part of an expression stands in the text that it was read from, in UTF-8 bytes.
///
/// A span is for messages only: two expressions that differ in nothing but their spans are equal.
public struct SourceSpan: Hashable, Sendable {
  private let lower: Int32
  private let upper: Int32

  /// The offset of the first byte.
  public var lowerBound: Int { Int(lower) }
  /// The offset behind the last byte.
  public var upperBound: Int { Int(upper) }

  /// A span from one offset to another. Bounds that a text of more than 2 GiB would have are clamped.
  public init(_ lowerBound: Int, _ upperBound: Int) {
    lower = Int32(clamping: lowerBound)
    upper = Int32(clamping: max(lowerBound, upperBound))
  }

  /// The text of the span, or nil where the source is not the one that the span was made for.
  public func text(in source: String) -> String? {
    let bytes = source.utf8
    guard
      let start = bytes.index(bytes.startIndex, offsetBy: lowerBound, limitedBy: bytes.endIndex),
      let end = bytes.index(start, offsetBy: upperBound - lowerBound, limitedBy: bytes.endIndex)
    else { return nil }
    return String(source[start..<end])
  }

  /// The span's start in UTF-16 units of the source, as editors and Apple's tools count.
  public func utf16Offset(in source: String) -> Int {
    Self.utf16Offset(ofUTF8: lowerBound, in: source)
  }

  static func utf16Offset(ofUTF8 offset: Int, in source: String) -> Int {
    var units = 0
    for byte in source.utf8.prefix(offset) {
      // Each scalar starts with one byte that is no continuation; those from F0 on take two units.
      if byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
    }
    return units
  }
}
