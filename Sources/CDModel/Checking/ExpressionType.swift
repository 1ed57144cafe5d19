/// The type of a value expression.
public indirect enum ExpressionType: Hashable, Sendable {
  /// What an attribute can be: a string, a number of some width, an enumeration, a composite.
  case attribute(AttributeType)
  /// A managed object of an entity, or of one that inherits from it.
  case object(entity: String)
  /// An array, a set, or what a to-many relationship leads to.
  case collection(of: ExpressionType)
  /// Values by key.
  case dictionary
  /// `nil`, and nothing else.
  case null
  /// Not known: an expression with a mistake, a variable that nothing gives a type to, an empty collection's
  /// elements. It goes with every other type, so that one mistake is reported once.
  case unknown

  static let string = ExpressionType.attribute(.string)
  static let bool = ExpressionType.attribute(.bool)
  static let int64 = ExpressionType.attribute(.int64)
  static let double = ExpressionType.attribute(.double)
  static let date = ExpressionType.attribute(.date)

  /// Whether the type is a collection.
  public var isCollection: Bool {
    if case .collection = self { true } else { false }
  }

  /// The type of a collection's elements; nil for what is none.
  public var element: ExpressionType? {
    if case .collection(let element) = self { element } else { nil }
  }
}

extension ExpressionType: CustomStringConvertible {
  /// The type in words, as the schema language writes it: `String`, `Book`, `[Book]`.
  public var description: String {
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
