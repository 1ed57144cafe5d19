/// A property of an entity, of whichever kind.
public enum PropertyDescription: Hashable, Sendable {
  /// A value of the object.
  case attribute(AttributeDescription)
  /// One related object or several.
  case relationship(RelationshipDescription)
  /// The result of a fetch that the property makes.
  case fetched(FetchedPropertyDescription)

  /// The property's name in the model.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    case .fetched(let property): property.name
    }
  }

  /// The name of the Swift property, not yet escaped where it is a keyword.
  public var swiftName: String {
    switch self {
    case .attribute(let attribute): attribute.swiftName
    case .relationship(let relationship): relationship.swiftName
    case .fetched(let property): property.swiftName ?? property.name
    }
  }
}
