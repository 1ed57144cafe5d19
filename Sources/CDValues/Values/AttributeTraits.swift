#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What distinguishes the types with a fixed name: a row for each. Other code that treats the types differently asks
/// their rows, unless it converts between two types or has a form of its own for the values.
package final class AttributeTraits: Sendable {
  /// A category of types whose values can be compared with each other.
  package enum Category: Hashable, Sendable {
    case number, string, date, data, uuid, url

    /// Whether a predicate can order the values with `<`.
    package var isOrdered: Bool {
      switch self {
      case .number, .string, .date: true
      case .data, .uuid, .url: false
      }
    }
  }

  /// The form in which stores keep the values of a type. They are the types of SQLite.
  package enum StorageClass: Sendable {
    case integer, real, text, bytes
  }

  package let type: AttributeType
  /// The name in the schema language.
  package let name: String
  /// A value of the type in words, for messages.
  package let noun: String
  package let category: Category
  package let storageType: StorageType
  package let storageClass: StorageClass
  /// The rank of a number type. Wider types have higher ranks.
  package let numericRank: Int?
  /// The values of an integer type.
  package let integerRange: ClosedRange<Int64>?
  /// The value of a mandatory attribute before it is set.
  package let empty: AttributeValue
  /// The description of a constant in the schema language, for messages.
  package let form: String
  /// What comes before the form in messages about defaults, for a type whose default can be a function.
  package let generator: String?

  // MARK: Swift

  /// The type, with its module.
  package let swiftType: String
  /// The empty value as an expression.
  package let swiftEmpty: String
  /// The size of the type in bytes. The value 8 also stands for larger types.
  package let size: Int
  /// Whether creating a constant is more expensive than copying it.
  package let isCostly: Bool

  // MARK: JSON Schema

  /// The format of a value in the JSON of snapshots; nil if there is none.
  package let jsonFormat: String?

  // MARK: Core Data

  /// Xcode's name of the type.
  package let xcodeName: String
  /// What Xcode writes for `usesScalarValueType`.
  package let xcodeUsesScalar: Bool?
  /// The name of Apple's class that predicates can use for the type.
  package let appleClass: String?
  /// The declared type of a column in a store of Core Data.
  package let coreDataColumn: String

  private init(
    _ type: AttributeType, _ storageType: StorageType, _ name: String, _ noun: String, _ category: Category,
    _ storageClass: StorageClass, rank: Int? = nil, range: ClosedRange<Int64>? = nil, empty: AttributeValue,
    form: String, generator: String? = nil,
    swift: String, swiftEmpty: String? = nil, size: Int = 8, isCostly: Bool = false,
    format jsonFormat: String? = nil, xcode: String, usesScalar: Bool? = nil, class appleClass: String? = nil,
    column: String
  ) {
    self.type = type
    self.storageType = storageType
    self.name = name
    self.noun = noun
    self.category = category
    self.storageClass = storageClass
    numericRank = rank
    integerRange = range
    self.empty = empty
    self.form = form
    self.generator = generator
    swiftType = swift
    self.swiftEmpty = swiftEmpty ?? "CDRuntime.EmptyValue." + name.lowercased()
    self.size = size
    self.isCostly = isCostly
    self.jsonFormat = jsonFormat
    xcodeName = xcode
    xcodeUsesScalar = usesScalar
    self.appleClass = appleClass
    coreDataColumn = column
  }

  /// The key of the object that is a value of the type in JSON.
  package var jsonTag: String { "$" + name.lowercased() }
  /// The name of the functions in generated code that read and write a value.
  package var accessor: String { name.lowercased() }
  package var needsFoundation: Bool { swiftType.hasPrefix("Foundation.") }
}

extension AttributeTraits {
  /// All rows, in the order in which messages list the types.
  package static let all = [
    string, bool, int16, int32, int64, float, double, decimal, date, data, uuid, url,
  ]

  /// The rows in the order of the cases of ``StorageType``.
  fileprivate static let byStorageType = StorageType.allCases.map { type in
    all.first { $0.storageType == type }
  }

  /// The rows of the integer types, the narrowest type first.
  package static let integers = all.filter { $0.integerRange != nil }

