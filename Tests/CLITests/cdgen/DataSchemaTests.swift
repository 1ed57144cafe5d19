import Foundation
import Testing

/// `json-schema --data` and `openapi`.
@Suite struct DataSchemaTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try SampleModel.make("Data", in: folder, version: Self.version)
  }

  private static let version = #"""
    enums:
      Mood: { type: String, cases: { good: g, bad: b }, doc: How it is. }
    composites:
      Place: { street: String, zip: { type: Int16?, min: 0 } }
    entities:
      Base: { abstract: true, attributes: { made: { type: Date, default: now() } } }
      Note:
        parent: Base
        doc: A note.
        attributes:
          text: { type: String, minLength: 1, maxLength: 9, pattern: "[a-z]+" }
          code: { type: String?, pattern: '\p{L}+' }
          word: { type: String?, pattern: '\w+\d' }
          price: { type: Decimal?, min: 0, max: 9.5 }
          mood: { type: Mood, default: good }
          place: Place?
          scan: { type: Data?, maxLength: 4 }
          size: { type: Int64, swiftName: bytes, default: 3 }
          extra: { codable: My.Extra }
          tagCount: { type: Int64, derived: tags.@count }
        relationships:
          folder: { to: Folder, inverse: notes }
          tags: { to: [Folder], inverse: none, doc: In any order. }
      Folder:
        attributes: { name: String, ratio: Double?, part: Float?, number: Int32?, site: URL?, key: UUID? }
        relationships: { notes: { to: [Note], inverse: folder } }

    """#

  /// The definitions, each as the JSON of a line.
  private static let expected: [(name: String, json: String)] = [
    (
      "ManagedObjectID",
      ##"""
      {"description": "The identifier of an object, as a URI.", "type": "string",
       "pattern": "^cdgen://[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/[^/]+/p[1-9][0-9]*$"}
      """##
    ),
    ("Mood", #"{"description": "How it is.", "type": "string", "enum": ["g", "b"]}"#),
    (
      "Place",
      ##"""
      {"type": "object", "required": ["street"], "properties": {
        "street": {"type": "string"}, "zip": {"type": "integer", "maximum": 32767, "minimum": 0}}}
      """##
    ),
    (
      "Base",
      ##"""
      {"type": "object", "required": ["objectID", "made"], "properties": {
        "objectID": {"$ref": "#/$defs/ManagedObjectID"},
        "made": {"description": "Seconds since 2001-01-01 00:00:00 UTC.", "type": "number"}}}
      """##
    ),
    (
      "Note",
      ##"""
      {"description": "A note.", "type": "object",
       "required": ["objectID", "made", "text", "mood", "bytes", "tagCount", "tags"], "properties": {
        "objectID": {"$ref": "#/$defs/ManagedObjectID"},
        "made": {"description": "Seconds since 2001-01-01 00:00:00 UTC.", "type": "number"},
        "text": {"description": "At most 9 characters.", "type": "string", "minLength": 1, "pattern": "^(?:[a-z]+)$"},
        "code": {"description": "Matches the regular expression \\p{L}+.", "type": "string"},
        "word": {"description": "Matches the regular expression \\w+\\d.", "type": "string"},
        "price": {"type": "number", "minimum": 0, "maximum": 9.5},
        "mood": {"$ref": "#/$defs/Mood", "default": "g"},
        "place": {"$ref": "#/$defs/Place"},
        "scan": {"type": "string", "contentEncoding": "base64", "maxLength": 8},
        "bytes": {"type": "integer", "format": "int64", "default": 3},
        "extra": {},
        "tagCount": {"type": "integer", "format": "int64", "readOnly": true},
        "folder": {"$ref": "#/$defs/ManagedObjectID"},
        "tags": {"description": "In any order.", "type": "array", "items": {"$ref": "#/$defs/ManagedObjectID"},
                 "uniqueItems": true}}}
      """##
    ),
    (
      "Folder",
      ##"""
      {"type": "object", "required": ["objectID", "name", "notes"], "properties": {
        "objectID": {"$ref": "#/$defs/ManagedObjectID"}, "name": {"type": "string"},
        "ratio": {"type": "number", "format": "double"}, "part": {"type": "number", "format": "float"},
        "number": {"type": "integer", "format": "int32"}, "key": {"type": "string", "format": "uuid"},
        "site": {"type": "string", "format": "uri-reference"},
        "notes": {"type": "array", "items": {"$ref": "#/$defs/ManagedObjectID"}, "uniqueItems": true}}}
      """##
    ),
  ]

  private func object(_ text: String) throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
  }

  @Test func theSchemaHasBoundsPatternsAndEnums() throws {
    let result = try BuiltTool.cdgen.run("json-schema", "--data", "Data.cdmodel", in: folder.url)
    #expect(result.status == 0 && result.errors == "")
    let schema = try object(result.output)
    #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
    #expect(
      (schema["anyOf"] as? [[String: String]])?.map { $0["$ref"] } == ["#/$defs/Note", "#/$defs/Folder"])
    let definitions = try #require(schema["$defs"] as? NSDictionary)
    #expect(definitions.count == Self.expected.count)
    for (name, json) in Self.expected {
      let found = definitions[name] as? NSDictionary
      #expect(try found == object(json), "\(name)")
    }
    // No key is there twice, which a reader would not notice.
    #expect(result.output.components(separatedBy: "\"minimum\": ").count == 3)
  }

  /// The attributes of the entity `E` of another model, which has the given attributes.
  private func properties(_ attributes: String, _ more: String = "") throws -> NSDictionary {
    try SampleModel.make(
      "Other", in: folder, version: more + "entities:\n  E:\n    attributes:\n" + attributes)
    let result = try BuiltTool.cdgen.run("json-schema", "--data", "Other.cdmodel", in: folder.url)
    #expect(result.status == 0 && result.errors == "", "\(result)")
    let entity = try (object(result.output)["$defs"] as? NSDictionary)?["E"] as? NSDictionary
    return try #require(entity?["properties"] as? NSDictionary)
  }

  /// `JSONEncoder` writes 0.1 for such a value, and not the Double 0.10000000149.
  @Test func aFloatIsWrittenAsInSnapshots() throws {
    let found = try properties(
      """
            part: { type: Float, min: 0.1, max: 0.3, default: 0.2 }
            size: { type: Size, default: { width: 0.7 } }

      """, "composites: { Size: { width: Float } }\n")
    let part = try #require(found["part"] as? NSDictionary)
    #expect(part["minimum"] as? Double == 0.1 && part["maximum"] as? Double == 0.3)
    #expect(part["default"] as? Double == 0.2)
    let size = (found["size"] as? NSDictionary)?["default"] as? NSDictionary
    #expect(size?["width"] as? Double == 0.7)
  }

  /// JavaScript reads patterns with the flag `u`, which allows no escape without a meaning.
  @Test func aPatternThatOtherDialectsRefuseIsADescription() throws {
    let found = try properties(
      #"""
            a: { type: String, pattern: '[0-9]{3}\-[0-9]{4}' }
            b: { type: String, pattern: '[^@]+\@[^@]+' }
            c: { type: String, pattern: '[a-z[A-Z]]+' }
            d: { type: String, pattern: 'a]' }
            e: { type: String, pattern: '\v' }
            k: { type: String, pattern: '[0-9\-\]]{3}/\$(a|b){1,}\.\/' }

      """#)
    for name in ["a", "b", "c", "d", "e"] {
      let attribute = try #require(found[name] as? NSDictionary)
      #expect(attribute["pattern"] == nil, "\(name)")
      let description = attribute["description"] as? String
      #expect(description?.hasPrefix("Matches the regular expression ") == true, "\(name)")
    }
    #expect(
      (found["k"] as? NSDictionary)?["pattern"] as? String
        == #"^(?:[0-9\-\]]{3}/\$(a|b){1,}\.\/)$"#)
  }

  @Test func openAPIHasTheSameSchemas() throws {
    let result = try BuiltTool.cdgen.run("openapi", "Data.cdmodel", in: folder.url)
    #expect(result.status == 0 && result.errors == "")
    let document = try object(result.output)
    #expect(document["openapi"] as? String == "3.1.0" && (document["paths"] as? NSDictionary)?.count == 0)
    #expect(document["info"] as? [String: String] == ["title": "Data", "version": "1"])
    let schemas = try #require((document["components"] as? NSDictionary)?["schemas"] as? NSDictionary)
    for (name, json) in Self.expected {
      let found = schemas[name] as? NSDictionary
      #expect(
        try found == object(json.replacing("#/$defs/", with: "#/components/schemas/")), "\(name)")
    }
  }

  @Test func nestedSnapshotsCanBeEither() throws {
    try folder.write(SampleModel.head + "snapshots: nested\n", to: "Data.cdmodel/model.yaml")
    let schema = try object(
      BuiltTool.cdgen.run("json-schema", "--data", "Data.cdmodel", in: folder.url).output)
    let note = (schema["$defs"] as? NSDictionary)?["Note"] as? NSDictionary
    let found = (note?["properties"] as? NSDictionary)?["folder"] as? NSDictionary
    #expect(
      try found == object(##"{"anyOf": [{"$ref": "#/$defs/ManagedObjectID"}, {"$ref": "#/$defs/Folder"}]}"##))
  }

  @Test func theAppsFormOfDatesIsDescribed() throws {
    let result = try BuiltTool.cdgen.run(
      "openapi", "Data.cdmodel", "--dates", "iso8601", "--version", "1", in: folder.url)
    let schemas = (try object(result.output)["components"] as? NSDictionary)?["schemas"] as? NSDictionary
    let made = ((schemas?["Base"] as? NSDictionary)?["properties"] as? NSDictionary)?["made"] as? NSDictionary
    #expect(made == ["type": "string", "format": "date-time"])
    #expect(try BuiltTool.cdgen.run("json-schema", "--dates", "iso8601", in: folder.url).status == 64)
    #expect(
      try BuiltTool.cdgen.run("openapi", "Data.cdmodel", "--version", "7", in: folder.url)
        == .init(status: 1, output: "", errors: "Data.cdmodel: error: the model has no version 7; it has 1\n")
    )
  }
}
