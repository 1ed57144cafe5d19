public import CDModel

/// The properties of an entity, for the typed query language.
///
/// Generated code declares the properties in extensions. You can compare key paths to them, and combine the
/// comparisons. For the whole query language, use a closure, which receives the properties:
///
/// ```swift
/// try Book.fetch(where: \.title == "Walden" && \.publisher.name == "BookCo", in: context)
/// try Book.fetch(
///   where: { $0.title.hasPrefix("wal", options: .caseInsensitive) && $0.pages * 2 < $0.reviewCount },
///   in: context)
/// ```
///
/// Both forms give the same predicate as the equivalent format string.
public struct Fields<Root: ManagedObject>: Sendable {
  @_spi(Generated) public init() {}
}

/// A property, or a path to one, in the typed query language.
///
/// Its key path is the name of the property in requests and format strings:
///
/// ```swift
/// let condition = TypedPredicate<Book> { book in
///   print(book.publisher.name.keyPath)  // publisher.name
///   return book.publisher.name == "BookCo"
/// }
/// let books = try Book.fetch(where: condition, in: context)
/// ```
public protocol FieldPath: Sendable {
  /// The keys of the path, in order.
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
  /// The keys of the path, in order.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }
}

/// A to-one relationship, and the path to the properties of its object.
///
/// ```swift
/// let same = try Book.fetch(where: \.publisher == publisher, in: context)
/// let named = try Book.fetch(where: \.publisher.name == "BookCo", in: context)
/// let some = try Book.fetch(where: { $0.publisher.isIn([publisher]) }, in: context)
/// ```
@dynamicMemberLookup
public struct ToOne<Destination: ManagedObject>: FieldPath {
  /// The keys of the path, in order.
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

/// A to-many relationship, or a path through one: many objects, and the path to their properties.
///
/// ```swift
/// let unread = try Book.fetch(where: { $0.reviews.isEmpty }, in: context)
/// let hers = try Book.fetch(where: { $0.authors.contains(author) }, in: context)
/// let praised = try Book.fetch(
///   where: { $0.reviews.count(where: { $0.rating == .great && $0.weight > 0.5 }) > 10 }, in: context)
/// ```
@dynamicMemberLookup
public struct ToMany<Destination: ManagedObject>: FieldPath {
  /// The keys of the path, in order.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// The number of objects.
  public var count: Attribute<Int> { Attribute(keys: keys + ["@count"]) }

  /// An attribute of the objects.
  public subscript<Value>(
    dynamicMember path: KeyPath<Fields<Destination>, Attribute<Value>>
  ) -> ManyAttribute<Value> {
    ManyAttribute(keys: keys + Fields()[keyPath: path].keys)
  }
  /// The destination objects of a to-one relationship of the objects.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToOne<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
  /// The destination objects of a to-many relationship of the objects.
  public subscript<Other>(dynamicMember path: KeyPath<Fields<Destination>, ToMany<Other>>) -> ToMany<Other> {
    ToMany<Other>(keys: keys + Fields()[keyPath: path].keys)
  }
}

/// A composite.
///
/// Generated code declares the fields. ``field(_:as:)`` is for code that knows the fields only by name:
///
/// ```swift
/// let neighbours = try Author.fetch(where: \.address.city == "Concord", in: context)
/// let same = try Author.fetch(
///   where: { $0.address.field("city", as: String?.self) == "Concord" }, in: context)
/// ```
public struct CompositeField<Value: Sendable>: FieldPath {
  /// The keys of the path, in order.
  public let keys: [String]

  @_spi(Generated) public init(_ name: String) { keys = [name] }
  init(keys: [String]) { self.keys = keys }

  /// Returns the field with a name.
  public func field<Field>(_ name: String, as type: Field.Type = Field.self) -> Attribute<Field> {
    Attribute(keys: keys + [name])
  }
}

extension FieldPath {
  /// The path as an expression.
  public var expression: ValueExpression { .keyPath(keyPath) }
  /// The keys, separated by dots.
  public var keyPath: String { keys.joined(separator: ".") }
}

// Conditions on relationships.

/// Returns a condition: the to-one relationship leads to this object. If the object is nil: the relationship is nil.
public func == <Destination>(path: ToOne<Destination>, object: Destination?) -> FetchPredicate {
  FetchPredicate(path.expression, .equalTo, .constant(object.map { .object($0.reference) } ?? .null))
}

/// Returns a condition: the to-one relationship does not lead to this object. If the object is nil: the relationship is
/// not nil.
public func != <Destination>(path: ToOne<Destination>, object: Destination?) -> FetchPredicate {
  FetchPredicate(path.expression, .notEqualTo, .constant(object.map { .object($0.reference) } ?? .null))
}

extension ToOne {
  /// Returns a condition: the relationship leads to one of these objects.
  public func isIn(_ objects: [Destination]) -> FetchPredicate {
    FetchPredicate(expression, .in, .constant(.array(objects.map { .object($0.reference) })))
  }
}

extension ToMany {
  /// A condition: there are no objects.
  public var isEmpty: FetchPredicate { count == 0 }

