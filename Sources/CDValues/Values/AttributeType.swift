/// The type of an attribute.
public enum AttributeType: Hashable, Sendable {
  /// Text.
  case string
  /// True or false.
  case bool
  /// A signed integer of 16 bits.
  case int16
  /// A signed integer of 32 bits.
  case int32
  /// A signed integer of 64 bits.
  case int64
  /// A binary floating-point number of 32 bits.
  case float
  /// A binary floating-point number of 64 bits.
  case double
  /// A decimal number of up to 38 digits.
  case decimal
  /// A point in time.
  case date
  /// Bytes.
  case data
  /// A universally unique identifier.
  case uuid
  /// A uniform resource locator.
  case url
  /// An enumeration of the version, by name.
  case enumeration(String)
  /// A composite of the version, by name.
  ///
  /// If the attribute is optional, a value whose fields are all nil is nil, because a store keeps only the fields.
  case composite(String)
  /// A user's `Codable` type, stored as JSON. `codec` numbers the forms of its JSON. A higher number changes the data
  /// hash.
  case codable(type: String, codec: Int)

  /// The types with a fixed name in the schema language, and their names.
  public static let named: [(name: String, type: AttributeType)] = AttributeTraits.all.map {
    ($0.name, $0.type)
  }

  /// The type in the schema language, without a `?`.
  public var schemaName: String {
    switch self {
    case .enumeration(let name), .composite(let name): name
    case .codable(let type, _): type
    default: traits?.name ?? ""
    }
  }
}

/// An enumeration: a raw type and named cases.
public struct EnumDescription: Hashable, Sendable {
  /// A case and its stored value.
  public struct Case: Hashable, Sendable {
    /// The name in the model and in Swift.
    public var name: String
    /// The stored value, `.string` or `.int`, according to the enumeration's raw type.
    public var rawValue: AttributeValue

    /// Creates a case.
    public init(name: String, rawValue: AttributeValue) {
      self.name = name
      self.rawValue = rawValue
    }
  }

  /// The name in the model and in Swift.
  public var name: String
  /// `.string`, `.int16`, `.int32` or `.int64`.
  public var rawType: AttributeType
  /// The cases in order of declaration. The order has a meaning: a raw value without a case is read as the attribute's
  /// default, or else as the first case.
  public var cases: [Case]
  /// A description for readers of the schema and of the generated code.
  public var doc: String?

  /// Creates an enumeration.
  public init(name: String, rawType: AttributeType, cases: [Case], doc: String? = nil) {
    self.name = name
    self.rawType = rawType
    self.cases = cases
    self.doc = doc
  }
}
