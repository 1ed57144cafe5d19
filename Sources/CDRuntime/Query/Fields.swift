public import CDModel

/// The properties of an entity, for the typed query language.
///
/// Generated code declares them in extensions. Key paths to them are compared where one comparison follows
/// another; a closure that is given them has all of the language:
///
/// ```swift
/// try Book.fetch(where: \.title == "Walden" && \.publisher.name == "BookCo", in: context)
/// try Book.fetch(
///   where: { $0.title.hasPrefix("wal", options: .caseInsensitive) && $0.pages * 2 < $0.reviewCount },
///   in: context)
/// ```
///
/// Either way is the same tree as the format string that says the same.
public struct Fields<Root: ManagedObject>: Sendable {
  @_spi(Generated) public init() {}
}

/// A property, or a way to one, of the typed query language.
///
/// Its key path is what requests and format strings name the property by:
///
/// ```swift
/// let condition = TypedPredicate<Book> { book in
///   print(book.publisher.name.keyPath)  // publisher.name
///   return book.publisher.name == "BookCo"
/// }
/// let books = try Book.fetch(where: condition, in: context)
/// ```
public protocol FieldPath: Sendable {
  /// The keys on the way.
  var keys: [String] { get }
}

/// An attribute.
///
/// ```swift
/// let cheap = try Book.fetch(where: \.price < 10, sortedBy: \.title, in: context)
/// let unranked = try Book.count(where: \.salesRank == nil, in: context)
/// let some = try Book.fetch(where: { $0.title.isIn(["Walden", "Typee"]) }, in: context)
/// ```
public struct Attribute<Value: Sendable>: FieldPath {
  /// The keys on the way, as a key path has them.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }
}

/// A to-one relationship, and the way to what its object has.
///
/// ```swift
/// let same = try Book.fetch(where: \.publisher == publisher, in: context)
/// let named = try Book.fetch(where: \.publisher.name == "BookCo", in: context)
/// let some = try Book.fetch(where: { $0.publisher.isIn([publisher]) }, in: context)
/// ```
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
  /// A to-one relationship of the object.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToOne<Other>>) -> ToOne<Other> {
    ToOne<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  /// A to-many relationship of the object.
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
///
/// ```swift
/// let unread = try Book.fetch(where: { $0.reviews.isEmpty }, in: context)
/// let hers = try Book.fetch(where: { $0.authors.contains(author) }, in: context)
/// let praised = try Book.fetch(
///   where: { $0.reviews.count(where: { $0.rating == .great && $0.weight > 0.5 }) > 10 }, in: context)
/// ```
@dynamicMemberLookup
public struct ToMany<Destination: ManagedObject>: FieldPath {
  /// The keys on the way, as a key path has them.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// The count of the objects.
  public var count: Attribute<Int> { Attribute(keys: keys + ["@count"]) }

  /// An attribute of the objects.
  public subscript<Value>(
    dynamicMember path: KeyPath<Fields<Destination>, Attribute<Value>>
  ) -> ManyAttribute<Value> {
    ManyAttribute(keys: keys + Fields()[keyPath: path].keys)
  }
  /// The objects that a to-one relationship of theirs leads to.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToOne<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  /// The objects that a to-many relationship of theirs leads to.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToMany<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
}

/// A composite.
///
/// Generated code declares its fields, so that ``field(_:as:)`` is for code that has them by name:
///
/// ```swift
/// let neighbours = try Author.fetch(where: \.address.city == "Concord", in: context)
/// let same = try Author.fetch(
///   where: { $0.address.field("city", as: String?.self) == "Concord" }, in: context)
/// ```
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

// What is asked of relationships.

/// The object of a to-one relationship is this one, or there is none where it is nil.
public func == <Destination>(path: ToOne<Destination>, object: Destination?) -> FetchPredicate {
  FetchPredicate(path.expression, .equalTo, .constant(object.map { .object($0.reference) } ?? .null))
}

/// The object of a to-one relationship is another, or there is one where the value is nil.
public func != <Destination>(path: ToOne<Destination>, object: Destination?) -> FetchPredicate {
  FetchPredicate(path.expression, .notEqualTo, .constant(object.map { .object($0.reference) } ?? .null))
}

extension ToOne {
  /// The object is one of these.
  public func isIn(_ objects: [Destination]) -> FetchPredicate {
    FetchPredicate(expression, .in, .constant(.array(objects.map { .object($0.reference) })))
  }
}

extension ToMany {
  /// There are no objects.
  public var isEmpty: FetchPredicate { count == 0 }

  /// The object is among them.
  public func contains(_ object: Destination) -> FetchPredicate {
    FetchPredicate(expression, .contains, .constant(.object(object.reference)))
  }

  /// One object at least meets a condition, all of it: `$0.books.contains { $0.title == "Walden" && $0.pages > 9 }`.
  /// It is `SUBQUERY(books, $element, …).@count > 0`.
  public func contains(where condition: (Fields<Destination>) -> FetchPredicate) -> FetchPredicate {
    count(where: condition) > 0
  }

  /// The count of the objects that meet a condition.
  public func count(where condition: (Fields<Destination>) -> FetchPredicate) -> Calculated<Int> {
    let predicate = condition(Fields())
    // A condition within a condition is of fewer levels, so the names of their variables differ.
    let variable = "element\(predicate.depth)"
    let subquery = ValueExpression.subquery(
      expression, variable: variable, predicate.replacingObject(withVariable: variable))
    return Calculated(expression: .path(subquery, [.collectionOperator("count")]))
  }
}

extension KeyPath {
  /// The to-many relationship has an object.
  public func contains<Object: ManagedObject, Destination: ManagedObject>(
    _ object: Destination
  ) -> TypedPredicate<Object> where Root == Fields<Object>, Value == ToMany<Destination> {
    TypedPredicate(Fields()[keyPath: self].contains(object))
  }
}

/// The name of an attribute of an entity, `.publisher` where a dictionary of them is asked for.
///
/// Generated code declares one for each attribute; a subclass has its parent's too.
///
/// ```swift
/// let books = try Book.objects(matching: [.title: "Walden", .salesRank: 1], in: context)
/// let key: AttributeKey<Book> = .title
/// let titles = try books.map { try $0.value(forKey: key.name) }
/// ```
public struct AttributeKey<Root: ManagedObject>: Hashable, Sendable {
  /// The attribute's name in the model.
  public let name: String

  /// The key of an attribute by its name in the model. A fetch throws where there is none of that name.
  public init(_ name: String) {
    self.name = name
  }
}
