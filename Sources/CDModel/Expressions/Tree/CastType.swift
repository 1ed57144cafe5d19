/// The type that `CAST(value, 'type')` converts to.
package enum CastType: Hashable, Sendable {
  /// A type of the schema language, or Apple's class for it: `NSDate` means `Date`.
  case attribute(AttributeType)
  /// `NSNumber`: a number keeps its number type; a string becomes the number type that its text shows.
  case number
  /// An enumeration of the model. The result is the raw value of a case, given as the raw value or as the case's name.
  /// The checker replaces a known name of ``unknown(_:)`` with this case.
  case enumeration(EnumDescription)
  /// A name that is not a type. It can be read, but not evaluated. The checker refuses it unless the model has an
  /// enumeration of that name.
  case unknown(String)

  /// Finds the type of a name; ``unknown(_:)`` if there is none.
  package init(name: String) {
    if let named = AttributeType.named.first(where: { $0.name == name }) {
      self = .attribute(named.type)
    } else if let type = Self.appleNames[name] {
      self = type
    } else {
      self = .unknown(name)
    }
  }

  /// The type's name in canonical text.
  package var name: String {
    switch self {
    case .attribute(let type): type.schemaName
    case .number: "NSNumber"
    case .enumeration(let enumeration): enumeration.name
    case .unknown(let name): name
    }
  }

  private static let appleNames: [String: CastType] = {
    var result = ["NSNumber": CastType.number]
    for traits in AttributeTraits.all {
      if let name = traits.appleClass { result[name] = .attribute(traits.type) }
    }
    return result
  }()
}
