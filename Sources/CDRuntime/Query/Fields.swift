public import CDModel

/// The properties of an entity, for the typed query language.
///
/// Generated code declares them in extensions. Key paths to them are compared where one comparison follows
/// another; a closure that is given them has all of the language:
///
/// ```swift
/// try Book.fetch(where: \.publisher == "BookCo" && \.author.name == "Thoreau", in: context)
/// try Book.fetch(where: { $0.title.hasPrefix("wal", options: .caseInsensitive) && $0.pages * 2 < $0.limit },
///   in: context)
/// ```
///
/// Either way is the same tree as the format string that says the same.
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
  /// The keys on the way, as a key path has them.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }
}

/// A to-one relationship, and the way to what its object has.
@dynamicMemberLookup
public struct ToOne<Destination: ManagedObject>: FieldPath {
  /// The keys on the way, as a key path has them.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// An attribute of the object.
  public subscript<Value>(dynamicMember path: KeyPath<Fields<Destination>, Attribute<Value>>) -> Attribute<
    Value
  > {
    Attribute(keys: keys + Fields()[keyPath: path].keys)
  }
  /// The object of a to-one relationship of the object.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToOne<Other>>) -> ToOne<Other> {
    ToOne<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  /// The objects of a to-many relationship of the object.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToMany<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  /// A composite of the object.
  public subscript<Value>(
    dynamicMember path: KeyPath<Fields<Destination>, CompositeField<Value>>
  ) -> CompositeField<Value> {
    CompositeField(keys: keys + Fields()[keyPath: path].keys)
  }
}

/// A to-many relationship, or what is reached through one: many objects, and the way to what they have.
@dynamicMemberLookup
public struct ToMany<Destination: ManagedObject>: FieldPath {
  /// The keys on the way, as a key path has them.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// The count of the objects.
  public var count: Attribute<Int> { Attribute(keys: keys + ["@count"]) }

  /// The values of an attribute of the objects.
  public subscript<Value>(
    dynamicMember path: KeyPath<Fields<Destination>, Attribute<Value>>
  ) -> ManyAttribute<Value> {
    ManyAttribute(keys: keys + Fields()[keyPath: path].keys)
  }
  /// The objects of a to-one relationship of the objects.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToOne<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  /// All objects of a to-many relationship of the objects.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToMany<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
}

/// A composite.
public struct CompositeField<Value: Sendable>: FieldPath {
  /// The keys on the way, as a key path has them.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// A field of the composite by its name.
  public func field<Field>(_ name: String, as type: Field.Type = Field.self) -> Attribute<Field> {
    Attribute(keys: keys + [name])
  }
}

extension FieldPath {
  /// The path as a tree.
  public var expression: ValueExpression { .keyPath(keyPath) }
  /// The keys with dots between them.
  public var keyPath: String { keys.joined(separator: ".") }
}
