#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Typed access by slot to objects without a generated class, with which the views of a migration read and write.
// Generated code knows the types of the slots; a slot with a value of another type reads as the type's empty value.
extension ManagedObject {
  /// The value of a slot of an object without a generated class.
  @inline(__always) private func slotValue(_ slot: Int) -> AttributeValue {
    _willRead()
    guard let extras, extras.values.indices.contains(slot) else { return .null }
    return extras.values[slot]
  }

  @_spi(Generated) public final func _isNull(_ slot: Int) -> Bool { slotValue(slot) == .null }

  @_spi(Generated) public final func _string(_ slot: Int) -> String { _optionalString(slot) ?? "" }
  @_spi(Generated) public final func _bool(_ slot: Int) -> Bool { _optionalBool(slot) ?? false }
  @_spi(Generated) public final func _int16(_ slot: Int) -> Int16 { _optionalInt16(slot) ?? 0 }
  @_spi(Generated) public final func _int32(_ slot: Int) -> Int32 { _optionalInt32(slot) ?? 0 }
  @_spi(Generated) public final func _int64(_ slot: Int) -> Int64 { _optionalInt64(slot) ?? 0 }
  @_spi(Generated) public final func _float(_ slot: Int) -> Float { _optionalFloat(slot) ?? 0 }
  @_spi(Generated) public final func _double(_ slot: Int) -> Double { _optionalDouble(slot) ?? 0 }
  @_spi(Generated) public final func _decimal(_ slot: Int) -> Decimal {
    _optionalDecimal(slot) ?? EmptyValue.decimal
  }
  @_spi(Generated) public final func _date(_ slot: Int) -> Date { _optionalDate(slot) ?? EmptyValue.date }
  @_spi(Generated) public final func _data(_ slot: Int) -> Data { _optionalData(slot) ?? EmptyValue.data }
  @_spi(Generated) public final func _uuid(_ slot: Int) -> UUID { _optionalUuid(slot) ?? EmptyValue.uuid }
  @_spi(Generated) public final func _url(_ slot: Int) -> URL { _optionalUrl(slot) ?? EmptyValue.url }

  @_optimize(speed)
  @_spi(Generated) public final func _optionalString(_ slot: Int) -> String? {
    String(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalBool(_ slot: Int) -> Bool? {
    Bool(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalInt16(_ slot: Int) -> Int16? {
    Int16(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalInt32(_ slot: Int) -> Int32? {
    Int32(attributeValue: slotValue(slot))
  }
  @_optimize(speed)
  @_spi(Generated) public final func _optionalInt64(_ slot: Int) -> Int64? {
    Int64(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalFloat(_ slot: Int) -> Float? {
    Float(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalDouble(_ slot: Int) -> Double? {
    Double(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalDecimal(_ slot: Int) -> Decimal? {
    Decimal(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalDate(_ slot: Int) -> Date? {
    Date(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalData(_ slot: Int) -> Data? {
    Data(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalUuid(_ slot: Int) -> UUID? {
    UUID(attributeValue: slotValue(slot))
  }
  @_spi(Generated) public final func _optionalUrl(_ slot: Int) -> URL? {
    URL(attributeValue: slotValue(slot))
  }

  /// The fields of a composite by name; nil if it has no value.
  @_spi(Generated) public final func _composite(_ slot: Int) -> [String: AttributeValue]? {
    if case .composite(let fields) = slotValue(slot) { fields } else { nil }
  }

  /// The JSON of a codable.
  @_spi(Generated) public final func _json(_ slot: Int) -> Data? {
    _optionalString(slot).map { Data($0.utf8) }
  }

  /// The object of a to-one relationship.
  @_spi(Generated) public final func _related(_ slot: Int) -> ManagedObject? {
    scope.plan.relationship(slot).flatMap(relatedObject)
  }
}

extension ManagedObject {
  /// Sets a slot of an object without a generated class. The value must have the slot's type.
  @_optimize(speed)
  @_spi(Generated) public final func _setSlot(_ slot: Int, _ value: AttributeValue) {
    _willWrite(slot)
    guard !scope.plan.isTyped, let extras else { return }
    Self.replace(&extras.values, slot, value)
  }

  /// Replaces a value in one access to the array.
  @inline(__always)
  private static func replace(_ values: inout [AttributeValue], _ slot: Int, _ value: AttributeValue) {
    if values.indices.contains(slot) { values[slot] = value }
  }

  /// Sets an attribute. The function is compiled into its callers, which know the type of the value: a migration by the
  /// app's own code sets each value of each object, and generic code would take it a quarter longer.
  @inlinable
  @_spi(Generated) public final func _set(_ value: (some AttributeValueConvertible)?, _ slot: Int) {
    _setSlot(slot, value?.attributeValue ?? .null)
  }

  /// Sets a composite, field by field.
  @_spi(Generated) public final func _setComposite(_ fields: [String: AttributeValue]?, _ slot: Int) {
    // The columns are equal for nil and for a composite whose fields are all nil.
    let isEmpty = fields?.values.allSatisfy { $0 == .null } ?? true
    _setSlot(slot, isEmpty ? .null : .composite(fields ?? [:]))
  }

  /// Sets the JSON of a codable. Bytes that are not valid UTF-8 are kept as data, which the save refuses.
  @_spi(Generated) public final func _setJSON(_ json: Data?, _ slot: Int) {
    _setSlot(
      slot,
      json.map { data in String(validating: data, as: UTF8.self).map { .string($0) } ?? .data(data) } ?? .null
    )
  }
}
