import CDModel
// NSRegularExpression is ICU's engine: possessive quantifiers, look-ahead, full case folding.
import Foundation
import Synchronization

/// The pattern of MATCHES, which takes the whole string.
///
/// Patterns that backtrack without end are stopped after a number of the engine's steps, so that the same
/// pattern and text have the same answer on every machine.
struct RegularExpression: Sendable {
  private let pattern: String
  private let expression: NSRegularExpression
  private let options: ComparisonOptions

  /// How often the engine may report that it is still at work on one text. It does so every 10,000 steps.
  private static let maximumReports = 1000

  private init(_ pattern: String, _ options: ComparisonOptions) throws(EvaluationError) {
    self.options = options
    self.pattern = pattern
    let pattern = options.contains(.diacriticInsensitive) ? Self.withoutDiacritics(pattern) : pattern
    let flags: NSRegularExpression.Options = options.contains(.caseInsensitive) ? [.caseInsensitive] : []
    // By itself first: a pattern that is malformed must not become a good one by what is put around it.
    guard (try? NSRegularExpression(pattern: pattern, options: flags)) != nil else { throw .badPattern }
    let whole = "\\A(?:\(pattern))\\z"
    // In a pattern that ends with a comment the closing parenthesis needs a line of its own.
    let expression =
      (try? NSRegularExpression(pattern: whole, options: flags))
      ?? (try? NSRegularExpression(pattern: "\\A(?:\(pattern)\n)\\z", options: flags))
    guard let expression else { throw .badPattern }
    self.expression = expression
  }

  /// Whether the pattern takes the whole text.
  ///
  /// - Throws: ``EvaluationError/patternTooCostly`` where the text alone takes too many steps,
  ///   ``EvaluationError/matchingTooCostly(pattern:)`` where the texts of a ``MatchBudget`` do, and
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
    /// Bytes, for equality of strings would take canonically equivalent patterns for one.
    let pattern: [UInt8]
    let options: UInt8
  }

  private static let cache = Mutex<[Key: RegularExpression]>([:])

  /// The expression of a pattern. Those used last are kept: compiling one takes longer than a match.
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
