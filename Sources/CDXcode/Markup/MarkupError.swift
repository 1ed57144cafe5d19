/// An error in an XML text.
struct MarkupError: Error, Hashable {
  var message: String
  /// The position, counted from 1. The column counts UTF-8 bytes.
  var line: Int
  var column: Int
}

/// Limits for the size of a document. No real model exceeds them.
enum MarkupLimits {
  /// The maximum number of bytes.
  static let size = 32 * 1024 * 1024
  /// The maximum nesting of elements.
  static let depth = 64
  /// The maximum number of attributes of one element.
  static let attributes = 128
  /// The maximum number of bytes of an attribute's value. Names are compared many times.
  static let value = 1024 * 1024
  /// The maximum number of elements in a document.
  static let elements = 500_000
}

/// Limits for the size of a model, so that no crafted model can take too much time.
enum ModelLimits {
  static let entities = 5_000
  private static let properties = 5_000

  /// Describes a number that exceeds a limit; nil if there is none.
  static func excess(in root: MarkupElement) -> String? {
    let entities = root.children("entity")
    if entities.count > Self.entities {
      return "the model has \(entities.count) entities, and at most \(Self.entities) are read"
    }
    let most = entities.map(\.children.count).max() ?? 0
    return most > properties ? "an entity has \(most) properties, and at most \(properties) are read" : nil
  }
}
