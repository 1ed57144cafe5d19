/// The value of a property that is read or set by its key.
///
/// ```swift
/// let title = try book.value(forKey: "title").attribute
/// let publisher = try book.value(forKey: "publisher").object
/// let reviews = try book.value(forKey: "reviews").objects
/// for (key, value) in book.changedValues {
///   if case .attribute(let attribute) = value { print(key, attribute) }
/// }
/// ```
public enum PropertyValue: Hashable {
  /// The value of an attribute. A codable attribute's value is its JSON as a string.
  case attribute(AttributeValue)
  /// The object of a to-one relationship.
  case object(ManagedObject?)
  /// The objects of a to-many relationship or of a fetched property.
  case objects([ManagedObject])

  /// The attribute's value; nil for a relationship.
  public var attribute: AttributeValue? {
    if case .attribute(let value) = self { return value }
    return nil
  }

  /// The object of a to-one relationship; nil if there is none, and for other properties.
  public var object: ManagedObject? {
    if case .object(let object) = self { return object }
    return nil
  }

  /// The objects of a to-many relationship or of a fetched property; empty for other properties.
  public var objects: [ManagedObject] {
    if case .objects(let objects) = self { return objects }
    return []
  }
}

extension PropertyValue: ExpressibleByNilLiteral {
  /// Creates nil, for an attribute or a to-one relationship.
  public init(nilLiteral: ()) { self = .attribute(.null) }
}

@available(*, unavailable)
extension PropertyValue: Sendable {}
