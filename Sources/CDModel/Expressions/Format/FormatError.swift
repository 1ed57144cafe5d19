/// Why a format string is no predicate or expression.
public struct FormatError: Error, Hashable, Sendable {
  /// The offset of the first token that no valid format could continue with, in UTF-8 bytes: the text's
  /// length where it ends too early, the opening quote of a string that never ends, the specifier that has
  /// no argument or none that fits.
  public let utf8Offset: Int

  /// The same offset in UTF-16 units.
  public let utf16Offset: Int

  /// What could have stood there, `an operator after 'age'`; nil where the mistake is another.
  public let expected: String?

  /// What stands there, `end of text` or `')'`; nil where the mistake is another.
  public let found: String?

  /// The mistake in words: `expected an operator after 'age', found end of text`.
  public let message: String

  init(utf8Offset: Int, utf16Offset: Int, expected: String, found: String) {
    self.utf8Offset = utf8Offset
    self.utf16Offset = utf16Offset
    self.expected = expected
    self.found = found
    message = "expected \(expected), found \(found)"
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
  /// The message and its place: `character 3: expected …`, counted in UTF-16 units from 0.
  public var description: String { "character \(utf16Offset): \(message)" }
}
