import Foundation  // NSRegularExpression, which the runtime also uses to match patterns.

/// Whether a text matches the `pattern` of an attribute. The number of steps is limited, because some patterns
/// backtrack for too long.
package enum PatternMatch {
  case matches
  case differs
  /// The match takes more than ten million steps.
  case tooCostly
  /// The pattern is not a valid regular expression.
  case malformed

  /// How often the engine may report progress before the match is abandoned. It reports every 10,000 steps.
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

  /// The expression for a match of the whole text. Nil for a pattern that is malformed by itself, or becomes malformed
  /// when it is embedded in the expression.
  static func expression(_ pattern: String) -> NSRegularExpression? {
    guard (try? NSRegularExpression(pattern: pattern)) != nil else { return nil }
    return try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
  }
}
