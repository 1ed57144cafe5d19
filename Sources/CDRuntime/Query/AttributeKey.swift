/// The name of an attribute of an entity, `.publisher` where a dictionary of them is asked for.
///
/// Generated code declares one for each attribute; a subclass has its parent's too.
public struct AttributeKey<Root: ManagedObject>: Hashable, Sendable {
  /// The attribute's name in the model.
  public let name: String

  /// The key of a property by its name. One that the entity has not is an error of the fetch.
  public init(_ name: String) {
    self.name = name
  }
}
