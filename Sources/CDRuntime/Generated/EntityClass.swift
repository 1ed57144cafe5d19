/// A generated class of an entity. Its static functions fetch.
public protocol EntityClass: ManagedObject {
  /// The name of the entity.
  static var entityName: String { get }
}
