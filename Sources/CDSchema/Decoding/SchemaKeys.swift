import CDModel

/// A key of a mapping in the schema language.
struct SchemaKey: Sendable {
  let name: String
  let schema: ValueSchema

  init(_ name: String, _ schema: ValueSchema) {
    self.name = name
    self.schema = schema
  }

  fileprivate static func flag(_ name: String, _ description: String) -> SchemaKey {
    SchemaKey(name, ["description": .string(description), "type": "boolean"])
  }

  /// A key whose value has a definition of its own in the JSON Schema.
  fileprivate static func reference(_ name: String, to definition: String, _ description: String) -> SchemaKey
  {
    SchemaKey(name, ["$ref": .string("#/$defs/" + definition), "description": .string(description)])
  }

  /// A key whose value is a mapping of names to declarations of one sort.
  fileprivate static func declarations(_ name: String, _ description: String, of definition: String)
    -> SchemaKey
  {
    SchemaKey(
      name,
      [
        "description": .string(description), "type": ["object", "null"],
        "propertyNames": .reference("name"), "additionalProperties": .reference(definition),
      ])
  }
}

/// The keys of each sort of mapping in a model's files. The decoders accept these keys, and ``JSONSchema`` describes
/// them.
struct SchemaKeys: Sendable {
  let keys: [SchemaKey]
  let names: [String]

  init(_ keys: [SchemaKey]) {
    self.keys = keys
    names = keys.map(\.name)
  }
}

// MARK: Keys of several sorts of mappings

extension SchemaKey {
  fileprivate static let swiftName = SchemaKey.reference(
    "swiftName", to: "name", "The name of the Swift property, where it is not this one's.")
  fileprivate static let renamedFrom = SchemaKey(
    "renamedFrom",
    [
      "description": "The name in the version that this one is based on.", "type": "string",
      "pattern": #"^[^\s]+$"#,
    ])
  fileprivate static let doc = SchemaKey.reference(
    "doc", to: "text", "Documentation, which becomes the comment of the generated declaration.")
  fileprivate static let hashModifier = SchemaKey.reference(
    "hashModifier", to: "text", "Text that changes the entity's data hash and nothing else.")
  fileprivate static let info = SchemaKey(
    "info",
    [
      "description": "Free keys and values, which cdgen keeps and does not read.", "type": "object",
      "additionalProperties": .reference("text"),
    ])
  fileprivate static let sort = SchemaKey("sort", .reference("sort"))
  fileprivate static let limit = SchemaKey(
    "limit", ["description": "The most objects to fetch.", "type": "integer", "minimum": 1])
}

