import CDSchema
import Foundation
import Testing

/// The JSON Schema against what the loader takes and refuses, judged by Python's `jsonschema`.
@Suite(
  "JSON Schema", .enabled(if: PythonValidator.isAvailable, "python3 lacks jsonschema, or PyYAML with libyaml")
)
struct JSONSchemaTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  @Test("the example models fit")
  func examples() throws {
    var files: [URL] = []
    for name in ["ToDo", "Library", "Music"] {
      let folder = Self.root.appending(path: "Schemas/\(name).cdmodel")
      for file in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      where file == "model.yaml" || VersionFile.number(in: file) != nil {
        files.append(folder.appending(path: file))
      }
    }
    #expect(files.count == 7)
    let answers = try PythonValidator.validate(files)
    #expect(answers == Array(repeating: "fits", count: files.count))
  }

  @Test("the valid cases and the template fit")
  func cases() throws {
    var files: [URL] = []
    for folder in CaseFolder.all where folder.name.hasPrefix("valid") {
      for name in try folder.files().keys.sorted()
      where name == "model.yaml" || VersionFile.number(in: name) != nil {
        files.append(folder.url.appending(path: name))
      }
    }
    #expect(files.count > 8)
    let answers = try PythonValidator.validate(files)
    #expect(answers.count == files.count)
    #expect(zip(files, answers).filter { $0.1 != "fits" }.map { "\($0.0.path): \($0.1)" } == [])
    let template = ModelTemplate.files(name: "Notes", id: UUID())
    #expect(try PythonValidator.validate(texts: template.values.sorted()) == ["fits", "fits"])
  }

  private static let brokenFiles = [
    "entities: { Book: { atributes: { title: String } } }",
    "entities: { Book: { attributes: { title: { type: String, optional: true } } } }",
    "entities: { Book: { attributes: { title: { codec: 2 } } } }",
    "entities: { Book: { attributes: { title: { type: String, codable: A } } } }",
    "entities: { Book: { attributes: { title: [String] } } }",
    "entities: { Book: { attributes: { title: { type: Data, external: 1 } } } }",
    "entities: { Book: { attributes: { _title: String } } }",
    "entities: { Book: { abstract: sometimes } }",
    "entities: { Book: { relationships: { a: Book } } }",
    "entities: { Book: { relationships: { a: { inverse: none } } } }",
    "entities: { Book: { relationships: { a: { to: [Book, Book], inverse: none } } } }",
    "entities: { Book: { relationships: { a: { to: Book, onDelete: explode } } } }",
    "entities: { Book: { relationships: { a: { to: [Book], count: many } } } }",
    "entities: { Book: { indexes: [title] } }",
    "entities: { Book: { unique: [[]] } }",
    "entities: { Book: { fetches: { all: { order: [title] } } } }",
    "entities: { Book: { fetched: { all: { where: a == b } } } }",
    "entities: [Book]",
    "enums: { A: { type: Float, cases: { a: 1 } } }\nentities: {}",
    "enums: { A: { type: Int16, cases: [a] } }\nentities: {}",
    "enums: { A: { type: Int16, cases: {} } }\nentities: {}",
    "enums: { A: { type: Int16 } }\nentities: {}",
    "composites: { A: {} }\nentities: {}",
    "configurations: { A: Book }\nentities: {}",
    "basedOn: 0\nentities: {}",
    "basedOn: []\nentities: {}",
    "label: x",
    "id: 1234",
    "current: 1",
    "id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\nimports: Foundation",
    "id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\nname: x",
  ]

  /// What the validator says of each of them; one run for all, since its start takes longer than its work.
  private static let answers = Result { try PythonValidator.validateEach(brokenFiles) }

  @Test("broken files are refused", arguments: brokenFiles)
  func broken(_ text: String) throws {
    let answer = try #require(try Self.answers.get()[text])
    #expect(answer != "fits")
    // What the schema refuses, the loader refuses as well.
    let isModelFile = text.hasPrefix("id") || text.hasPrefix("current")
    let good = "entities: { Book: { attributes: { title: String } } }"
    let loaded = isModelFile ? load(version: good, id: text) : load(version: text)
    #expect(loaded.model == nil)
  }
}

