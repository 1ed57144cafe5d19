public import CDModel

/// A value in a result of ``ManagedObjectContext/dictionaries(for:)``.
///
/// ```swift
/// var request = FetchRequest<Book>()
/// request.propertiesToFetch = ["title", "publisher"]
/// for values in try context.dictionaries(for: request) {
///   if case .string(let title)? = values["title"]?.attribute { print(title) }
///   if let id = values["publisher"]?.objectID { print(id) }
/// }
/// ```
public enum FetchedValue: Hashable, Sendable {
  /// The value of an attribute. Nil is `AttributeValue.null`. The value of a codable attribute is its JSON as a string.
  case attribute(AttributeValue)
  /// The identifier of the object of a to-one relationship, or nil if the relationship is nil.
  case object(ManagedObjectID?)

  /// The attribute's value, or nil for a relationship.
  public var attribute: AttributeValue? {
    if case .attribute(let value) = self { return value }
    return nil
  }

  /// The identifier of the object of a to-one relationship, or nil if there is none.
  public var objectID: ManagedObjectID? {
    if case .object(let id) = self { return id }
    return nil
  }

  /// The value to compare for equality: 0.0 and -0.0 are equal, as in a predicate.
  var identity: FetchedValue {
    if case .attribute(.double(let number)) = self, number == 0 { return .attribute(.double(0)) }
    return self
  }
}

// Literals, for the rows of a batch insert.
extension FetchedValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  /// A string.
  public init(stringLiteral value: String) { self = .attribute(.string(value)) }
  /// An integer. Floating-point and decimal attributes accept it too.
  public init(integerLiteral value: Int64) { self = .attribute(.int(value)) }
  /// A floating-point number.
  public init(floatLiteral value: Double) { self = .attribute(.double(value)) }
  /// A Boolean.
  public init(booleanLiteral value: Bool) { self = .attribute(.bool(value)) }
  /// Nil, for an attribute or a to-one relationship.
  public init(nilLiteral: ()) { self = .attribute(.null) }

  /// The value of an attribute, given as a Swift value.
  public static func value(_ value: some AttributeValueConvertible) -> FetchedValue {
    .attribute(value.attributeValue)
  }
}
