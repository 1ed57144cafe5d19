import CDModel

/// Comparison and search of strings under the options of a predicate.
///
/// Without options, and with `[n]`, strings are compared by their code units. A search without options does not use
/// code units: it finds canonically equivalent text, but never a part of a combining sequence. With `[c]`, strings are
/// equal if their full case foldings are equal (`ß` and `SS`). With `[d]`, strings are equal if they are equal without
/// diacritics. ``TextKeys`` compares them, and ``FoundationText`` if the options depend on the locale. Most stored texts
/// are ASCII, for which this type has a faster way with the same results.
enum TextComparison {
  static func order(_ left: String, _ right: String, _ options: ComparisonOptions) -> Int {
    if options.isEmpty || options.contains(.normalized) { return CodeUnits.order(left, right) }
    var (left, right) = (left, right)
    let order = left.withUTF8 { (left: UnsafeBufferPointer<UInt8>) -> Int? in
      right.withUTF8 { Self.order(ascii: left, $0, options) }
    }
    if let order { return order }
    if options.contains(.localeSensitive) { return FoundationText.localizedOrder(left, right, options) }
    return TextKeys.keys(under: options).order(left, right)
  }

  static func areEqual(_ left: String, _ right: String, _ options: ComparisonOptions) -> Bool {
    if options.isEmpty || options.contains(.normalized) { return CodeUnits.areEqual(left, right) }
    return order(left, right, options) == 0
  }

  /// Returns whether a text contains another one. The empty string is never contained.
  static func contains(
    _ text: String, _ part: String, at anchor: SearchAnchor, _ options: ComparisonOptions
  ) -> Bool {
    TextSearch(part, options).isFound(in: text, at: anchor)
  }

  /// Compares the bytes of two ASCII texts. Returns nil if a text contains other characters, or if the options depend
  /// on the locale.
  static func order(
    ascii left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>, _ options: ComparisonOptions
  ) -> Int? {
    guard !options.contains(.localeSensitive), left.allSatisfy({ $0 < 0x80 }),
      right.allSatisfy({ $0 < 0x80 })
    else { return nil }
    let folds = options.contains(.caseInsensitive)
    for index in 0..<min(left.count, right.count) {
      let (first, second) = (left[index], right[index])
      if first == second { continue }
      let (one, other) = folds ? (lowercased(first), lowercased(second)) : (first, second)
      if one != other { return one < other ? -1 : 1 }
    }
    return left.count == right.count ? 0 : left.count < right.count ? -1 : 1
  }

  /// Returns the bytes of an ASCII string; nil for other strings.
  static func ascii(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    return bytes.allSatisfy { $0 < 0x80 } ? bytes : nil
  }

  /// Returns the lowercase form of an ASCII letter.
  @inline(__always) static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }
}