extension JSONSchemaTests {
  @Test("mappings that are right fit")
  func mappings() throws {
    let names = [
      "mapping-whole", "mapping-inherited-rules", "step-relationships-mapped", "step-unique",
      "step-composites-mapped", "step-enums-mapped", "valid-several-versions",
    ]
    let texts = try names.map { name in
      let file = name.hasPrefix("valid") ? "1-3.mapping.yaml" : "1-2.mapping.yaml"
      return try String(contentsOf: CaseFolder.root.appending(path: "\(name)/\(file)"), encoding: .utf8)
    }
    let answers = try PythonValidator.validate(texts: texts, definition: "mapping")
    #expect(answers == texts.map { _ in "fits" })
  }

  private static let brokenMappings = [
    "entities: { Book: { from: Volume, policy: automatic } }",
    "entities: { Book: { from: Volume, where: [a] } }", "entities: { Book: { fom: Volume } }",
    "onDuplicate: { Book: { isbn: keepAll } }", "entities: { Book: [] }", "drop: Book",
    "entities: { Book: { attributes: { a.b.c: a } } }", "entites: {}",
  ]

  private static let mappingAnswers = Result {
    try PythonValidator.validateEach(brokenMappings, definition: "mapping")
  }

  @Test("broken mappings are refused", arguments: brokenMappings)
  func brokenMapping(_ text: String) throws {
    let answer = try #require(try Self.mappingAnswers.get()[text])
    #expect(answer != "fits")
    let good = "entities: { Book: { attributes: { title: String } } }"
    let files = [
      "model.yaml": "id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11", "1.yaml": good, "2.yaml": good,
      "1-2.mapping.yaml": text,
    ]
    #expect(ModelLoader.load(name: "Case", files: files.mapValues { Array($0.utf8) }).model == nil)
  }
}

/// Python's `jsonschema`, with YAML read as editors read it: by the core schema of YAML 1.2.
enum PythonValidator {
  static let isAvailable: Bool =
    (try? run("import jsonschema, yaml; yaml.CSafeLoader; print('yes')", [])) == "yes\n"

  static func validate(_ files: [URL]) throws -> [String] {
    try validate(texts: files.map { try String(contentsOf: $0, encoding: .utf8) })
  }

  /// - Parameter definition: The part of the schema to validate with; the whole if not said.
  static func validate(texts: [String], definition: String? = nil) throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = folder.appending(path: "schema.json")
    try JSONSchema.text.write(to: schema, atomically: true, encoding: .utf8)
    var paths = [schema.path, definition ?? ""]
    for (number, text) in texts.enumerated() {
      let file = folder.appending(path: "\(number)")
      try text.write(to: file, atomically: true, encoding: .utf8)
      paths.append(file.path)
    }
    return try run(script, paths).split(separator: "\n").map(String.init)
  }

  /// The answers by the texts.
  static func validateEach(_ texts: [String], definition: String? = nil) throws -> [String: String] {
    let answers = try validate(texts: texts, definition: definition)
    guard answers.count == texts.count else { return [:] }
    return Dictionary(zip(texts, answers), uniquingKeysWith: { first, _ in first })
  }

  private static func run(_ script: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  private static let script = #"""
    import json, re, sys, yaml, jsonschema
    class Core(yaml.CSafeLoader): pass
    Core.yaml_implicit_resolvers = {}
    for tag, pattern, first in [
        ('bool', r'^(?:true|True|TRUE|false|False|FALSE)$', 'tTfF'),
        ('int', r'^[-+]?[0-9]+$', '-+0123456789'),
        ('float', r'^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$', '-+.0123456789'),
        ('null', r'^(?:~|null|Null|NULL|)$', ['~', 'n', 'N', ''])]:
        Core.add_implicit_resolver('tag:yaml.org,2002:' + tag, re.compile(pattern), list(first))
    # Editors take every key for a text.
    def mapping(loader, node, deep=False):
        return {k.value: loader.construct_object(v, deep=True) for k, v in node.value}
    Core.add_constructor('tag:yaml.org,2002:map', mapping)
    schema = json.load(open(sys.argv[1]))
    jsonschema.Draft202012Validator.check_schema(schema)
    if sys.argv[2]:
        schema = {'$defs': schema['$defs'], '$ref': '#/$defs/' + sys.argv[2]}
    validator = jsonschema.Draft202012Validator(schema)
    for path in sys.argv[3:]:
        value = yaml.load(open(path, encoding='utf-8'), Loader=Core)
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        print('fits' if error is None else ' '.join(error.message.split())[:300])
    """#
}
