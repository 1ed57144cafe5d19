/// One version of a model. It is complete, and not a difference from another version.
public struct ModelVersion: Hashable, Sendable {
  /// The version's number, taken from its file's name: at least 1.
  public var number: Int

  /// A name for people, such as the version's name in another tool.
  public var label: String?

  /// The versions that this one follows: empty for a first version, several if branches were merged.
  public var basedOn: [Int]

  /// The enumerations that attributes can have as their type.
  public var enums: [EnumDescription]
  /// The composites that attributes can have as their type.
  public var composites: [CompositeDescription]

  /// The entities in order of declaration. No hash depends on that order.
  public var entities: [EntityDescription]

  /// Named sets of entities, which can be kept in different stores.
  public var configurations: [ConfigurationDescription]

  /// Free keys and values. cdgen keeps them, but does not use them. No hash covers them or ``label``.
  public var info: [String: String]

  /// Creates a version, by default an empty one.
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
  /// The name by which a store selects the configuration.
  public var name: String
  /// The names of its entities.
  public var entities: [String]

  /// Creates a configuration.
  public init(name: String, entities: [String]) {
    self.name = name
    self.entities = entities
  }
}

/// A composite: a struct of attributes that an entity holds as one property. Each field is a column.
public struct CompositeDescription: Hashable, Sendable {
  /// The composite's name in the model and in Swift.
  public var name: String
  /// The fields. The type of a field is not a composite. A field may be optional and may have a default.
  public var fields: [AttributeDescription]
  /// A description for readers of the schema and of the generated code.
  public var doc: String?

  /// Creates a composite.
  public init(name: String, fields: [AttributeDescription], doc: String? = nil) {
    self.name = name
    self.fields = fields
    self.doc = doc
  }
}
