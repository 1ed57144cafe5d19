extension JSONSchema {
  static let document = #"""
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "title": "cdgen model files",
      "description": "The files of a NAME.cdmodel folder: model.yaml and one N.yaml a version. That of A-B.mapping.yaml is at #/$defs/mapping.",
      "oneOf": [{"$ref": "#/$defs/version"}, {"$ref": "#/$defs/model"}],
      "$defs": {
        "name": {
          "description": "A letter and then letters, digits and underscores.",
          "type": "string",
          "pattern": "^[^\\W\\d_]\\w*$",
          "not": {"pattern": "^[Ss][Qq][Ll][Ii][Tt][Ee]_"}
        },
        "text": {
          "description": "A text. YAML may take it for a number or a truth value; cdgen does not.",
          "type": ["string", "number", "boolean", "null"]
        },
        "type": {
          "description": "A type, with ? for optional: one of Swift's or the name of an enum or a composite.",
          "anyOf": [
            {
              "enum": [
                "String",
                "Bool",
                "Int16",
                "Int32",
                "Int64",
                "Float",
                "Double",
                "Decimal",
                "Date",
                "Data",
                "UUID",
                "URL",
                "String?",
                "Bool?",
                "Int16?",
                "Int32?",
                "Int64?",
                "Float?",
                "Double?",
                "Decimal?",
                "Date?",
                "Data?",
                "UUID?",
                "URL?"
              ]
            },
            {"type": "string", "pattern": "^[^\\W\\d_]\\w*\\??$"}
          ]
        },
        "expression": {
          "description": "A format string. Quote it, or write it below >-, if it holds quotes, '#', '!', '{' or ': '.",
          "type": ["string", "boolean"],
          "minLength": 1
        },
        "sort": {
          "description": "Key paths, with - for descending: [name, -dueDate].",
          "type": "array",
          "items": {"type": "string", "pattern": "^-?[^\\s-]+$"}
        },
        "attribute": {
          "description": "An attribute: its type alone, or a mapping.",
          "anyOf": [
            {"$ref": "#/$defs/type"},
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "type": {"$ref": "#/$defs/type"},
                "codable": {
                  "description": "A Codable type of your own, kept as JSON; with ? for optional.",
                  "type": "string",
                  "minLength": 1
                },
                "codec": {
                  "description": "Counts the shapes that the JSON of a codable has had; 1 at first.",
                  "type": "integer",
                  "minimum": 1
                },
                "default": {
                  "description": "What a new object has: a value of the type, a case's name, now() or uuid().",
                  "type": ["string", "number", "boolean", "object", "null"]
                },
                "min": {"description": "The least allowed number or date.", "type": ["number", "string"]},
                "max": {"description": "The greatest allowed number or date.", "type": ["number", "string"]},
                "minLength": {
                  "description": "A count of characters of a String or bytes of a Data.",
                  "type": "integer",
                  "minimum": 0
                },
                "maxLength": {
                  "description": "A count of characters of a String or bytes of a Data.",
                  "type": "integer",
                  "minimum": 0
                },
                "pattern": {
                  "description": "A regular expression that the whole of a String must match.",
                  "type": ["string", "number"]
                },
                "swiftName": {
                  "$ref": "#/$defs/name",
                  "description": "The name of the Swift property, where it is not this one's."
                },
                "renamedFrom": {
                  "description": "The name in the version that this one is based on.",
                  "type": "string",
                  "pattern": "^[^\\s]+$"
                },
                "doc": {
                  "$ref": "#/$defs/text",
                  "description": "Documentation, which becomes the comment of the generated declaration."
                },
                "transient": {"description": "Kept in the object and never stored.", "type": "boolean"},
                "derived": {
                  "$ref": "#/$defs/expression",
                  "description": "The expression that computes the value at every save."
                },
                "external": {"description": "Large values are kept in files beside the store.", "type": "boolean"},
                "hashModifier": {
                  "$ref": "#/$defs/text",
                  "description": "Text that changes the entity's data hash and nothing else."
                },
                "info": {
                  "description": "Free keys and values, which cdgen keeps and does not read.",
                  "type": "object",
                  "additionalProperties": {"$ref": "#/$defs/text"}
                }
              },
              "oneOf": [
                {
                  "required": ["type"],
                  "not": {"anyOf": [{"required": ["codable"]}, {"required": ["codec"]}]}
                },
                {"required": ["codable"], "not": {"required": ["type"]}}
              ]
            }
          ]
        },
        "field": {
          "description": "A field of a composite: its type alone, or a mapping.",
          "anyOf": [
            {"$ref": "#/$defs/type"},
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "type": {"$ref": "#/$defs/type"},
                "codable": {
                  "description": "A Codable type of your own, kept as JSON; with ? for optional.",
                  "type": "string",
                  "minLength": 1
                },
                "codec": {
                  "description": "Counts the shapes that the JSON of a codable has had; 1 at first.",
                  "type": "integer",
                  "minimum": 1
                },
                "default": {
                  "description": "What a new object has: a value of the type, a case's name, now() or uuid().",
                  "type": ["string", "number", "boolean", "object", "null"]
                },
                "min": {"description": "The least allowed number or date.", "type": ["number", "string"]},
                "max": {"description": "The greatest allowed number or date.", "type": ["number", "string"]},
                "minLength": {
                  "description": "A count of characters of a String or bytes of a Data.",
                  "type": "integer",
                  "minimum": 0
                },
                "maxLength": {
                  "description": "A count of characters of a String or bytes of a Data.",
                  "type": "integer",
                  "minimum": 0
                },
                "pattern": {
                  "description": "A regular expression that the whole of a String must match.",
                  "type": ["string", "number"]
                },
                "swiftName": {
                  "$ref": "#/$defs/name",
                  "description": "The name of the Swift property, where it is not this one's."
                },
                "renamedFrom": {
                  "description": "The name in the version that this one is based on.",
                  "type": "string",
                  "pattern": "^[^\\s]+$"
                },
                "doc": {
                  "$ref": "#/$defs/text",
                  "description": "Documentation, which becomes the comment of the generated declaration."
                }
              },
              "oneOf": [
                {
                  "required": ["type"],
                  "not": {"anyOf": [{"required": ["codable"]}, {"required": ["codec"]}]}
                },
                {"required": ["codable"], "not": {"required": ["type"]}}
              ]
            }
          ]
        },
        "relationship": {
          "description": "A relationship to objects of an entity.",
          "type": "object",
          "additionalProperties": false,
          "required": ["to"],
          "properties": {
            "to": {
              "description": "The entity: X for a mandatory one, X? for an optional one, [X] for many.",
              "anyOf": [
                {"type": "string", "pattern": "^[^\\W\\d_]\\w*\\??$"},
                {"type": "array", "minItems": 1, "maxItems": 1, "items": {"$ref": "#/$defs/name"}}
              ]
            },
            "inverse": {
              "$ref": "#/$defs/name",
              "description": "The relationship that leads back; none for a one-sided one."
            },
            "onDelete": {
              "description": "What happens to the related objects when an object is deleted; nullify if not said.",
              "enum": ["nullify", "cascade", "deny", "noAction"]
            },
            "ordered": {
              "description": "Whether a to-many relationship keeps the order of its objects.",
              "type": "boolean"
            },
            "count": {
              "description": "How many objects a to-many relationship has: 3, 0...500, 1..., ...5.",
              "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": "^([0-9]+|[0-9]+\\.\\.\\.[0-9]*|\\.\\.\\.[0-9]+)$"}
              ]
            },
            "optional": {
              "description": "Whether a to-many relationship may be empty; true if not said, unless 'count' asks for one at least.",
              "type": "boolean"
            },
            "swiftName": {
              "$ref": "#/$defs/name",
              "description": "The name of the Swift property, where it is not this one's."
            },
            "renamedFrom": {
              "description": "The name in the version that this one is based on.",
              "type": "string",
              "pattern": "^[^\\s]+$"
            },
            "hashModifier": {
              "$ref": "#/$defs/text",
              "description": "Text that changes the entity's data hash and nothing else."
            },
            "info": {
              "description": "Free keys and values, which cdgen keeps and does not read.",
              "type": "object",
              "additionalProperties": {"$ref": "#/$defs/text"}
            },
            "doc": {
              "$ref": "#/$defs/text",
              "description": "Documentation, which becomes the comment of the generated declaration."
            }
          }
        },
        "fetch": {
          "description": "A fetch with a name; its $variables become the parameters of a function.",
          "anyOf": [
            {"type": "null"},
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "where": {"$ref": "#/$defs/expression", "description": "The predicate."},
                "sort": {"$ref": "#/$defs/sort"},
                "limit": {"description": "The most objects to fetch.", "type": "integer", "minimum": 1},
                "doc": {
                  "$ref": "#/$defs/text",
                  "description": "Documentation, which becomes the comment of the generated declaration."
                }
              }
            }
          ]
        },
        "fetched": {
          "description": "A property whose value is a fetch.",
          "type": "object",
          "additionalProperties": false,
          "required": ["entity"],
          "properties": {
            "entity": {"$ref": "#/$defs/name", "description": "The entity whose objects are fetched."},
            "where": {
              "$ref": "#/$defs/expression",
              "description": "The predicate; $FETCH_SOURCE is the object that has the property."
            },
            "sort": {"$ref": "#/$defs/sort"},
            "limit": {"description": "The most objects to fetch.", "type": "integer", "minimum": 1},
            "swiftName": {
              "$ref": "#/$defs/name",
              "description": "The name of the Swift property, where it is not this one's."
            },
            "info": {
              "description": "Free keys and values, which cdgen keeps and does not read.",
              "type": "object",
              "additionalProperties": {"$ref": "#/$defs/text"}
            },
            "doc": {
              "$ref": "#/$defs/text",
              "description": "Documentation, which becomes the comment of the generated declaration."
            }
          }
        },
        "entity": {
          "description": "An entity.",
          "anyOf": [
            {"type": "null"},
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "abstract": {"description": "Whether there are only objects of its subentities.", "type": "boolean"},
                "parent": {
                  "$ref": "#/$defs/name",
                  "description": "The entity whose properties this one inherits."
                },
                "class": {
                  "$ref": "#/$defs/name",
                  "description": "The name of the Swift class, where it is not the entity's."
                },
                "renamedFrom": {
                  "description": "The name in the version that this one is based on.",
                  "type": "string",
                  "pattern": "^[^\\s]+$"
                },
                "attributes": {
                  "description": "Attributes by name.",
                  "type": ["object", "null"],
                  "propertyNames": {"$ref": "#/$defs/name"},
                  "additionalProperties": {"$ref": "#/$defs/attribute"}
                },
                "relationships": {
                  "description": "Relationships by name.",
                  "type": ["object", "null"],
                  "propertyNames": {"$ref": "#/$defs/name"},
                  "additionalProperties": {"$ref": "#/$defs/relationship"}
                },
                "fetched": {
                  "description": "Fetched properties by name.",
                  "type": ["object", "null"],
                  "propertyNames": {"$ref": "#/$defs/name"},
                  "additionalProperties": {"$ref": "#/$defs/fetched"}
                },
                "fetches": {
                  "description": "Fetches by name.",
                  "type": ["object", "null"],
                  "propertyNames": {"$ref": "#/$defs/name"},
                  "additionalProperties": {"$ref": "#/$defs/fetch"}
                },
                "indexes": {
                  "description": "Lists of properties, with - for descending: [[dueDate], [completed, -dueDate]].",
                  "type": "array",
                  "items": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "pattern": "^-?[^\\s-]+$"}
                  }
                },
                "unique": {
                  "description": "Lists of properties whose values together are unique: [[isbn]].",
                  "type": "array",
                  "items": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/name"}}
                },
                "hashModifier": {
                  "$ref": "#/$defs/text",
                  "description": "Text that changes the entity's data hash and nothing else."
                },
                "info": {
                  "description": "Free keys and values, which cdgen keeps and does not read.",
                  "type": "object",
                  "additionalProperties": {"$ref": "#/$defs/text"}
                },
                "doc": {
                  "$ref": "#/$defs/text",
                  "description": "Documentation, which becomes the comment of the generated declaration."
                }
              }
            }
          ]
        },
        "enum": {
          "description": "An enumeration, which attributes can have as their type.",
          "oneOf": [
            {
              "type": "object",
              "additionalProperties": false,
              "required": ["type", "cases"],
              "properties": {
                "type": {"const": "String"},
                "cases": {
                  "description": "Names, which are their own raw values, or names to raw values.",
                  "anyOf": [
                    {
                      "type": "array",
                      "minItems": 1,
                      "uniqueItems": true,
                      "items": {"type": ["string", "boolean", "null"]}
                    },
                    {
                      "type": "object",
                      "minProperties": 1,
                      "additionalProperties": {"$ref": "#/$defs/text"}
                    }
                  ]
                },
                "doc": {
                  "$ref": "#/$defs/text",
                  "description": "Documentation, which becomes the comment of the generated declaration."
                }
              }
            },
            {
              "type": "object",
              "additionalProperties": false,
              "required": ["type", "cases"],
              "properties": {
                "type": {"enum": ["Int16", "Int32", "Int64"]},
                "cases": {
                  "description": "Names to raw values.",
                  "type": "object",
                  "minProperties": 1,
                  "additionalProperties": {"type": "integer"}
                },
                "doc": {
                  "$ref": "#/$defs/text",
                  "description": "Documentation, which becomes the comment of the generated declaration."
                }
              }
            }
          ]
        },
        "composite": {
          "description": "A struct of attributes: fields by name, or 'fields' and 'doc'.",
          "anyOf": [
            {
              "type": "object",
              "additionalProperties": false,
              "required": ["fields"],
              "properties": {
                "fields": {
                  "description": "Fields by name.",
                  "type": ["object", "null"],
                  "propertyNames": {"$ref": "#/$defs/name"},
                  "additionalProperties": {"$ref": "#/$defs/field"},
                  "minProperties": 1
                },
                "doc": {
                  "$ref": "#/$defs/text",
                  "description": "Documentation, which becomes the comment of the generated declaration."
                }
              }
            },
            {
              "type": "object",
              "minProperties": 1,
              "propertyNames": {"$ref": "#/$defs/name"},
              "additionalProperties": {"$ref": "#/$defs/field"}
            }
          ]
        },
        "version": {
          "description": "A version of a model: the file N.yaml.",
          "type": "object",
          "additionalProperties": false,
          "required": ["entities"],
          "properties": {
            "label": {"$ref": "#/$defs/text", "description": "A name for people."},
            "basedOn": {
              "description": "The version or versions that this one follows; the number before if not said.",
              "anyOf": [
                {"type": "integer", "minimum": 1},
                {
                  "type": "array",
                  "minItems": 1,
                  "uniqueItems": true,
                  "items": {"type": "integer", "minimum": 1}
                }
              ]
            },
            "enums": {
              "description": "Enumerations by name.",
              "type": ["object", "null"],
              "propertyNames": {"$ref": "#/$defs/name"},
              "additionalProperties": {"$ref": "#/$defs/enum"}
            },
            "composites": {
              "description": "Composites by name.",
              "type": ["object", "null"],
              "propertyNames": {"$ref": "#/$defs/name"},
              "additionalProperties": {"$ref": "#/$defs/composite"}
            },
            "entities": {
              "description": "Entities by name.",
              "type": "object",
              "propertyNames": {"$ref": "#/$defs/name"},
              "additionalProperties": {"$ref": "#/$defs/entity"}
            },
            "configurations": {
              "description": "Named sets of entities, for models that are spread over several stores.",
              "type": "object",
              "additionalProperties": {"type": "array", "uniqueItems": true, "items": {"$ref": "#/$defs/name"}}
            },
            "info": {
              "description": "Free keys and values, which cdgen keeps and does not read.",
              "type": "object",
              "additionalProperties": {"$ref": "#/$defs/text"}
            }
          }
        },
        "model": {
          "description": "What is said of all versions: the file model.yaml.",
          "type": "object",
          "additionalProperties": false,
          "required": ["id"],
          "properties": {
            "id": {
              "description": "The model's identity: a UUID, made once and never changed.",
              "type": "string",
              "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
            },
            "current": {
              "description": "The version that generated classes speak for; the highest if not said.",
              "type": "integer",
              "minimum": 1
            },
            "imports": {
              "description": "Modules that generated code imports for the types of codables.",
              "type": "array",
              "uniqueItems": true,
              "items": {"type": "string", "pattern": "^\\w+(\\.\\w+)*$"}
            },
            "access": {
              "description": "How far generated declarations can be seen; internal if not said.",
              "enum": ["internal", "package", "public"]
            },
            "keyPaths": {
              "description": "Whether generated classes list their key paths, for #Predicate; false if not said.",
              "type": "boolean"
            },
            "observable": {
              "description": "Whether SwiftUI and withObservationTracking follow generated classes; false if not said.",
              "type": "boolean"
            }
          }
        },
        "rules": {
          "description": "Expressions over the source's objects, by property; a composite's field is attribute.field.",
          "type": "object",
          "propertyNames": {"pattern": "^[^\\W\\d_]\\w*(\\.[^\\W\\d_]\\w*)?$"},
          "additionalProperties": {"type": ["string", "number", "boolean"]}
        },
        "mappingEntity": {
          "description": "Where the objects of an entity come from.",
          "type": ["object", "null"],
          "additionalProperties": false,
          "properties": {
            "from": {
              "description": "The entity of the older version; the one of the same name or renamedFrom if not said.",
              "$ref": "#/$defs/name"
            },
            "name": {
              "description": "The mapping's name; made of both entities' names if not said.",
              "$ref": "#/$defs/name"
            },
            "policy": {
              "description": "custom: the app's own code makes the objects, or completes them.",
              "enum": ["custom"]
            },
            "where": {"description": "Which objects are taken.", "$ref": "#/$defs/expression"},
            "owned": {
              "description": "What becomes of an object whose owner 'where' leaves behind. An owner's relationship has the delete rule 'cascade'.",
              "enum": ["drop", "keep", "refuse"],
              "default": "drop"
            },
            "attributes": {"$ref": "#/$defs/rules"},
            "relationships": {"$ref": "#/$defs/rules"},
            "drop": {
              "description": "Properties of the older version whose loss is meant.",
              "type": "array",
              "uniqueItems": true,
              "items": {"type": "string"}
            },
            "undecided": {
              "description": "What a person has yet to say, by property, or 'where': the step is not proven before.",
              "type": "object",
              "additionalProperties": {"type": "string"}
            }
          }
        },
        "mapping": {
          "description": "What a step from a version to another does beyond what is inferred: A-B.mapping.yaml.",
          "type": ["object", "null"],
          "additionalProperties": false,
          "properties": {
            "entities": {
              "description": "Rules by the entity of the newer version; a list where objects come from several.",
              "type": "object",
              "additionalProperties": {
                "anyOf": [
                  {"$ref": "#/$defs/mappingEntity"},
                  {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/mappingEntity"}}
                ]
              }
            },
            "drop": {
              "description": "Entities of the older version whose objects may be lost; Configuration.Entity for one.",
              "type": "array",
              "uniqueItems": true,
              "items": {"type": "string"}
            },
            "onDuplicate": {
              "description": "Which of equal objects stays, by entity and unique properties.",
              "type": "object",
              "additionalProperties": {
                "type": "object",
                "additionalProperties": {"enum": ["keepFirst", "keepLast"]}
              }
            }
          }
        }
      }
    }
    """#
}
