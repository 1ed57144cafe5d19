/// A generated class of an entity, whose name is ``ManagedObject/entityName``. Its static functions fetch.
///
/// Write generic code for all generated classes:
///
/// ```swift
/// func newest<Object: EntityClass>(in context: ManagedObjectContext) throws -> Object? {
///   try Object.objects(in: context).last
/// }
/// let author: Author? = try newest(in: context)
/// ```
public protocol EntityClass: ManagedObject {}

// Converting the parameters of generated functions to constants of predicates.
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
