/// What is wrong with a JSON text, and where.
public struct JSONParsingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of mistakes.
  public enum Reason: Hashable, Sendable {
    /// The text ends within a value, or holds none.
    case unexpectedEnd
    /// Something else stands where a value, a key, a colon, a comma or a closing bracket has to.
    case expected(String)
    /// Something follows the value.
    case trailingText
    /// An integer that no `Int64` or a number that no `Double` can hold.
    case numberOutOfRange
    /// A control character in a string, which has to be escaped.
    case controlCharacter
    /// A backslash followed by something that JSON does not know.
    case invalidEscape
    /// One half of a surrogate pair without the other.
    case loneSurrogate
    /// A string that is not UTF-8. The offset is that of its opening quote.
    case invalidUTF8
    /// A second member of an object with a key that Swift holds equal to that of an earlier one. The offset is
    /// that of the second key.
    case duplicateKey(String)
    /// More nested lists and objects than the limit.
    case tooDeep(limit: Int)
  }

  /// The kind of the mistake.
  public let reason: Reason
  /// The place in the text, in bytes of its UTF-8 from 0.
  public let offset: Int

  /// A mistake at an offset.
  public init(_ reason: Reason, offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// The place and the mistake in words.
  public var description: String {
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
