/// A mistake in a JSON text, with its position.
package struct JSONParsingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of mistakes.
  package enum Reason: Hashable, Sendable {
    /// The text ends inside a value, or contains no value.
    case unexpectedEnd
    /// A value, a key, a colon, a comma or a closing bracket is missing.
    case expected(String)
    /// Text follows the value.
    case trailingText
    /// An integer does not fit in `Int64`, or a number does not fit in `Double`.
    case numberOutOfRange
    /// A string contains a control character that is not escaped.
    case controlCharacter
    /// A backslash is followed by a character that is not a JSON escape.
    case invalidEscape
    /// One half of a surrogate pair stands alone.
    case loneSurrogate
    /// A string is not UTF-8. The offset is that of its opening quote.
    case invalidUTF8
    /// An object has two keys that are equal in Swift. The offset is that of the second key.
    case duplicateKey(String)
    /// Lists and objects are nested deeper than the limit.
    case tooDeep(limit: Int)
  }

  /// The kind of the mistake.
  package let reason: Reason
  /// The position in the text, in UTF-8 bytes counted from 0.
  package let offset: Int

  /// Creates a mistake at an offset.
  package init(_ reason: Reason, offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// The position and the mistake in words.
  package var description: String {
    let text =
      switch reason {
      case .unexpectedEnd: "the text ends too early"
      case .expected(let what): "expected \(what)"
      case .trailingText: "unexpected text after the value"
      case .numberOutOfRange: "a number out of range"
      case .controlCharacter: "a control character in a string has to be escaped"
      case .invalidEscape: "an unknown escape"
      case .loneSurrogate: "half of a surrogate pair"
      case .invalidUTF8: "a string that is not UTF-8"
      case .duplicateKey(let key): "the key '\(key)' comes twice"
      case .tooDeep(let limit): "more than \(limit) nested lists and objects"
      }
    return "byte \(offset): \(text)"
  }
}

extension JSONParsingError: PresentableError {
  package var situation: ErrorSituation { .unreadableText }
}
