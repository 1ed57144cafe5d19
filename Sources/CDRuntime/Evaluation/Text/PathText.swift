// The path functions of NSString and its capitalisation are not in FoundationEssentials.
import Foundation

/// What NSString's methods make of a string that is a path or a title.
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
  /// A part of a text in UTF-16 units; nil where the text has not so many.
  static func part(_ text: String, from start: Int64, to end: Int64?) -> String? {
    let text = NSString(string: text)
    guard let start = Int(exactly: start), let end = Int(exactly: end ?? Int64(text.length)), start >= 0,
      end <= text.length, start <= end
    else { return nil }
    return text.substring(with: NSRange(location: start, length: end - start))
  }
}
