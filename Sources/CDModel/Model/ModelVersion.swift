/// One version of a model, whole: never a difference from another.
public struct ModelVersion: Hashable, Sendable {
  /// The version's number, from its file's name: at least 1.
  public var number: Int

  /// A name for people, such as the one that the version had in another tool.
  public var label: String?

  /// The versions that this one follows. Empty for a first version; several where branches met.
  public var basedOn: [Int]

  /// The enumerations that attributes can have as type.
  public var enums: [EnumDescription]
  /// The composites that attributes can have as type.
  public var composites: [CompositeDescription]

  /// The entities in the order of their declaration. No hash depends on that order.
  public var entities: [EntityDescription]

  /// Named sets of entities, so that a model can be spread over several stores.
  public var configurations: [ConfigurationDescription]

  /// Free keys and values, which cdgen keeps and does not read. No hash covers them, as none covers ``label``.
  public var info: [String: String]

  /// A version as given; an empty one where nothing but the number is.
  public init(
    number: Int, label: String? = nil, basedOn: [Int] = [], enums: [EnumDescription] = [],
    composites: [CompositeDescription] = [], entities: [EntityDescription] = [],
    configurations: [ConfigurationDescription] = [], info: [String: String] = [:]
  ) {
    self.number = number
    self.label = label
    self.basedOn = basedOn
    self.enums = enums
    self.composites = composites
    self.entities = entities
    self.configurations = configurations
    self.info = info
  }
}

/// A named set of entities.
public struct ConfigurationDescription: Hashable, Sendable {
  /// The name by which a store asks for the configuration.
  public var name: String
  /// The names of its entities.
  public var entities: [String]

  /// A configuration of these entities.
  public init(name: String, entities: [String]) {
    self.name = name
    self.entities = entities
  }
}

/// A composite: a struct of attributes that an entity holds as one property, a column a field.
public struct CompositeDescription: Hashable, Sendable {
  /// The name in the model and in Swift.
  public var name: String
  /// The fields. A field has a type that is no composite, may be optional and may have a default.
  public var fields: [AttributeDescription]
  /// What the composite is, for the readers of the schema and of the generated code.
  public var doc: String?

  /// A composite as given.
  public init(name: String, fields: [AttributeDescription], doc: String? = nil) {
    self.name = name
    self.fields = fields
    self.doc = doc
  }
}
