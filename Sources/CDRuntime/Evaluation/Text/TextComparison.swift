import CDModel

/// Comparison and search of strings under the options of a predicate.
///
/// Without options, and with `[n]`, strings are compared by their code units. A search without options is
/// not by code units: it finds canonically equivalent text, and never a part of a combining sequence. With
/// `[c]` strings are the same when their full case foldings are (`ß` and `SS`), with `[d]` when they are
/// without diacritics. What Foundation does for that is in ``FoundationText``; ASCII, the most of what is
/// stored, goes the short way here, with the same answers.
enum TextComparison {
  static func order(_ left: String, _ right: String, _ options: ComparisonOptions) -> Int {
    if options.isEmpty || options.contains(.normalized) { return CodeUnits.order(left, right) }
    var (left, right) = (left, right)
    let order = left.withUTF8 { (left: UnsafeBufferPointer<UInt8>) -> Int? in
      right.withUTF8 { Self.order(ascii: left, $0, options) }
    }
    if let order { return order }
    return FoundationText.order(left, right, options)
  }

  static func areEqual(_ left: String, _ right: String, _ options: ComparisonOptions) -> Bool {
    if options.isEmpty || options.contains(.normalized) { return CodeUnits.areEqual(left, right) }
    return order(left, right, options) == 0
  }

  /// Whether a text holds another. The empty string is nowhere.
  static func contains(
    _ text: String, _ part: String, at place: SearchPlace, _ options: ComparisonOptions
  ) -> Bool {
    TextSearch(part, options).isFound(in: text, at: place)
  }

  /// The order of the bytes of two texts that have ASCII alone; nil where they have more, or where letters are compared
  /// as a language does.
  static func order(
    ascii left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>, _ options: ComparisonOptions
  ) -> Int? {
    guard !options.contains(.localeSensitive), left.allSatisfy({ $0 < 0x80 }),
      right.allSatisfy({ $0 < 0x80 })
    else { return nil }
    let folds = options.contains(.caseInsensitive)
    for place in 0..<min(left.count, right.count) {
      let (first, second) = (left[place], right[place])
      if first == second { continue }
      let (one, other) = folds ? (lowercased(first), lowercased(second)) : (first, second)
      if one != other { return one < other ? -1 : 1 }
    }
    return left.count == right.count ? 0 : left.count < right.count ? -1 : 1
  }

  /// The bytes of a string that has ASCII alone.
  static func ascii(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    return bytes.allSatisfy { $0 < 0x80 } ? bytes : nil
  }

  /// A letter of ASCII as the small one.
  @inline(__always) static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }
}
