/// A generated class of an entity, which ``ManagedObject/entityName`` names. Its static functions fetch.
///
/// Code that is written for any of them is generic:
///
/// ```swift
/// func newest<Object: EntityClass>(in context: ManagedObjectContext) throws -> Object? {
///   try Object.objects(in: context).last
/// }
/// let author: Author? = try newest(in: context)
/// ```
public protocol EntityClass: ManagedObject {}

// The parameters of generated functions as constants of their predicates.
extension EntityClass {
  @_spi(Generated) public static func _constant(_ value: some AttributeValueConvertible) -> ExpressionConstant
  {
    .value(value.attributeValue)
  }

  @_spi(Generated) public static func _constant(
    _ values: [some AttributeValueConvertible]
  ) -> ExpressionConstant {
    .array(values.map { .value($0.attributeValue) })
  }

  @_spi(Generated) public static func _constant(_ object: ManagedObject?) -> ExpressionConstant {
    object.map { .object($0.reference) } ?? .null
  }

  @_spi(Generated) public static func _constant(_ objects: [ManagedObject]) -> ExpressionConstant {
    .array(objects.map { .object($0.reference) })
  }
}