  /// Returns a condition: the relationship contains an object.
  public func contains(_ object: Destination) -> FetchPredicate {
    FetchPredicate(expression, .contains, .constant(.object(object.reference)))
  }

  /// Returns a condition: at least one object meets the complete given condition, for example
  /// `$0.books.contains { $0.title == "Walden" && $0.pages > 9 }`. It is the same as
  /// `SUBQUERY(books, $element, …).@count > 0`.
  ///
  /// The closure receives the path to one of the objects. The objects of the closures around it keep their meaning:
  ///
  /// ```swift
  /// let echoed = try Book.fetch(
  ///   where: { book in book.reviews.contains { $0.text == book.title } }, in: context)
  /// ```
  public func contains(where condition: (ToOne<Destination>) -> FetchPredicate) -> FetchPredicate {
    count(where: condition) > 0
  }

  /// Returns the number of objects that meet a condition. The closure receives the path to one of the objects.
  public func count(where condition: (ToOne<Destination>) -> FetchPredicate) -> Calculated<Int> {
    Calculated(
      expression: .count(in: expression) { condition(ToOne<Destination>(keys: ["$" + $0])) })
  }

  /// Returns a condition: at least one object meets a condition that exists already, such as a stored one. Its key paths
  /// begin at the object.
  public func contains(where condition: FetchPredicate) -> FetchPredicate { count(where: condition) > 0 }

  /// Returns the number of objects that meet a condition that exists already. Its key paths begin at the object.
  public func count(where condition: FetchPredicate) -> Calculated<Int> {
    Calculated(expression: .count(in: expression, where: condition))
  }
}

extension ValueExpression {
  /// The number of a collection's elements that meet a condition.
  ///
  /// - Parameter condition: Gets the name of the variable that stands for an element, without its sigil.
  static func count(
    in collection: ValueExpression, where condition: (String) -> FetchPredicate
  ) -> ValueExpression {
    let depth = ElementDepth.current + 1
    let variable = "element\(depth)"
    let predicate = ElementDepth.$current.withValue(depth) { condition(variable) }
    return count(in: collection, variable, predicate)
  }

  /// The number of a collection's elements that meet a condition whose key paths begin at the element.
  static func count(in collection: ValueExpression, where condition: FetchPredicate) -> ValueExpression {
    // Another closure may have made the condition. A variable that it contains would stand for other objects inside it.
    let text = condition.canonicalText
    var depth = ElementDepth.current + 1
    while text.contains("$element\(depth)") { depth += 1 }
    let variable = "element\(depth)"
    return count(in: collection, variable, condition.replacingObject(withVariable: variable))
  }

  private static func count(
    in collection: ValueExpression, _ variable: String, _ condition: FetchPredicate
  ) -> ValueExpression {
    .path(.subquery(collection, variable: variable, condition), [.collectionOperator("count")])
  }
}

/// The number of closures on elements that run now, one in another. A closure may name the elements of the closures
/// around it, so each of them has another variable. Equal closures give equal trees, because no counter goes on.
private enum ElementDepth {
  @TaskLocal static var current: Int = 0
}

extension KeyPath {
  /// Returns a condition: the to-many relationship contains an object.
  public func contains<Object: ManagedObject, Destination: ManagedObject>(
    _ object: Destination
  ) -> TypedPredicate<Object> where Root == Keys<Object>, Value == ManyKeys<Destination> {
    TypedPredicate(Keys()[keyPath: self].relationship.contains(object))
  }
}

/// The name of an attribute of an entity. In a dictionary of values you can write it as `.publisher`.
///
/// Generated code declares a key for each attribute. A subclass inherits the keys of its superclass.
///
/// ```swift
/// let books = try Book.objects(matching: [.title: "Walden", .salesRank: 1], in: context)
/// let key: AttributeKey<Book> = .title
/// let titles = try books.map { try $0.value(forKey: key.name) }
/// ```
public struct AttributeKey<Root: ManagedObject>: Hashable, Sendable {
  /// The attribute's name in the model.
  public let name: String

  /// Creates the key of an attribute by its name in the model. A fetch throws an error if there is no such attribute.
  public init(_ name: String) {
    self.name = name
  }
}
