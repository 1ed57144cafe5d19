import CDModel

// The roots and the steps of key paths in conditions and sort orders, such as `\.publisher.name == "BookCo"`.
//
// The members are those of `Fields`. A key path could begin at `Fields` itself. But then the compiler says nothing useful
// about an unknown name: it tries all operators, and blames the last one. So each type here has members for unknown names
// too. They have the types that conditions need, and two mistakes: they need a conformance that no class has, and their
// index is not Hashable. So the compiler writes two errors at an unknown name, which say what is wrong by the names of these
// types. A comparison of a known attribute with a value of a wrong type has one mistake. So the compiler prefers it to the
// member for unknown names, and explains the types. For composites the compiler does not choose so well, so their member
// has the second mistake only, and its index tells the type of the value.

/// The root of the key paths in conditions and sort orders: an object, or the object that a to-one relationship leads to.
///
/// Its members are those of ``Fields``:
///
/// ```swift
/// let path: KeyPath<Keys<Book>, Attribute<String>> = \.publisher.name
/// let books = try Book.fetch(where: path == "BookCo" && \.price < 10, sortedBy: path, in: context)
/// ```
///
/// A name that the entity lacks is an error of the compiler, which ``HasPropertyOfThisName`` explains.
@dynamicMemberLookup
public struct Keys<Root: ManagedObject>: FieldPath {
  /// The keys of the path, in order. There are none if the path is the object itself, which is `\.self`.
  public let keys: [String]

  init(keys: [String] = []) { self.keys = keys }

  func compared(_ comparison: ComparisonOperator, to object: Root?) -> FetchPredicate {
    FetchPredicate(
      keys.isEmpty ? .object : expression, comparison,
      .constant(object.map { .object($0.reference) } ?? .null))
  }

  /// An attribute.
  public subscript<Value>(dynamicMember path: KeyPath<Fields<Root>, Attribute<Value>>) -> Attribute<Value> {
    let attribute = Fields()[keyPath: path]
    return keys.isEmpty ? attribute : Attribute(keys: keys + attribute.keys)
  }
  /// A to-one relationship, and the path to the properties of its object.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Root>, ToOne<Other>>) -> Keys<Other> {
    Keys<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  /// A to-many relationship, and the path to the properties of its objects.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Root>, ToMany<Other>>) -> ManyKeys<Other> {
    ManyKeys<Other>(ToMany(keys: keys + Fields()[keyPath: path].keys))
  }
  /// A composite, and the path to its fields.
  public subscript<Value>(
    dynamicMember path: KeyPath<Fields<Root>, CompositeField<Value>>
  ) -> CompositeKeys<Value> {
    CompositeKeys(CompositeField(keys: keys + Fields()[keyPath: path].keys))
  }

  /// An unknown name, where an attribute is needed. A key path to it does not compile.
  @_disfavoredOverload
  public subscript<Value>(dynamicMember name: NoSuchProperty<Root>) -> Attribute<Value>
  where Root: HasPropertyOfThisName {
    Attribute(keys: keys + [name.name])
  }
  /// An unknown name, where any attribute will do. A key path to it does not compile.
  @_disfavoredOverload
  public subscript(dynamicMember name: NoSuchProperty<Root>) -> Attribute<_UnknownValue>
  where Root: HasPropertyOfThisName {
    Attribute(keys: keys + [name.name])
  }
  /// An unknown name, where a to-one relationship is needed. A key path to it does not compile.
  @_disfavoredOverload
  public subscript<Other>(dynamicMember name: NoSuchProperty<Root>) -> _UnknownToOne<Other>
  where Root: HasPropertyOfThisName {
    _UnknownToOne(keys: keys + [name.name])
  }
  /// An unknown name in the middle of a path. A key path through it does not compile.
  @_disfavoredOverload
  public subscript(dynamicMember name: NoSuchProperty<Root>) -> _UnknownKeys where Root: HasPropertyOfThisName
  {
    _UnknownKeys(keys: keys + [name.name])
  }
}

/// A to-many relationship in a key path, or a path through one.
///
/// ```swift
/// let discussed = try Book.fetch(where: \.reviews.count > 10, in: context)
/// let hers = try Book.fetch(where: \.authors.name.any == "Grace", in: context)
/// ```
@dynamicMemberLookup
public struct ManyKeys<Destination: ManagedObject>: FieldPath {
  /// The relationship, as closures know it.
  let relationship: ToMany<Destination>

  init(_ relationship: ToMany<Destination>) { self.relationship = relationship }

  /// The keys of the path, in order.
  public var keys: [String] { relationship.keys }
  /// The number of objects.
  public var count: Attribute<Int> { relationship.count }

  /// An attribute of the objects.
  public subscript<Value>(
    dynamicMember path: KeyPath<Fields<Destination>, Attribute<Value>>
  ) -> ManyAttribute<Value> {
    relationship[dynamicMember: path]
  }
  /// The destination objects of a to-one relationship of the objects.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToOne<Other>>) -> ManyKeys<Other> {
    ManyKeys<Other>(relationship[dynamicMember: path])
  }
  /// The destination objects of a to-many relationship of the objects.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToMany<Other>>) -> ManyKeys<Other>
  {
    ManyKeys<Other>(relationship[dynamicMember: path])
  }

  /// An unknown name, where a number is needed. A key path to it does not compile.
  @_disfavoredOverload
  public subscript<Value>(dynamicMember name: NoSuchProperty<Destination>) -> Attribute<Value>
  where Destination: HasPropertyOfThisName {
    Attribute(keys: keys + [name.name])
  }
  /// An unknown name in the middle of a path. A key path through it does not compile.
  @_disfavoredOverload
  public subscript(dynamicMember name: NoSuchProperty<Destination>) -> _UnknownKeys
  where Destination: HasPropertyOfThisName {
    _UnknownKeys(keys: keys + [name.name])
  }
}

