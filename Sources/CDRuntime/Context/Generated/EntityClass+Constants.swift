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
