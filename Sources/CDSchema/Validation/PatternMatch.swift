import Foundation  // NSRegularExpression, by whose rules a pattern is later matched.

/// Whether a text matches the `pattern` of an attribute, found out in a bounded number of steps: a pattern may backtrack
/// for longer than anybody waits.
package enum PatternMatch {
  case matches
  case differs
  /// It takes more than ten million steps to find out.
  case tooCostly
  /// The pattern is no regular expression.
  case malformed

  /// How often the engine may report that it is still at work. It does so every 10,000 steps.
  private static let mostReports = 1000

  package init(_ text: String, _ pattern: String) {
    guard let expression = Self.expression(pattern) else {
      self = .malformed
      return
    }
    var reports = 0
    var result = PatternMatch.differs
    expression.enumerateMatches(
      in: text, options: [.reportProgress, .reportCompletion],
      range: NSRange(location: 0, length: text.utf16.count)
    ) { found, flags, stop in
      if flags.contains(.progress), found == nil {
        reports += 1
        guard reports > Self.mostReports else { return }
        result = .tooCostly
      } else if flags.contains(.internalError) {
        result = .tooCostly
      } else if found != nil {
        result = .matches
      } else {
        return
      }
      stop.pointee = true
    }
    self = result
  }

  /// The expression for a whole text; nil for a pattern that is malformed, by itself or within what makes it one for
  /// a whole text.
  static func expression(_ pattern: String) -> NSRegularExpression? {
    guard (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    return try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
  }
}
