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
    if !options.contains(.localeSensitive), let left = ascii(left), let right = ascii(right) {
      if !options.contains(.caseInsensitive) { return CodeUnits.order(left, right) }
      return CodeUnits.order(left.map(lowercased), right.map(lowercased))
    }
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
    if part.utf8.isEmpty || text.utf8.isEmpty { return false }
    if options.contains(.normalized) {
      return CodeUnits.contains(Array(text.utf8), Array(part.utf8), place)
    }
    if !options.contains(.localeSensitive), let text = ascii(text), let part = ascii(part) {
      if !options.contains(.caseInsensitive) { return CodeUnits.contains(text, part, place) }
      return CodeUnits.contains(text.map(lowercased), part.map(lowercased), place)
    }
    return FoundationText.contains(text, part, at: place, options)
  }

  /// The bytes of a string that has ASCII alone.
  static func ascii(_ text: String) -> [UInt8]? {
    let bytes = Array(text.utf8)
    return bytes.allSatisfy { $0 < 0x80 } ? bytes : nil
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }
}
