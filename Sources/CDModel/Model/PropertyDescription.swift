/// A property of an entity: an attribute, a relationship or a fetched property.
public enum PropertyDescription: Hashable, Sendable {
  /// A value that the object holds.
  case attribute(AttributeDescription)
  /// A relationship to one object or to several.
  case relationship(RelationshipDescription)
  /// A property whose value is the result of a fetch.
  case fetched(FetchedPropertyDescription)

  /// The property's name in the model.
  public var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    case .fetched(let property): property.name
    }
  }

  /// The name of the Swift property. A keyword is not escaped yet.
  public var swiftName: String {
    switch self {
    case .attribute(let attribute): attribute.swiftName
    case .relationship(let relationship): relationship.swiftName
    case .fetched(let property): property.swiftName ?? property.name
    }
  }
}
