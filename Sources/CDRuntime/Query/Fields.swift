/// The properties of an entity, for the typed query language: `\.author.name == "Thoreau"`.
///
/// Generated code declares them in extensions.
public struct Fields<Root: ManagedObject>: Sendable {
  @_spi(Generated) public init() {}
}

/// A property, or a way to one, of the typed query language.
public protocol FieldPath: Sendable {
  /// The keys on the way.
  var keys: [String] { get }
}

/// An attribute.
public struct Attribute<Value: Sendable>: FieldPath {
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }
}

/// A to-one relationship, and the way to what its object has.
@dynamicMemberLookup
public struct ToOne<Destination: ManagedObject>: FieldPath {
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  public subscript<Value>(dynamicMember path: KeyPath<Fields<Destination>, Attribute<Value>>) -> Attribute<Value> {
    Attribute(keys: keys + Fields()[keyPath: path].keys)
  }
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToOne<Other>>) -> ToOne<Other> {
    ToOne<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToMany<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  public subscript<Value>(
    dynamicMember path: KeyPath<Fields<Destination>, CompositeField<Value>>
  ) -> CompositeField<Value> {
    CompositeField(keys: keys + Fields()[keyPath: path].keys)
  }
}

/// A to-many relationship.
public struct ToMany<Destination: ManagedObject>: FieldPath {
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// The count of the objects.
  public var count: Attribute<Int> { Attribute(keys: keys + ["@count"]) }
}

/// A composite.
public struct CompositeField<Value: Sendable>: FieldPath {
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// A field of the composite by its name.
  public func field<Field>(_ name: String, as type: Field.Type = Field.self) -> Attribute<Field> {
    Attribute(keys: keys + [name])
  }
}

extension FieldPath {
  var expression: ValueExpression { .keyPath(keys.joined(separator: ".")) }
  var keyPath: String { keys.joined(separator: ".") }
}
