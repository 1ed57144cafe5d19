import CDModel

/// The search for a part in many texts, prepared once: CONTAINS, BEGINSWITH and ENDSWITH.
struct TextSearch {
  private let part: String
  private let options: ComparisonOptions
  /// The bytes of the part, for a comparison of bytes: with `[n]`, or if both texts are ASCII. They are lowercase if
  /// the options ignore case. Nil if bytes are never compared.
  private let bytes: [UInt8]?
  private let isEmpty: Bool
  private let foldsCase: Bool

  init(_ part: String, _ options: ComparisonOptions) {
    self.part = part
    self.options = options
    isEmpty = part.utf8.isEmpty
    let isByUnits = options.contains(.normalized)
    foldsCase = !isByUnits && options.contains(.caseInsensitive)
    if isByUnits {
      bytes = Array(part.utf8)
    } else if options.contains(.localeSensitive) {
      bytes = nil
    } else {
      let folds = foldsCase
      bytes = TextComparison.ascii(part)?.map { folds ? TextComparison.lowercased($0) : $0 }
    }
  }

  /// Returns whether a text contains the part at an anchor. The empty string is never contained.
  func isFound(in text: String, at anchor: SearchAnchor) -> Bool {
    var text = text
    return text.withUTF8 { isFound(in: $0, at: anchor) }
  }

  /// Returns whether the bytes of a text contain the part at an anchor.
  func isFound(in text: UnsafeBufferPointer<UInt8>, at anchor: SearchAnchor) -> Bool {
    if isEmpty || text.isEmpty { return false }
    if let bytes, options.contains(.normalized) || text.allSatisfy({ $0 < 0x80 }) {
      return Self.isFound(bytes, in: text, at: anchor, foldsCase: foldsCase)
    }
    return FoundationText.contains(String(decoding: text, as: UTF8.self), part, at: anchor, options)
  }

  private static func isFound(
    _ part: [UInt8], in text: UnsafeBufferPointer<UInt8>, at anchor: SearchAnchor, foldsCase: Bool
  ) -> Bool {
    guard part.count <= text.count else { return false }
    let last = text.count - part.count
    let starts =
      switch anchor {
      case .start: 0...0
      case .end: last...last
      case .anywhere: 0...last
      }
    return part.withUnsafeBufferPointer { part in
      for start in starts {
        var index = 0
        while index < part.count {
          let byte = text[start + index]
          guard part[index] == (foldsCase ? TextComparison.lowercased(byte) : byte) else { break }
          index += 1
        }
        if index == part.count { return true }
      }
      return false
    }
  }
}

/// The right side of an operator with a pattern, prepared once for many texts.
enum TextPattern {
  case like(LikePattern)
  case expression(RegularExpression)

  /// - Parameter comparisonOperator: An operator whose form is `pattern`.
  init(
    _ pattern: String, of comparisonOperator: ComparisonOperator, _ options: ComparisonOptions
  ) throws(EvaluationError) {
    switch comparisonOperator {
    case .like: self = .like(LikePattern(pattern, options))
    case .matches: self = .expression(try RegularExpression.compiled(pattern, options))
    default: throw .unsupported(comparisonOperator.rawValue)
    }
  }

  func matches(_ text: String) throws(EvaluationError) -> Bool {
    switch self {
    case .like(let pattern): pattern.matches(text)
    case .expression(let expression): try expression.matches(text)
    }
  }
}

/// The patterns of a predicate, prepared at their first use. Most patterns are constants, which are compared with all
/// rows.
///
/// An evaluator holds this object. Only one thread uses it at a time.
final class PreparedTexts {
  /// The maximum number of prepared patterns. Patterns may also come from rows, so only the newest ones are kept.
  private static let capacity = 16

  private struct Entries<Value> {
    private var entries:
      [(pattern: String, operator: ComparisonOperator, options: ComparisonOptions, value: Value)] = []
    private var next = 0

    mutating func value<E: Error>(
      _ pattern: String, _ comparisonOperator: ComparisonOperator, _ options: ComparisonOptions,
      _ make: () throws(E) -> Value
    ) throws(E) -> Value {
      for entry in entries
      where entry.operator == comparisonOperator && entry.options == options
        && CodeUnits.areEqual(entry.pattern, pattern)
      {
        return entry.value
      }
      let value = try make()
      if entries.count < PreparedTexts.capacity {
        entries.append((pattern, comparisonOperator, options, value))
      } else {
        entries[next] = (pattern, comparisonOperator, options, value)
        next = (next + 1) % PreparedTexts.capacity
      }
      return value
    }
  }

  private var patterns = Entries<TextPattern>()
  private var searches = Entries<TextSearch>()

  /// The right side of an operator with a pattern.
  func pattern(
    _ pattern: String, _ comparisonOperator: ComparisonOperator, _ options: ComparisonOptions
  ) throws(EvaluationError) -> TextPattern {
    try patterns.value(pattern, comparisonOperator, options) { () throws(EvaluationError) in
      try TextPattern(pattern, of: comparisonOperator, options)
    }
  }

  func search(_ part: String, _ options: ComparisonOptions) -> TextSearch {
    searches.value(part, .contains, options) { () throws(Never) in TextSearch(part, options) }
  }
}