extension SchemaKeys {
  static let model = SchemaKeys([
    SchemaKey(
      "id",
      [
        "description": "The model's identity: a UUID, made once and never changed.", "type": "string",
        "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
      ]),
    SchemaKey(
      "current",
      [
        "description": "The version of the generated classes; the highest by default.",
        "type": "integer", "minimum": 1,
      ]),
    SchemaKey(
      "imports",
      [
        "description": "Modules that generated code imports for the types of codables.", "type": "array",
        "uniqueItems": true, "items": ["type": "string", "pattern": #"^\w+(\.\w+)*$"#],
      ]),
    SchemaKey(
      "access",
      [
        "description": "The access level of generated declarations. The default is internal.",
        "enum": ["internal", "package", "public"],
      ]),
    .flag("keyPaths", "Whether classes list their key paths, for #Predicate. The default is false."),
    .flag(
      "observable", "Whether classes are Observable, for SwiftUI. The default is false."
    ),
    SchemaKey(
      "snapshots",
      [
        "description":
          "Whether classes have snapshots, which are Codable. The default is false. 'nested' lets a snapshot contain related objects.",
        "enum": [true, false, "nested"],
      ]),
  ])

  static let version = SchemaKeys([
    .reference("label", to: "text", "A name for people."),
    SchemaKey(
      "basedOn",
      [
        "description": "The versions on which this one is based. The default is the one before.",
        "anyOf": [
          ["type": "integer", "minimum": 1],
          ["type": "array", "minItems": 1, "uniqueItems": true, "items": ["type": "integer", "minimum": 1]],
        ],
      ]),
    .declarations("enums", "Enumerations by name.", of: "enum"),
    .declarations("composites", "Composites by name.", of: "composite"),
    SchemaKey(
      "entities",
      [
        "description": "Entities by name.", "type": "object", "propertyNames": .reference("name"),
        "additionalProperties": .reference("entity"),
      ]),
    SchemaKey(
      "configurations",
      [
        "description": "Named sets of entities, for models that are spread over several stores.",
        "type": "object",
        "additionalProperties": ["type": "array", "uniqueItems": true, "items": .reference("name")],
      ]),
    .info,
  ])

  /// Those of an enumeration with integers have the same names.
  static let stringEnumeration = SchemaKeys([
    SchemaKey("type", ["const": "String"]),
    SchemaKey(
      "cases",
      [
        "description": "Names, which are their own raw values, or names to raw values.",
        "anyOf": [
          [
            "type": "array", "minItems": 1, "uniqueItems": true,
            "items": ["type": ["string", "boolean", "null"]],
          ], ["type": "object", "minProperties": 1, "additionalProperties": .reference("text")],
        ],
      ]),
    .doc,
  ])

  static let integerEnumeration = SchemaKeys([
    SchemaKey("type", ["enum": .array(AttributeTraits.integers.map { .string($0.name) })]),
    SchemaKey(
      "cases",
      [
        "description": "Names to raw values.", "type": "object", "minProperties": 1,
        "additionalProperties": ["type": "integer"],
      ]),
    .doc,
  ])

  static let composite = SchemaKeys([
    SchemaKey(
      "fields",
      [
        "description": "Fields by name.", "type": ["object", "null"], "propertyNames": .reference("name"),
        "additionalProperties": .reference("field"), "minProperties": 1,
      ]),
    .doc,
  ])

  static let field = SchemaKeys([
    SchemaKey("type", .reference("type")),
    SchemaKey(
      "codable",
      [
        "description": "A Codable and Sendable type of your own, kept as JSON; with ? for optional.",
        "type": "string", "minLength": 1,
      ]),
    SchemaKey(
      "codec",
      [
        "description": "Counts the shapes that the JSON of a codable has had; 1 at first.", "type": "integer",
        "minimum": 1,
      ]),
    SchemaKey(
      "default",
      [
        "description": "The value of a new object: a value of the type, a case's name, now() or uuid().",
        "type": ["string", "number", "boolean", "object", "null"],
      ]),
    SchemaKey("min", ["description": "The least allowed number or date.", "type": ["number", "string"]]),
    SchemaKey("max", ["description": "The greatest allowed number or date.", "type": ["number", "string"]]),
    SchemaKey(
      "minLength",
      [
        "description": "A count of characters of a String or bytes of a Data.", "type": "integer",
        "minimum": 0,
      ]),
    SchemaKey(
      "maxLength",
      [
        "description": "A count of characters of a String or bytes of a Data.", "type": "integer",
        "minimum": 0,
      ]),
    SchemaKey(
      "pattern",
      [
        "description": "A regular expression that the whole of a String must match.",
        "type": ["string", "number"],
      ]),
    .swiftName,
    .renamedFrom,
    .doc,
  ])

  static let attribute = SchemaKeys(
    field.keys + [
      .flag("transient", "Kept in the object and never stored."),
      .reference("derived", to: "expression", "The expression that computes the value at every save."),
      .flag("external", "Large values are kept in files beside the store."),
      .hashModifier,
      .info,
    ])

  static let relationship = SchemaKeys([
    SchemaKey(
      "to",
      [
        "description": "The entity: X for a mandatory one, X? for an optional one, [X] for many.",
        "anyOf": [
          ["type": "string", "pattern": #"^[^\W\d_]\w*\??$"#],
          ["type": "array", "minItems": 1, "maxItems": 1, "items": .reference("name")],
        ],
      ]),
    .reference("inverse", to: "name", "The relationship that leads back; none for a one-sided one."),
    SchemaKey(
      "onDelete",
      [
        "description": "What a deletion does to related objects. The default is nullify.",
        "enum": .words(of: DeleteRule.self),
      ]),
    .flag("ordered", "Whether a to-many relationship keeps the order of its objects."),
    SchemaKey(
      "count",
      [
        "description": "How many objects a to-many relationship has: 3, 0...500, 1..., ...5.",
        "anyOf": [
          ["type": "integer", "minimum": 1],
          ["type": "string", "pattern": #"^([0-9]+|[0-9]+\.\.\.[0-9]*|\.\.\.[0-9]+)$"#],
        ],
      ]),
    .flag(
      "optional",
      "Whether a to-many relationship may be empty. The default is true, or what 'count' says."),
    .swiftName,
    .renamedFrom,
    .hashModifier,
    .info,
    .doc,
  ])

  static let fetchTemplate = SchemaKeys([
    .reference("where", to: "expression", "The predicate."),
    .sort,
    .limit,
    .doc,
  ])

  static let fetchedProperty = SchemaKeys([
    .reference("entity", to: "name", "The entity whose objects are fetched."),
    .reference(
      "where", to: "expression", "The predicate; $FETCH_SOURCE is the object that has the property."),
    .sort,
    .limit,
    .swiftName,
    .info,
    .doc,
  ])

  static let entity = SchemaKeys([
    .flag("abstract", "Whether there are only objects of its subentities."),
    .reference("parent", to: "name", "The entity whose properties this one inherits."),
    .reference("class", to: "name", "The name of the Swift class, where it is not the entity's."),
    .renamedFrom,
    .declarations("attributes", "Attributes by name.", of: "attribute"),
    .declarations("relationships", "Relationships by name.", of: "relationship"),
    .declarations("fetched", "Fetched properties by name.", of: "fetched"),
    .declarations("fetches", "Fetches by name.", of: "fetch"),
    SchemaKey(
      "indexes",
      [
        "description": "Lists of properties, with - for descending: [[dueDate], [completed, -dueDate]].",
        "type": "array",
        "items": ["type": "array", "minItems": 1, "items": ["type": "string", "pattern": #"^-?[^\s-]+$"#]],
      ]),
    SchemaKey(
      "unique",
      [
        "description": "Lists of properties whose values together are unique: [[isbn]].", "type": "array",
        "items": ["type": "array", "minItems": 1, "items": .reference("name")],
      ]),
    .hashModifier,
    .info,
    .doc,
  ])

  static let mapping = SchemaKeys([
    SchemaKey(
      "entities",
      [
        "description": "Rules by the entity of the newer version; a list where objects come from several.",
        "type": "object",
        "additionalProperties": [
          "anyOf": [
            .reference("mappingEntity"),
            ["type": "array", "minItems": 1, "items": .reference("mappingEntity")],
          ]
        ],
      ]),
    SchemaKey(
      "drop",
      [
        "description":
          "Entities of the older version whose objects may be lost; Configuration.Entity for one.",
        "type": "array", "uniqueItems": true, "items": ["type": "string"],
      ]),
    SchemaKey(
      "onDuplicate",
      [
        "description": "The object that stays if several are equal, by entity and unique properties.",
        "type": "object",
        "additionalProperties": [
          "type": "object", "additionalProperties": ["enum": .words(of: DuplicateRule.Survivor.self)],
        ],
      ]),
  ])

  static let entityRule = SchemaKeys([
    SchemaKey(
      "from",
      [
        "description":
          "The entity of the older version. The default is the entity with the same name, or with the name in renamedFrom.",
        "$ref": "#/$defs/name",
      ]),
    SchemaKey(
      "name",
      [
        "description": "The mapping's name. The default consists of the names of both entities.",
        "$ref": "#/$defs/name",
      ]),
    SchemaKey(
      "policy",
      ["description": "custom: the app's own code makes the objects, or completes them.", "enum": ["custom"]]),
    SchemaKey("where", ["description": "Selects the objects to migrate.", "$ref": "#/$defs/expression"]),
    SchemaKey(
      "owned",
      [
        "description":
          "What happens to objects whose owners 'where' excludes. An owner's relationship has the rule 'cascade'.",
        "enum": .words(of: OwnedObjects.self), "default": "drop",
      ]),
    SchemaKey("attributes", .reference("rules")),
    SchemaKey("relationships", .reference("rules")),
    SchemaKey(
      "drop",
      [
        "description": "Properties of the older version whose loss is confirmed.", "type": "array",
        "uniqueItems": true, "items": ["type": "string"],
      ]),
    SchemaKey(
      "undecided",
      [
        "description":
          "The decisions that are still to be made, by property, or 'where': the step is not proven before.",
        "type": "object", "additionalProperties": ["type": "string"],
      ]),
  ])
}
