import CDModel

/// The Swift form of an attribute's type.
struct ValueType {
  enum Kind {
    /// A type of the schema language, stored as itself.
    case scalar
    /// An enumeration, stored as its raw value.
    case enumeration
    case composite
    /// A user's type, stored as JSON.
    case codable
  }

  let kind: Kind
  /// The type for type positions, without a `?`.
  let name: String
  /// The type for expressions, where a property of the same name would hide it.
  let expression: String
  /// The type of the stored property, without a `?`.
  let storage: String
  /// The functions of the row reader and row writer for the storage.
  let accessor: String
  let optionalAccessor: String
  /// The initial storage before a value is known, such as an empty string or 0.
  let empty: String
  /// The size of the storage in bytes. The value 8 also stands for larger types.
  let size: Int
  /// Whether the type's name needs Foundation.
  let needsFoundation: Bool

  init(
    _ kind: Kind, name: String, expression: String? = nil, storage: String? = nil, accessor: String,
    empty: String, size: Int = 8, needsFoundation: Bool = false
  ) {
    self.kind = kind
    self.name = name
    self.expression = expression ?? name
    self.storage = storage ?? name
    self.accessor = accessor
    optionalAccessor = "optional" + SwiftName.capitalized(accessor)
    self.empty = empty
    self.size = size
    self.needsFoundation = needsFoundation
  }

  /// Whether two values that are equal in Swift can be stored differently, because their texts have other code units.
  var mayContainText: Bool {
    switch kind {
    case .scalar: name == Self.string.name
    case .composite: true
    // The raw value of an unknown case is not in a snapshot, and the JSON of a codable has no fixed order of keys.
    case .enumeration, .codable: false
    }
  }

  func accessor(isOptional: Bool) -> String { isOptional ? optionalAccessor : accessor }

  /// A type with a fixed name; nil for an enumeration, a composite or a codable.
  static func scalar(_ type: AttributeType) -> ValueType? { type.traits.map(ValueType.init) }

  static let string = ValueType(AttributeTraits.string)
  static let data = ValueType(AttributeTraits.data)

  private init(_ traits: AttributeTraits) {
    self.init(
      .scalar, name: traits.swiftType, accessor: traits.accessor, empty: traits.swiftEmpty, size: traits.size,
      needsFoundation: traits.needsFoundation)
  }
}