  package static let string = AttributeTraits(
    .string, .string, "String", "a string", .string, .text, empty: .string(""), form: "a text",
    swift: "Swift.String",
    swiftEmpty: "\"\"", xcode: "String", class: "NSString", column: "VARCHAR")
  fileprivate static let bool = AttributeTraits(
    .bool, .bool, "Bool", "a Boolean", .number, .integer, rank: 0, empty: .bool(false), form: "true or false",
    swift: "Swift.Bool",
    swiftEmpty: "false", size: 1, xcode: "Boolean", usesScalar: true, column: "INTEGER")
  fileprivate static let int16 = integer(.int16, .int16, Int16.self, rank: 1, size: 2)
  fileprivate static let int32 = integer(.int32, .int32, Int32.self, rank: 2, size: 4, format: "int32")
  fileprivate static let int64 = integer(.int64, .int64, Int64.self, rank: 3, size: 8, format: "int64")
  fileprivate static let decimal = AttributeTraits(
    .decimal, .decimal, "Decimal", "a Decimal", .number, .text, rank: 4, empty: .decimal(0),
    form: "a decimal number of 38 digits at most", swift: "Foundation.Decimal", isCostly: true,
    xcode: "Decimal", class: "NSDecimalNumber", column: "DECIMAL")
  fileprivate static let float = AttributeTraits(
    .float, .float, "Float", "a Float", .number, .real, rank: 5, empty: .double(0),
    form: "a finite decimal number in its range",
    swift: "Swift.Float", swiftEmpty: "0", size: 4, format: "float", xcode: "Float", usesScalar: true,
    column: "FLOAT")
  fileprivate static let double = AttributeTraits(
    .double, .double, "Double", "a Double", .number, .real, rank: 6, empty: .double(0),
    form: "a finite decimal number in its range",
    swift: "Swift.Double", swiftEmpty: "0", format: "double", xcode: "Double", usesScalar: true,
    column: "FLOAT")
  fileprivate static let date = AttributeTraits(
    .date, .date, "Date", "a date", .date, .real, empty: .date(Date(timeIntervalSinceReferenceDate: 0)),
    form: "a day such as 2024-02-29, or a time with its zone such as 2024-02-29T12:30:00Z",
    generator: "now(), ", swift: "Foundation.Date", xcode: "Date", usesScalar: false, class: "NSDate",
    column: "TIMESTAMP")
  package static let data = AttributeTraits(
    .data, .data, "Data", "data", .data, .bytes, empty: .data(Data()), form: "Base64 text",
    swift: "Foundation.Data",
    isCostly: true, xcode: "Binary", class: "NSData", column: "BLOB")
  fileprivate static let uuid = AttributeTraits(
    .uuid, .uuid, "UUID", "a UUID", .uuid, .bytes,
    empty: .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
    form: "a UUID such as 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11", generator: "uuid() or ",
    swift: "Foundation.UUID", format: "uuid", xcode: "UUID", usesScalar: false, class: "NSUUID",
    column: "BLOB")
  fileprivate static let url = AttributeTraits(
    .url, .url, "URL", "a URL", .url, .text, empty: .url(URL(string: "about:blank") ?? URL(filePath: "/")),
    form: "a URL",
    swift: "Foundation.URL", isCostly: true, format: "uri-reference", xcode: "URI", class: "NSURL",
    column: "VARCHAR")

  private static func integer<I: FixedWidthInteger>(
    _ type: AttributeType, _ storageType: StorageType, _ integer: I.Type, rank: Int, size: Int,
    format: String? = nil
  ) -> AttributeTraits {
    AttributeTraits(
      type, storageType, "Int\(I.bitWidth)", "an integer", .number, .integer, rank: rank,
      range: Int64(I.min)...Int64(I.max), empty: .int(0),
      form: "an integer in decimal digits", swift: "Swift.Int\(I.bitWidth)", swiftEmpty: "0", size: size,
      format: format, xcode: "Integer \(I.bitWidth)", usesScalar: true, column: "INTEGER")
  }
}

extension AttributeType {
  /// The type's row; nil for an enumeration, a composite and a codable.
  package var traits: AttributeTraits? {
    switch self {
    case .string: .string
    case .bool: .bool
    case .int16: .int16
    case .int32: .int32
    case .int64: .int64
    case .float: .float
    case .double: .double
    case .decimal: .decimal
    case .date: .date
    case .data: .data
    case .uuid: .uuid
    case .url: .url
    case .enumeration, .composite, .codable: nil
    }
  }