/// A composite in a key path.
///
/// ```swift
/// let neighbours = try Author.fetch(where: \.address.city == "Concord", in: context)
/// ```
@dynamicMemberLookup
public struct CompositeKeys<Value: Sendable>: FieldPath {
  /// The composite, as closures know it.
  let composite: CompositeField<Value>

  init(_ composite: CompositeField<Value>) { self.composite = composite }

  /// The keys of the path, in order.
  public var keys: [String] { composite.keys }

  /// A field.
  public subscript<Field>(
    dynamicMember path: KeyPath<CompositeField<Value>, Attribute<Field>>
  ) -> Attribute<Field> {
    composite[keyPath: path]
  }
  /// A composite in the composite.
  public subscript<Field>(
    dynamicMember path: KeyPath<CompositeField<Value>, CompositeField<Field>>
  ) -> CompositeKeys<Field> {
    CompositeKeys<Field>(composite[keyPath: path])
  }

  /// An unknown name, where a field is needed. A key path to it does not compile.
  @_disfavoredOverload
  public subscript<Field>(dynamicMember name: NoSuchField<Value, Field>) -> Attribute<Field> {
    Attribute(keys: keys + [name.name])
  }
  /// An unknown name, where any field will do. A key path to it does not compile.
  @_disfavoredOverload
  public subscript(dynamicMember name: NoSuchField<Value, _UnknownValue>) -> Attribute<_UnknownValue> {
    Attribute(keys: keys + [name.name])
  }
}

// MARK: Unknown names

/// A class that has each property that somebody thinks of. There is none: you meet this protocol only in an error of the
/// compiler.
///
/// For `Book.fetch(where: \.titel == "Walden", in: context)`, the compiler writes two errors, the second one exactly at
/// `titel`:
///
/// ```text
/// subscript 'subscript(dynamicMember:)' requires that 'Book' conform to 'HasPropertyOfThisName'
/// subscript index of type 'NoSuchProperty<Book>' in a key path must be Hashable
/// ```
///
/// They mean: `Book` has no property of this name. Correct the name, or add the property to the model:
///
/// ```swift
/// let books = try Book.fetch(where: \.title == "Walden", in: context)
/// ```
public protocol HasPropertyOfThisName {}

/// The name of a property that a class lacks. You meet this type only in an error of the compiler, which
/// ``HasPropertyOfThisName`` explains. The conditions that compile name the properties of the class:
///
/// ```swift
/// let books = try Book.fetch(where: \.publisher.name == "BookCo", in: context)
/// ```
public struct NoSuchProperty<Root>: ExpressibleByStringLiteral {
  let name: String

  /// Takes the name.
  public init(stringLiteral name: String) { self.name = name }
}

/// The name of a field that a composite lacks, or whose value has another type. You meet this type only in an error of the
/// compiler. For `Author.fetch(where: \.address.ctiy == "Concord", in: context)`, the compiler writes at `ctiy`:
///
/// ```text
/// subscript index of type 'NoSuchField<Address?, String>' in a key path must be Hashable
/// ```
///
/// It means: `Address` has no field of this name that can be compared with a `String`. The conditions that compile name the
/// fields of the composite:
///
/// ```swift
/// let neighbours = try Author.fetch(where: \.address.city == "Concord", in: context)
/// ```
public struct NoSuchField<Composite, Value>: ExpressibleByStringLiteral {
  let name: String

  /// Takes the name.
  public init(stringLiteral name: String) { self.name = name }
}

/// The value of an unknown attribute, where a value of each type will do.
public struct _UnknownValue: Sendable {}

/// The rest of a key path behind an unknown name. No key path with it compiles.
@dynamicMemberLookup
public struct _UnknownKeys: FieldPath {
  /// The keys of the path, in order.
  public let keys: [String]

  /// Any attribute.
  @_disfavoredOverload
  public subscript<Value>(dynamicMember name: String) -> Attribute<Value> { Attribute(keys: keys + [name]) }
  /// Any attribute, where one of each type will do.
  @_disfavoredOverload
  public subscript(dynamicMember name: String) -> Attribute<_UnknownValue> { Attribute(keys: keys + [name]) }
  /// Any to-one relationship.
  @_disfavoredOverload
  public subscript<Other>(dynamicMember name: String) -> _UnknownToOne<Other> {
    _UnknownToOne(keys: keys + [name])
  }
  /// Any property in the middle of the path.
  @_disfavoredOverload
  public subscript(dynamicMember name: String) -> _UnknownKeys { _UnknownKeys(keys: keys + [name]) }
}

/// A to-one relationship that a class lacks, as the end of a key path. No key path with it compiles.
public struct _UnknownToOne<Destination: ManagedObject>: FieldPath {
  /// The keys of the path, in order.
  public let keys: [String]
}

/// Returns a condition on a relationship that the class lacks: see ``HasPropertyOfThisName``.
public func == <Root, Destination>(
  path: KeyPath<Keys<Root>, _UnknownToOne<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  TypedPredicate(ToOne(keys: Keys()[keyPath: path].keys) == object)
}

/// Returns a condition on a relationship that the class lacks: see ``HasPropertyOfThisName``.
public func != <Root, Destination>(
  path: KeyPath<Keys<Root>, _UnknownToOne<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  TypedPredicate(ToOne(keys: Keys()[keyPath: path].keys) != object)
}
