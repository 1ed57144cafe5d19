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
  /// Whether the type's name needs Foundation.
  let needsFoundation: Bool

  init(
    _ kind: Kind, name: String, expression: String? = nil, storage: String? = nil, accessor: String,
    empty: String, needsFoundation: Bool = false
  ) {
    self.kind = kind
    self.name = name
    self.expression = expression ?? name
    self.storage = storage ?? name
    self.accessor = accessor
    optionalAccessor = "optional" + SwiftName.capitalized(accessor)
    self.empty = empty
    self.needsFoundation = needsFoundation
  }

  /// The size of the storage in bytes; 8 also stands for larger types.
  var size: Int {
    switch accessor {
    case "bool": 1
    case "int16": 2
    case "int32", "float": 4
    default: 8
    }
  }

  func accessor(isOptional: Bool) -> String { isOptional ? optionalAccessor : accessor }

  /// The type of the schema language; nil for an enumeration, a composite or a codable.
  static func scalar(_ type: AttributeType) -> ValueType? {
    switch type {
    case .string: string
    case .bool: bool
    case .int16: int16
    case .int32: int32
    case .int64: int64
    case .float: float
    case .double: double
    case .decimal: decimal
    case .date: date
    case .data: data
    case .uuid: uuid
    case .url: url
    case .enumeration, .composite, .codable: nil
    }
  }

  static let string = ValueType(.scalar, name: "Swift.String", accessor: "string", empty: "\"\"")
  private static let bool = ValueType(.scalar, name: "Swift.Bool", accessor: "bool", empty: "false")
  static let int16 = ValueType(.scalar, name: "Swift.Int16", accessor: "int16", empty: "0")
  static let int32 = ValueType(.scalar, name: "Swift.Int32", accessor: "int32", empty: "0")
  static let int64 = ValueType(.scalar, name: "Swift.Int64", accessor: "int64", empty: "0")
  private static let float = ValueType(.scalar, name: "Swift.Float", accessor: "float", empty: "0")
  private static let double = ValueType(.scalar, name: "Swift.Double", accessor: "double", empty: "0")
  private static let decimal = ValueType(
    .scalar, name: "Foundation.Decimal", accessor: "decimal", empty: "CDRuntime.EmptyValue.decimal",
    needsFoundation: true)
  private static let date = ValueType(
    .scalar, name: "Foundation.Date", accessor: "date", empty: "CDRuntime.EmptyValue.date",
    needsFoundation: true)
  static let data = ValueType(
    .scalar, name: "Foundation.Data", accessor: "data", empty: "CDRuntime.EmptyValue.data",
    needsFoundation: true)
  private static let uuid = ValueType(
    .scalar, name: "Foundation.UUID", accessor: "uuid", empty: "CDRuntime.EmptyValue.uuid",
    needsFoundation: true)
  private static let url = ValueType(
    .scalar, name: "Foundation.URL", accessor: "url", empty: "CDRuntime.EmptyValue.url",
    needsFoundation: true)
}
