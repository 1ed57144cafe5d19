import CDModel
// NSString's comparison, search and folding are not in FoundationEssentials.
// The path functions of NSString and its capitalisation are not in FoundationEssentials.
import Foundation

/// What Foundation does with strings under the options of a predicate. The evaluator and the SQL functions both use it, so
/// that they always agree.
enum FoundationText {
  /// Returns a negative number, 0 or a positive number if the left string comes before, equals or comes after the right
  /// one in the order of the current locale.
  static func localizedOrder(_ left: String, _ right: String, _ options: ComparisonOptions) -> Int {
    let second = NSString(string: right)
    let range = NSRange(location: 0, length: NSString(string: left).length)
    return NSString(string: left)
      .compare(second as String, options: foundation(options), range: range, locale: Locale.current).rawValue
  }

  static func contains(
    _ text: String, _ part: String, at anchor: SearchAnchor, _ options: ComparisonOptions
  ) -> Bool {
    var search = foundation(options)
    switch anchor {
    case .start: search.formUnion(.anchored)
    case .end: search.formUnion([.anchored, .backwards])
    case .anywhere: break
    }
    let whole = NSString(string: text)
    let range = NSRange(location: 0, length: whole.length)
    let locale = options.contains(.localeSensitive) ? Locale.current : nil
    let found = whole.range(of: part, options: search, range: range, locale: locale)
    // Foundation takes the end of the text for the character zero.
    return found.location != NSNotFound && found.location + found.length <= whole.length
  }

  /// Returns a string without the differences that the options ignore.
  static func folded(_ text: String, _ options: ComparisonOptions) -> String {
    NSString(string: text).folding(options: foundation(options), locale: nil)
  }

  /// Returns a string in which each composed character is decomposed.
  static func decomposed(_ text: String) -> String {
    text.decomposedStringWithCanonicalMapping
  }

  private static func foundation(_ options: ComparisonOptions) -> NSString.CompareOptions {
    var result: NSString.CompareOptions = []
    if options.contains(.caseInsensitive) { result.formUnion(.caseInsensitive) }
    if options.contains(.diacriticInsensitive) { result.formUnion(.diacriticInsensitive) }
    return result
  }
}

/// NSString's methods for strings that are paths or titles.
enum PathText {
  static func lastComponent(_ text: String) -> String { NSString(string: text).lastPathComponent }
  static func fileExtension(_ text: String) -> String { NSString(string: text).pathExtension }
  static func withoutLastComponent(_ text: String) -> String {
    NSString(string: text).deletingLastPathComponent
  }
  static func withoutExtension(_ text: String) -> String { NSString(string: text).deletingPathExtension }
  static func appending(component: String, to text: String) -> String {
    NSString(string: text).appendingPathComponent(component)
  }
  static func appending(extension name: String, to text: String) -> String {
    NSString(string: text).appendingPathExtension(name) ?? text
  }
  static func capitalized(_ text: String) -> String { text.capitalized }
  static func replacing(_ part: String, with other: String, in text: String) -> String {
    text.replacingOccurrences(of: part, with: other)
  }
  static func components(_ text: String, separatedBy separator: String) -> [String] {
    text.components(separatedBy: separator)
  }
  /// Returns a part of a text, by indexes of UTF-16 units; nil if the text is too short.
  static func part(_ text: String, from start: Int64, to end: Int64?) -> String? {
    let text = NSString(string: text)
    guard let start = Int(exactly: start), let end = Int(exactly: end ?? Int64(text.length)), start >= 0,
      end <= text.length, start <= end
    else { return nil }
    return text.substring(with: NSRange(location: start, length: end - start))
  }
}
