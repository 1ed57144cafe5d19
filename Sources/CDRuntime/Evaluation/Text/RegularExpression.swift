import CDModel
// NSRegularExpression uses ICU's engine, which has possessive quantifiers, look-ahead and full case folding.
import Foundation
import Synchronization

/// A pattern of MATCHES, which must match the whole string.
///
/// A pattern that backtracks without end is stopped after a number of the engine's steps, so that the same pattern and
/// text have the same result on every machine.
struct RegularExpression: Sendable {
  private let pattern: String
  private let expression: NSRegularExpression
  private let options: ComparisonOptions

  /// The maximum number of the engine's progress reports for one text. The engine reports every 10,000 steps.
  private static let maximumReports = 1000

  private init(_ pattern: String, _ options: ComparisonOptions) throws(EvaluationError) {
    self.options = options
    self.pattern = pattern
    let pattern = options.contains(.diacriticInsensitive) ? Self.withoutDiacritics(pattern) : pattern
    let flags: NSRegularExpression.Options = options.contains(.caseInsensitive) ? [.caseInsensitive] : []
    // Checks the pattern alone first. The text around it must not make a malformed pattern valid.
    guard (try? NSRegularExpression(pattern: pattern, options: flags)) != nil else { throw .badPattern }
    let whole = "\\A(?:\(pattern))\\z"
    // If a pattern ends with a comment, the closing parenthesis needs its own line.
    let expression =
      (try? NSRegularExpression(pattern: whole, options: flags))
      ?? (try? NSRegularExpression(pattern: "\\A(?:\(pattern)\n)\\z", options: flags))
    guard let expression else { throw .badPattern }
    self.expression = expression
  }

  /// Returns whether the pattern matches the whole text.
  ///
  /// - Throws: ``EvaluationError/patternTooCostly`` if this text alone needs too many steps,
  ///   ``EvaluationError/matchingTooCostly(pattern:)`` if all texts of a ``MatchBudget`` together do, and
  ///   ``EvaluationError/cancelled``.
  func matches(_ text: String) throws(EvaluationError) -> Bool {
    let budget = MatchBudget.current
    let text = options.contains(.diacriticInsensitive) ? Self.withoutDiacritics(text) : text
    var reports = 0
    var isFound = false
    var isTooCostly = false
    var isOverBudget = false
    let length = text.utf16.count
    try budget?.willMatch(units: length)
    expression.enumerateMatches(
      in: text, options: [.reportProgress, .reportCompletion], range: NSRange(location: 0, length: length)
    ) { result, flags, stop in
      if flags.contains(.internalError) {
        isTooCostly = true
        stop.pointee = true
      } else if result != nil {
        isFound = true
        stop.pointee = true
      } else if flags.contains(.progress) {
        reports += 1
        if reports > Self.maximumReports {
          isTooCostly = true
          stop.pointee = true
        } else if budget?.spend(on: pattern) == false {
          isOverBudget = true
          stop.pointee = true
        }
      }
    }
    if isFound { return true }
    if isOverBudget { throw budget?.isCancelled == true ? .cancelled : .matchingTooCostly(pattern: pattern) }
    if isTooCostly { throw .patternTooCostly }
    return false
  }

  private static func withoutDiacritics(_ text: String) -> String {
    FoundationText.folded(text, .diacriticInsensitive)
  }

  // MARK: Cache

  private struct Key: Hashable {
    /// The pattern as bytes, because Swift considers canonically equivalent strings equal.
    let pattern: [UInt8]
    let options: UInt8
  }

  private static let cache = Mutex<[Key: RegularExpression]>([:])

  /// Returns the expression of a pattern. Recent expressions are cached, because to compile one takes longer than a
  /// match.
  static func compiled(
    _ pattern: String, _ options: ComparisonOptions
  ) throws(EvaluationError) -> RegularExpression {
    let options = options.contains(.normalized) ? [] : options.subtracting(.localeSensitive)
    let key = Key(pattern: Array(pattern.utf8), options: options.rawValue)
    if let known = cache.withLock({ $0[key] }) { return known }
    let expression = try RegularExpression(pattern, options)
    cache.withLock { cache in
      if cache.count >= 200 { cache.removeAll() }
      cache[key] = expression
    }
    return expression
  }
}
