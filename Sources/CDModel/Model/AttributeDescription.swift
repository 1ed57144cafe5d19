/// An attribute as it was declared.
public struct AttributeDescription: Hashable, Sendable {
  /// The attribute's name in the model, and its column's.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// Whether nil is a valid value.
  public var isOptional: Bool

  /// What a new object has. Nil is no default: such a mandatory attribute is a parameter of the
  /// initialiser, such an optional one starts as nil.
  public var defaultValue: DefaultValue?

  /// A transient attribute lives in the object and is never stored.
  public var isTransient: Bool

  /// The expression from which a derived attribute is computed whenever its object is saved.
  public var derivation: ValueExpression?

  /// Large values are kept in files beside the store.
  public var storesExternally: Bool

  /// The least number or date that is allowed; nil for no bound.
  public var minimum: AttributeValue?
  /// The greatest number or date that is allowed; nil for no bound.
  public var maximum: AttributeValue?

  /// The fewest characters of a string, or bytes of a data value; nil for no bound.
  ///
  /// Characters are those of Swift's `String.count`, what readers take for one: an `é` is one, however it is
  /// encoded, and so is a family of emoji.
  public var minimumLength: Int?
  /// The most characters of a string, or bytes of a data value, counted as for ``minimumLength``; nil for no
  /// bound.
  public var maximumLength: Int?

  /// A regular expression, in ICU's syntax, that the whole of a string must match. A match that takes more than ten
  /// million steps is given up, and the value is refused.
  public var pattern: String?

  /// The name in Swift, where it is not the attribute's.
  public var propertyName: String?
  /// The name in the version that this one is based on; `Entity.name` if it was another entity's.
  public var renamedFrom: String?
  /// Text that changes the entity's data hash, so that stores are migrated, and has no other effect.
  public var hashModifier: String?
  /// Free keys and values, which cdgen keeps and does not read.
  public var info: [String: String]
  /// What the attribute is, for the readers of the schema and of the generated code.
  public var doc: String?

  /// An attribute as given; what is left out is the schema language's rule.
  public init(
    name: String, type: AttributeType, isOptional: Bool = false, defaultValue: DefaultValue? = nil,
    isTransient: Bool = false, derivation: ValueExpression? = nil, storesExternally: Bool = false,
    minimum: AttributeValue? = nil, maximum: AttributeValue? = nil, minimumLength: Int? = nil,
    maximumLength: Int? = nil, pattern: String? = nil, propertyName: String? = nil,
    renamedFrom: String? = nil, hashModifier: String? = nil, info: [String: String] = [:],
    doc: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = defaultValue
    self.isTransient = isTransient
    self.derivation = derivation
    self.storesExternally = storesExternally
    self.minimum = minimum
    self.maximum = maximum
    self.minimumLength = minimumLength
    self.maximumLength = maximumLength
    self.pattern = pattern
    self.propertyName = propertyName
    self.renamedFrom = renamedFrom
    self.hashModifier = hashModifier
    self.info = info
    self.doc = doc
  }

  /// The name of the Swift property, not yet escaped where it is a keyword.
  public var swiftName: String { propertyName ?? name }

  /// Whether a store keeps the value: neither transient nor computed from others when read.
  public var isStored: Bool { !isTransient }
}

/// What a new object has for an attribute.
public enum DefaultValue: Hashable, Sendable {
  /// The same value for every object. For an enumeration it is the case's raw value.
  case value(AttributeValue)
  /// `now()`: the time of the object's insertion.
  case now
  /// `uuid()`: a new UUID an object.
  case uuid
}
