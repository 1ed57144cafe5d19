import CDModel

/// The JSON Schema of a model's files. Editors use it to complete and check the files while you write them.
///
/// It describes every key and the form of every value. Mistakes that involve more than one element, such as a wrong
/// inverse, are found only by `cdgen check`.
public enum JSONSchema {
  /// One document for `model.yaml` and for the files of the versions, in JSON Schema draft 2020-12.
  ///
  /// `#/$defs/version` and `#/$defs/model` describe the two sorts of files separately.
  public static var text: String { document.text() }
}

extension JSONSchema {
  static let document: ValueSchema = [
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "cdgen model files",
    "description":
      "The files of a NAME.cdmodel folder: model.yaml and one N.yaml a version. That of A-B.mapping.yaml is at #/$defs/mapping.",
    "oneOf": [.reference("version"), .reference("model")],
    "$defs": .object(definitions.map { ($0, $1) }),
  ]

  private static let definitions: KeyValuePairs<String, ValueSchema> = [
    "name": [
      "description": "A letter and then letters, digits and underscores.", "type": "string",
      "pattern": #"^[^\W\d_]\w*$"#, "not": ["pattern": "^[Ss][Qq][Ll][Ii][Tt][Ee]_"],
    ],
    "text": [
      "description": "A text. YAML may take it for a number or a truth value; cdgen does not.",
      "type": ["string", "number", "boolean", "null"],
    ],
    "type": [
      "description": "A type, with ? for optional: one of Swift's or the name of an enum or a composite.",
      "anyOf": [["enum": .array(typeNames)], ["type": "string", "pattern": #"^[^\W\d_]\w*\??$"#]],
    ],
    "expression": [
      "description":
        "A format string. Quote it, or write it below >-, if it holds quotes, '#', '!', '{' or ': '.",
      "type": ["string", "boolean"], "minLength": 1,
    ],
    "sort": [
      "description": "Key paths, with - for descending: [name, -dueDate].", "type": "array",
      "items": ["type": "string", "pattern": #"^-?[^\s-]+$"#],
    ],
    "attribute": [
      "description": "An attribute: its type alone, or a mapping.",
      "anyOf": [
        .reference("type"),
        [
          "type": "object", "additionalProperties": false, "properties": .properties(.attribute),
          "oneOf": [
            ["required": ["type"], "not": ["anyOf": [["required": ["codable"]], ["required": ["codec"]]]]],
            ["required": ["codable"], "not": ["required": ["type"]]],
          ],
        ],
      ],
    ],
    "field": [
      "description": "A field of a composite: its type alone, or a mapping.",
      "anyOf": [
        .reference("type"),
        [
          "type": "object", "additionalProperties": false, "properties": .properties(.field),
          "oneOf": [
            ["required": ["type"], "not": ["anyOf": [["required": ["codable"]], ["required": ["codec"]]]]],
            ["required": ["codable"], "not": ["required": ["type"]]],
          ],
        ],
      ],
    ],
    "relationship": [
      "description": "A relationship to objects of an entity.", "type": "object",
      "additionalProperties": false, "required": ["to"], "properties": .properties(.relationship),
    ],
    "fetch": [
      "description": "A fetch with a name; its $variables become the parameters of a function.",
      "anyOf": [
        ["type": "null"],
        ["type": "object", "additionalProperties": false, "properties": .properties(.fetchTemplate)],
      ],
    ],
    "fetched": [
      "description": "A property whose value is a fetch.", "type": "object", "additionalProperties": false,
      "required": ["entity"], "properties": .properties(.fetchedProperty),
    ],
    "entity": [
      "description": "An entity.",
      "anyOf": [
        ["type": "null"],
        ["type": "object", "additionalProperties": false, "properties": .properties(.entity)],
      ],
    ],
    "enum": [
      "description": "An enumeration, which attributes can have as their type.",
      "oneOf": [
        [
          "type": "object", "additionalProperties": false, "required": ["type", "cases"],
          "properties": .properties(.stringEnumeration),
        ],
        [
          "type": "object", "additionalProperties": false, "required": ["type", "cases"],
          "properties": .properties(.integerEnumeration),
        ],
      ],
    ],
    "composite": [
      "description": "A struct of attributes: fields by name, or 'fields' and 'doc'.",
      "anyOf": [
        [
          "type": "object", "additionalProperties": false, "required": ["fields"],
          "properties": .properties(.composite),
        ],
        [
          "type": "object", "minProperties": 1, "propertyNames": .reference("name"),
          "additionalProperties": .reference("field"),
        ],
      ],
    ],
    "version": [
      "description": "A version of a model: the file N.yaml.", "type": "object",
      "additionalProperties": false, "required": ["entities"], "properties": .properties(.version),
    ],
    "model": [
      "description": "What is said of all versions: the file model.yaml.", "type": "object",
      "additionalProperties": false, "required": ["id"], "properties": .properties(.model),
    ],
    "rules": [
      "description":
        "Expressions over the source's objects, by property; a composite's field is attribute.field.",
      "type": "object", "propertyNames": ["pattern": #"^[^\W\d_]\w*(\.[^\W\d_]\w*)?$"#],
      "additionalProperties": ["type": ["string", "number", "boolean"]],
    ],
    "mappingEntity": [
      "description": "Where the objects of an entity come from.", "type": ["object", "null"],
      "additionalProperties": false, "properties": .properties(.entityRule),
    ],
    "mapping": [
      "description": "What a step from a version to another does beyond what is inferred: A-B.mapping.yaml.",
      "type": ["object", "null"], "additionalProperties": false, "properties": .properties(.mapping),
    ],
  ]

  /// The names of the built-in types, and then the optional ones.
  private static var typeNames: [ValueSchema] {
    ["", "?"].flatMap { mark in AttributeType.named.map { .string($0.name + mark) } }
  }
}

extension ValueSchema {
  fileprivate static func properties(_ keys: SchemaKeys) -> ValueSchema {
    .object(keys.keys.map { ($0.name, $0.schema) })
  }
}
