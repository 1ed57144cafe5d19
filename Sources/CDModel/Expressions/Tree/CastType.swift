/// The type that `CAST(value, 'type')` converts to.
public enum CastType: Hashable, Sendable {
  /// A type of the schema language, or Apple's class of the same meaning: `Date` is `NSDate`.
  case attribute(AttributeType)
  /// `NSNumber`: a number that keeps its own kind, or the one that a string's text shows.
  case number
  /// An enumeration of the model: the raw value of the case that has it, or whose name a string is. The checker
  /// makes it of a name that it knows.
  case enumeration(EnumDescription)
  /// A name that is no type's. It is read, and refused by the checker unless the model has an enumeration of that
  /// name, and when evaluated.
  case unknown(String)

  /// The type of a name.
  public init(name: String) {
    if let named = AttributeType.named.first(where: { $0.name == name }) {
      self = .attribute(named.type)
    } else if let type = Self.appleNames[name] {
      self = type
    } else {
      self = .unknown(name)
    }
  }

  /// The type's name in canonical text.
  public var name: String {
    switch self {
    case .attribute(let type): type.schemaName
    case .number: "NSNumber"
    case .enumeration(let enumeration): enumeration.name
    case .unknown(let name): name
    }
  }

  private static let appleNames: [String: CastType] = [
    "NSNumber": .number, "NSString": .attribute(.string), "NSDate": .attribute(.date),
    "NSData": .attribute(.data), "NSUUID": .attribute(.uuid), "NSURL": .attribute(.url),
    "NSDecimalNumber": .attribute(.decimal),
  ]
}
