/// An attribute as declared in the schema.
public struct AttributeDescription: Hashable, Sendable {
  /// The name of the attribute in the model. Its column has the same name.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// Whether nil is a valid value.
  public var isOptional: Bool

  /// The value that a new object gets. If it is nil, a mandatory attribute is a parameter of the initialiser, and an
  /// optional one starts as nil.
  public var defaultValue: DefaultValue?

  /// Whether the attribute is transient: the object holds the value, and it is never stored.
  public var isTransient: Bool

  /// The expression from which a derived attribute is computed whenever its object is saved.
  public var derivation: ValueExpression?

  /// Whether large values are kept in files beside the store. It has no effect on codable values, which are in their rows.
  public var storesExternally: Bool

  /// The smallest allowed number or date; nil for no limit.
  public var minimum: AttributeValue?
  /// The greatest allowed number or date; nil for no limit.
  public var maximum: AttributeValue?

  /// The minimum number of characters of a string, or of bytes of a data value; nil for no limit.
  ///
  /// Characters are counted as Swift's `String.count` does, as readers see them: an `é` is one character, however it is
  /// encoded, and so is a family emoji.
  public var minimumLength: Int?
  /// The maximum number of characters of a string, or of bytes of a data value, counted as for ``minimumLength``; nil
  /// for no limit.
  public var maximumLength: Int?

  /// A regular expression in ICU syntax that the whole string must match. A match that takes more than ten million
  /// steps is abandoned, and the value is refused.
  public var pattern: String?

  /// The name in Swift, if it differs from the attribute's name.
  public var propertyName: String?
  /// The attribute's name in the version that this one is based on; `Entity.name` if another entity had it.
  public var renamedFrom: String?
  /// A text whose only effect is to change the entity's data hash, so that stores are migrated.
  public var hashModifier: String?
  /// Free keys and values. cdgen keeps them, but does not use them.
  public var info: [String: String]
  /// A description for readers of the schema and of the generated code.
  public var doc: String?

  /// Creates an attribute. The default values are those of the schema language.
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

  /// The name of the Swift property. A keyword is not escaped yet.
  public var swiftName: String { propertyName ?? name }

  /// Whether a store keeps the value. It does for every attribute that is not transient, including derived ones.
  public var isStored: Bool { !isTransient }

  /// Whether the attribute's column may have the name of a file that contains a large value. This is never so for a codable
  /// attribute: its JSON is a text, and a text in such a column is the name of a file.
  package var mayNameFile: Bool { storesExternally && type == .data }
}

/// The initial value of an attribute of a new object.
public enum DefaultValue: Hashable, Sendable {
  /// The same value for every object. For an enumeration, this is the case's raw value.
  case value(AttributeValue)
  /// `now()`: the time of the object's insertion.
  case now
  /// `uuid()`: a new UUID for each object.
  case uuid
}
