public import CDRuntime

/// A value for a property of a test's object: a literal, a Swift value, or objects.
///
/// ```swift
/// let store = try VersionedStore(of: ToDoModel.self, version: 1)
/// let home = try store.insert("Category", ["name": "Home"])
/// try store.insert(
///   "ToDo", ["name": "Milk", "completed": true, "dueDate": .init(Date()), "category": .object(home)])
/// ```
public struct StoredValue {
  let value: PropertyValue

  /// Creates the value of an attribute from a Swift value. An optional without a value stands for nil.
  public init(_ value: some AttributeValueConvertible) { self.value = .attribute(value.attributeValue) }

  private init(property: PropertyValue) { value = property }

  /// Returns the object of a to-one relationship.
  public static func object(_ object: ManagedObject?) -> StoredValue {
    StoredValue(property: .object(object))
  }

  /// Returns the objects of a to-many relationship, in their order.
  public static func objects(_ objects: [ManagedObject]) -> StoredValue {
    StoredValue(property: .objects(objects))
  }

  /// Returns the JSON of a codable attribute.
  public static func json(_ json: String) -> StoredValue { StoredValue(property: .attribute(.string(json))) }

  /// Returns the fields of a composite attribute, by their names.
  public static func fields(_ fields: [String: AttributeValue]) -> StoredValue {
    StoredValue(property: .attribute(.composite(fields)))
  }
}

@available(*, unavailable)
extension StoredValue: Sendable {}

extension StoredValue: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(value) }
}
extension StoredValue: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int64) { self.init(value) }
}
extension StoredValue: ExpressibleByFloatLiteral {
  public init(floatLiteral value: Double) { self.init(value) }
}
extension StoredValue: ExpressibleByBooleanLiteral {
  public init(booleanLiteral value: Bool) { self.init(value) }
}
extension StoredValue: ExpressibleByNilLiteral {
  public init(nilLiteral: ()) { self.init(AttributeValue.null) }
}
