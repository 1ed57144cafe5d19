/// A generated class of an entity, with functions that fetch, count and delete its objects.
///
/// ``ManagedObject/entityName`` is the name of the entity.
///
/// Write generic code for all generated classes:
///
/// ```swift
/// func newest<Object: EntityClass>(in context: ManagedObjectContext) throws -> Object? {
///   try Object.objects(in: context).last
/// }
/// let author: Author? = try newest(in: context)
/// ```
///
/// ## Topics
///
/// ### Fetching by a condition
/// - ``fetch(where:sortedBy:limit:offset:in:)-938lq``
/// - ``fetch(where:sortedBy:limit:offset:in:)-(TypedPredicate<Self>?,KeyPath<Keys<Self>,Attribute<Value>>,_,_,_)``
/// - ``fetch(where:sortedBy:limit:offset:in:)-18z3v``
/// - ``fetch(where:sortedBy:limit:offset:in:)-((Fields<Self>)->FetchPredicate,KeyPath<Keys<Self>,Attribute<Value>>,_,_,_)``
/// - ``fetch(where:sortedBy:limit:offset:in:)-(KeyPath<Keys<Self>,Attribute<Bool>>,TypedSort<Self>,_,_,_)``
/// - ``fetch(where:sortedBy:limit:offset:in:)-(KeyPath<Keys<Self>,Attribute<Bool>>,KeyPath<Keys<Self>,Attribute<Value>>,_,_,_)``
/// - ``fetch(where:sortedBy:limit:offset:in:)-7xw8r``
/// - ``first(where:sortedBy:in:)-3t3ls``
/// - ``first(where:sortedBy:in:)-6srvu``
/// - ``first(where:sortedBy:in:)-(KeyPath<Keys<Self>,Attribute<Bool>>,_,_)``
///
/// ### Counting
/// - ``count(where:in:)-5kbxx``
/// - ``count(where:in:)-4qkh3``
/// - ``count(where:in:)-(KeyPath<Keys<Self>,Attribute<Bool>>,_)``
/// - ``count(where:in:)-8e4z9``
/// - ``exists(where:in:)-6sz7m``
/// - ``exists(where:in:)-44vad``
/// - ``exists(where:in:)-(KeyPath<Keys<Self>,Attribute<Bool>>,_)``
///
/// ### Fetching by values
/// - ``objects(in:)``
/// - ``objects(matching:_:in:)-fbv5``
/// - ``objects(matching:_:in:)-1yct7``
/// - ``objects(matching:using:in:)-937t``
/// - ``objects(matching:using:in:)-1fsrh``
/// - ``object(matching:_:in:)-3zfml``
/// - ``object(matching:_:in:)-5f1t1``
/// - ``object(matching:using:in:)-46wz5``
/// - ``object(matching:using:in:)-3eci``
///
/// ### Fetching by an identifier
/// - ``object(with:in:)``
///
/// ### Aggregates
/// - ``aggregate(_:where:in:)``
/// - ``aggregate(by:_:where:in:)``
///
/// ### Deleting
/// - ``delete(where:in:)-87x2m``
/// - ``delete(where:in:)-r1zp``
/// - ``delete(where:in:)-(KeyPath<Keys<Self>,Attribute<Bool>>,_)``
public protocol EntityClass: ManagedObject {}

// Converting the parameters of generated functions to constants of predicates.
extension EntityClass {
  @_spi(Generated) public static func _constant(_ value: some AttributeValueConvertible) -> ExpressionConstant
  {
    .value(value.attributeValue)
  }

  @_spi(Generated) public static func _constant(
    _ values: [some AttributeValueConvertible]?
  ) -> ExpressionConstant {
    values.map { .array($0.map { .value($0.attributeValue) }) } ?? .null
  }

  @_spi(Generated) public static func _constant(_ object: ManagedObject?) -> ExpressionConstant {
    object.map { .object($0.reference) } ?? .null
  }

  @_spi(Generated) public static func _constant(_ objects: [ManagedObject]?) -> ExpressionConstant {
    objects.map { .array($0.map { .object($0.reference) }) } ?? .null
  }
}
