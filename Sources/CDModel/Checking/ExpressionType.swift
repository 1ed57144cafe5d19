/// The type of a value expression.
package indirect enum ExpressionType: Hashable, Sendable {
  /// A type that an attribute can have: a string, a number type, an enumeration or a composite, for example.
  case attribute(AttributeType)
  /// A managed object of an entity or of one of its subentities.
  case object(entity: String)
  /// An array, a set, or the objects of a to-many relationship.
  case collection(of: ExpressionType)
  /// Values by key.
  case dictionary
  /// The type of `nil`.
  case null
  /// An unknown type: that of an expression with a mistake, of a variable without a type, or of the elements of an
  /// empty collection. It fits every other type, so that one mistake is reported once.
  case unknown

  static let string = ExpressionType.attribute(.string)
  static let int64 = ExpressionType.attribute(.int64)
  static let double = ExpressionType.attribute(.double)
  static let date = ExpressionType.attribute(.date)

  /// Whether the type is a collection.
  package var isCollection: Bool {
    if case .collection = self { true } else { false }
  }

  /// The type of a collection's elements; nil for other types.
  package var element: ExpressionType? {
    if case .collection(let element) = self { element } else { nil }
  }
}

extension ExpressionType: CustomStringConvertible {
  /// The type in words, as the schema language writes it: `String`, `Book`, `[Book]`.
  package var description: String {
    switch self {
    case .attribute(let type): type.schemaName
    case .object(let entity): entity
    case .collection(let element): "[\(element)]"
    case .dictionary: "dictionary"
    case .null: "nil"
    case .unknown: "unknown"
    }
  }
}
