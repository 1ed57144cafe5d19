/// A syntax error in a format string.
public struct FormatError: Error, Hashable, Sendable {
  /// The offset of the first wrong token, in UTF-8 bytes from 0. If the text ends too early, this is the text's length. If a
  /// string does not end, it is the string's opening quote. If an argument is missing or does not fit, it is the
  /// specifier.
  public let utf8Offset: Int

  /// The same offset in UTF-16 units from 0.
  public let utf16Offset: Int

  /// The expected syntax, such as `an operator after 'age'`; nil for errors of another sort.
  public let expected: String?

  /// The token that was found, such as `end of text` or `')'`; nil for errors of another sort.
  public let found: String?

  /// The error as a sentence: `expected an operator after 'age', found end of text`.
  public let message: String

  init(utf8Offset: Int, utf16Offset: Int, expected: String, found: String, suggestion: String? = nil) {
    self.utf8Offset = utf8Offset
    self.utf16Offset = utf16Offset
    self.expected = expected
    self.found = found
    message =
      "expected \(expected), found \(found)" + (suggestion.map { "; did you mean '\($0)'?" } ?? "")
  }

  init(utf8Offset: Int, utf16Offset: Int, message: String) {
    self.utf8Offset = utf8Offset
    self.utf16Offset = utf16Offset
    expected = nil
    found = nil
    self.message = message
  }
}

extension FormatError: CustomStringConvertible {
  /// The message with its position, counted in UTF-16 units from 1, as editors count columns: `character 4: expected …`.
  public var description: String { "character \(utf16Offset + 1): \(message)" }
}

extension FormatError: PresentableError {
  public var situation: ErrorSituation { .unreadableText }
}
