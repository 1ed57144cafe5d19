// Attribute values as Swift types that are known at run time only.
extension AttributeValue {
  /// Returns the value as an attribute's type; nil if the value has another type.
  func decoded<T>(as type: T.Type = T.self) -> T? {
    if let type = type as? any EnumAttribute.Type { return Self.enumeration(type, self) as? T }
    return (T.self as? any AttributeValueReadable.Type).flatMap { $0.init(attributeValue: self) as? T }
  }

  /// For optional types. Returns `.none` if the value has another type, `.some(nil)` if it is nil.
  func decodedOptional<T>() -> T?? {
    if case .null = self { return .some(nil) }
    return decoded(as: T.self).map { .some($0) }
  }

  private static func enumeration<E: EnumAttribute>(_ type: E.Type, _ value: AttributeValue) -> E? {
    value.decoded(as: E.RawValue.self).flatMap { E(rawValue: $0) }
  }

  /// Returns the value as an attribute's type, which can be an optional type; nil if the value has another type.
  func decodedNilOrValue<T>(as type: T.Type) -> T? {
    if let value = decoded(as: type) { return value }
    return (type as? any OptionalDecoding.Type)?.decoded(self) as? T
  }
}

/// An optional of any wrapped type.
private protocol OptionalDecoding {
  static func decoded(_ value: AttributeValue) -> Any?
}

extension Optional: OptionalDecoding {
  fileprivate static func decoded(_ value: AttributeValue) -> Any? {
    if case .null = value { return Wrapped?.none as Any }
    return value.decoded(as: Wrapped.self).map { Wrapped?.some($0) as Any }
  }
}
