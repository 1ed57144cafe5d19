/// Why a text is no XML that is read here.
struct MarkupError: Error, Hashable {
  var message: String
  /// Counted from 1, the column in bytes of UTF-8.
  var line: Int
  var column: Int
}

/// How large a document may be. Beyond that nobody wrote it as a model.
enum MarkupLimits {
  /// In bytes.
  static let size = 32 * 1024 * 1024
  /// Levels of elements.
  static let depth = 64
  /// Attributes of one element.
  static let attributes = 128
  /// Elements of a document.
  static let elements = 500_000
}
