/// The type of an attribute.
public enum AttributeType: Hashable, Sendable {
  /// Text.
  case string
  /// True or false.
  case bool
  /// An integer of 16 bits with a sign.
  case int16
  /// An integer of 32 bits with a sign.
  case int32
  /// An integer of 64 bits with a sign.
  case int64
  /// A binary floating-point number of 32 bits.
  case float
  /// A binary floating-point number of 64 bits.
  case double
  /// A decimal number of up to 38 digits.
  case decimal
  /// A moment.
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
  /// A value of which all fields are nil is nil, where the attribute is optional: a store keeps the fields, and
  /// nothing beside them.
  case composite(String)
  /// A user's `Codable` type, kept as JSON. `codec` counts the shapes that its JSON has had: raising it is
  /// a change of the data.
  case codable(type: String, codec: Int)

  /// The types that have a name of their own in the schema language, with those names.
  public static let named: [(name: String, type: AttributeType)] = [
    ("String", .string), ("Bool", .bool), ("Int16", .int16), ("Int32", .int32), ("Int64", .int64),
    ("Float", .float), ("Double", .double), ("Decimal", .decimal), ("Date", .date), ("Data", .data),
    ("UUID", .uuid), ("URL", .url),
  ]

  /// The type as the schema language writes it, without a `?`.
  public var schemaName: String {
    switch self {
    case .enumeration(let name), .composite(let name): name
    case .codable(let type, _): type
    default: Self.named.first { $0.type == self }?.name ?? ""
    }
  }
}

/// An enumeration: a raw type and named cases.
public struct EnumDescription: Hashable, Sendable {
  /// One case and the value by which a store keeps it.
  public struct Case: Hashable, Sendable {
    /// The name in the model and in Swift.
    public var name: String
    /// `.string` or `.int`, after the enumeration's raw type.
    public var rawValue: AttributeValue

    /// A case as given.
    public init(name: String, rawValue: AttributeValue) {
      self.name = name
      self.rawValue = rawValue
    }
  }

  /// The name in the model and in Swift.
  public var name: String
  /// `.string`, `.int16`, `.int32` or `.int64`.
  public var rawType: AttributeType
  /// The cases in the order of their declaration, which has a meaning: a raw value that no case has reads
  /// as the attribute's default or else as the first case.
  public var cases: [Case]
  /// What the enumeration is, for the readers of the schema and of the generated code.
  public var doc: String?

  /// An enumeration as given.
  public init(name: String, rawType: AttributeType, cases: [Case], doc: String? = nil) {
    self.name = name
    self.rawType = rawType
    self.cases = cases
    self.doc = doc
  }
}