  /// Whether an attribute can have a minimum and a maximum.
  package var isOrdered: Bool {
    guard let traits, self != .bool, self != .string else { return false }
    return traits.category.isOrdered
  }
}

// MARK: Storage types

/// The type in which a column stores a value: a type with a fixed name, or JSON.
///
/// Unlike ``AttributeType``, it is a single byte, so reading a row can switch over it without reference counting.
package enum StorageType: Int, CaseIterable, Sendable {
  case string, bool, int16, int32, int64, float, double, decimal, date, data, uuid, url
  /// JSON as text.
  case codable

  /// The type's row; nil for JSON.
  package var traits: AttributeTraits? { AttributeTraits.byStorageType[rawValue] }

  package var storageClass: AttributeTraits.StorageClass { traits?.storageClass ?? .text }

  /// The values of an integer type.
  package var integerRange: ClosedRange<Int64>? { traits?.integerRange }
}

// MARK: Values

extension AttributeValue {
  /// The type that has such values; nil for null and for composites. Integers and fractions belong to several types, of
  /// which this is the widest.
  package var type: AttributeType? { storageType?.traits?.type }

  /// The type of a column for such values; nil for null and for composites. The widest one, as of ``type``.
  package var storageType: StorageType? {
    switch self {
    case .null, .composite: nil
    case .bool: .bool
    case .int: .int64
    case .double: .double
    case .decimal: .decimal
    case .string: .string
    case .date: .date
    case .data: .data
    case .uuid: .uuid
    case .url: .url
    }
  }

  /// A description of the value's type for messages.
  package var noun: String {
    switch self {
    case .null: "nil"
    case .composite: "a composite"
    default: type?.traits?.noun ?? ""
    }
  }

  /// The value in the form that a column stores: null, an integer, a double, a string or data.
  package var stored: AttributeValue {
    switch self {
    case .null, .int, .double, .string, .data: self
    case .bool(let flag): .int(flag ? 1 : 0)
    case .decimal(let number): DecimalText.encode(number).map { .string($0) } ?? .null
    case .date(let date): .double(date.timeIntervalSinceReferenceDate)
    case .uuid(let uuid): .data(Data(ValueBytes.bytes(uuid)))
    case .url(let url): .string(url.absoluteString)
    case .composite: .null
    }
  }

  /// The value of a type, from its ``stored`` form, for a server that has no type of its own for such values. Nil if the
  /// type has no such value, and for types that servers have: their values are not read from the stored form.
  package init?(stored: AttributeValue, of type: StorageType) {
    guard case (.url, .string(let text)) = (type, stored), let url = URL(string: text) else { return nil }
    self = .url(url)
  }

  /// Whether the value is NaN, or a date that is not finite. No store accepts such a value.
  package var isNotANumber: Bool {
    switch self {
    case .double(let number): number.isNaN
    case .decimal(let number): number.isNaN
    case .date(let date): !date.timeIntervalSinceReferenceDate.isFinite
    default: false
    }
  }

  /// The text of the value in the formats that have no form of their own for its type. A date is its seconds since the
  /// reference date. Nil for null and for composites.
  package var plainText: String? {
    switch self {
    case .null, .composite: nil
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): number.description
    case .double(let number): number.description
    case .decimal(let number): number.description
    case .string(let text): text
    case .date(let date): date.timeIntervalSinceReferenceDate.description
    case .data(let data): data.base64EncodedString()
    case .uuid(let id): id.uuidString
    case .url(let url): url.absoluteString
    }
  }

  /// Reads the plain text of a type that all formats write as the same text: a string, Base64, a UUID or a URL. Nil for
  /// any other text, and for the other types, whose texts each format reads by its own rules.
  package init?(text: String, of type: AttributeType) {
    switch type {
    case .string: self = .string(text)
    case .data:
      guard let data = Data(base64Encoded: text) else { return nil }
      self = .data(data)
    case .uuid:
      guard let id = UUID(uuidString: text) else { return nil }
      self = .uuid(id)
    case .url:
      guard let url = URL(string: text) else { return nil }
      self = .url(url)
    default: return nil
    }
  }
}
