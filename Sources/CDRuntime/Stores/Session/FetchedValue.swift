public import CDModel

/// A value that ``ManagedObjectContext/dictionaries(for:)`` gives.
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
  /// The value of an attribute; nil is `AttributeValue.null`. A codable attribute's is its JSON as a
  /// string.
  case attribute(AttributeValue)
  /// The object of a to-one relationship; nil where there is none.
  case object(ManagedObjectID?)

  /// The attribute's value; nil for a relationship.
  public var attribute: AttributeValue? {
    if case .attribute(let value) = self { return value }
    return nil
  }

  /// The identifier of a to-one relationship's object, if there is one.
  public var objectID: ManagedObjectID? {
    if case .object(let id) = self { return id }
    return nil
  }

  /// The value by which two are told apart: 0.0 and -0.0 are one, as in a predicate.
  var identity: FetchedValue {
    if case .attribute(.double(let number)) = self, number == 0 { return .attribute(.double(0)) }
    return self
  }
}
