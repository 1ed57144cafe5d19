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
  /// Bytes of an attribute's value. Names are looked at many times.
  static let value = 1024 * 1024
  /// Elements of a document.
  static let elements = 500_000
}

/// How large a model may be, so that one made to take time takes none.
enum ModelLimits {
  static let entities = 5_000
  private static let properties = 5_000

  /// What there is too much of; nil where all is well.
  static func excess(in root: MarkupElement) -> String? {
    let entities = root.children("entity")
    if entities.count > Self.entities {
      return "the model has \(entities.count) entities, and at most \(Self.entities) are read"
    }
    let most = entities.map(\.children.count).max() ?? 0
    return most > properties ? "an entity has \(most) properties, and at most \(properties) are read" : nil
  }
}
