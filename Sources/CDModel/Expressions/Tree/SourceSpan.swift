/// The position of a part of an expression in the text that it was read from, in UTF-8 bytes.
///
/// Spans are used for messages only: two expressions that differ only in their spans are equal.
public struct SourceSpan: Hashable, Sendable {
  private let lower: Int32
  private let upper: Int32

  /// The offset of the first byte.
  public var lowerBound: Int { Int(lower) }
  /// The offset after the last byte.
  public var upperBound: Int { Int(upper) }

  /// Creates a span between two offsets. Offsets beyond 2 GiB are clamped.
  public init(_ lowerBound: Int, _ upperBound: Int) {
    lower = Int32(clamping: lowerBound)
    upper = Int32(clamping: max(lowerBound, upperBound))
  }

  /// The text of the span; nil if the span does not fit the source.
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
      // Each scalar starts with one byte that is not a continuation byte. Scalars whose first byte is F0 or above take
      // two UTF-16 units.
      if byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
    }
    return units
  }
}
