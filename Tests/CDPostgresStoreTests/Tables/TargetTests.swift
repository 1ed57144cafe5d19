import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime
@testable import CDSchema

/// Compares the reports of `cdgen check --target postgresql` about models with the answers of a server.
@Suite struct TargetTests {
  private static let sources = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The folders of models in the project.
  static let folders: [String] = {
    ["Tests/CDSchemaTests/Cases", "Schemas"].flatMap { parent in
      let path = sources.appending(path: parent).path
      let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
      return names.sorted().map { "\(parent)/\($0)" }
    }
  }()

  private static func load(_ path: String) throws -> LoadedModel {
    let folder = sources.appending(path: path)
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasSuffix(".yaml") {
      files[name] = [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }
    return ModelLoader.load(name: "Case", files: files)
  }

  private static func load(version: String) throws -> LoadedModel {
    let head = "id: 5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\n"
    let loaded = ModelLoader.load(
      name: "Case", files: ["model.yaml": Array(head.utf8), "1.yaml": Array(version.utf8)])
    #expect(loaded.diagnostics.filter { $0.severity == .error } == [])
    return loaded
  }

  private static func errors(_ loaded: LoadedModel) -> [String] {
    loaded.problems(for: .postgresql).filter { $0.severity == .error }.map(\.message)
  }

  // MARK: Tables

  @Test(arguments: folders) func theTablesAreThoseOfTheEngine(_ path: String) throws {
    guard let model = try Self.load(path).unprovenModel else { return }
    for version in model.versions {
      let single = ManagedObjectModel(
        name: "Case", id: model.id, versions: [version], currentVersionNumber: version.number)
      guard let plan = try? ModelPlan(single) else { continue }
      let expected = SQLSchema(plan, store: 0, PostgresDialect()).layouts
      let found = ServerTable.all(of: EntityGraph(version))
      #expect(found.map(\.name) == expected.map(\.name))
      for (table, layout) in zip(found, expected) {
        #expect(table.columns.map(\.name) == layout.columns.map(\.name))
        for (column, other) in zip(table.columns, layout.columns) {
          let width =
            switch column.content {
            case .number: ["bigint", "double precision"]
            case .bool: ["boolean"]
            case .uuid: ["uuid"]
            case .varying: [#"text COLLATE "C""#, "bytea", "numeric"]
            }
          #expect(width.contains(other.type), "\(table.name) \(column.name)")
          if other.isNotNull { #expect(column.isMandatory) }
        }
      }
    }
  }

  @Test func thereAreModelsWithTables() throws {
    let models = try Self.folders.compactMap { try Self.load($0).unprovenModel }
    #expect(models.count > 40)
  }

  // MARK: Limits

  /// A model with many attributes of one entity.
  private static func wide(_ count: Int, _ type: String) -> String {
    let attributes = (1...count).map { "      a\($0): \(type)\n" }.joined()
    return "entities:\n  Wide:\n    attributes:\n" + attributes
  }

  private static func open(_ loaded: LoadedModel) throws -> (PersistentStoreCoordinator, PostgresServer) {
    let server = try TestServer.server()
    let model = try #require(loaded.model)
    return (try PersistentStoreCoordinator(model: model, at: .server(server)), server)
  }

  private static func drop(_ server: PostgresServer) throws {
    let connection = try PostgresConnection.open(server, toWrite: true)
    defer { connection.close() }
    try connection.run("SET client_min_messages = warning")
    try connection.run("DROP SCHEMA IF EXISTS \(SQLText.quoted(server.schema)) CASCADE")
  }

  /// The server, or the engine, refuses the store of each model with an error, and accepts each other one.
  @Test(.needsServer, arguments: folders.filter { $0.contains("/target-") } + ["Schemas/ToDo.cdmodel"])
  func whatIsAnErrorIsRefused(_ path: String) throws {
    let loaded = try Self.load(path)
    let problems = Self.errors(loaded).filter { $0.contains("the store cannot be created") }
    do {
      let (_, server) = try Self.open(loaded)
      try Self.drop(server)
      #expect(problems == [])
    } catch {
      #expect(problems != [], "\(error)")
    }
  }

  /// Each error by itself: a model that has only this one.
  @Test(
    .needsServer,
    arguments: [
      "entities: { Book: { attributes: { xmin: Int64 } } }",
      "entities: { Book: { relationships: { ctid: { to: Book?, inverse: none } } } }",
      "entities: { Shelf: { attributes: { name: String } }, Shelf_pkey: { attributes: { name: String } } }",
      "entities: { Book: { attributes: { \(String(repeating: "b", count: 64)): Bool } } }",
      "entities: { \(String(repeating: "B", count: 64)): { attributes: { a: Bool } } }",
      "entities: { B: { attributes: { a: Bool }, relationships: { \(String(repeating: "r", count: 62)): "
        + "{ to: [B], inverse: none } } } }",
      wide(1599, "Int64?"),
      wide(33, "Int64") + "    indexes: [[\((1...33).map { "a\($0)" }.joined(separator: ", "))]]\n",
    ])
  func oneErrorIsEnough(_ version: String) throws {
    let loaded = try Self.load(version: version)
    #expect(Self.errors(loaded).count == 1)
    #expect(throws: (any Error).self) { try Self.open(loaded) }
  }

  @Test(
    .needsServer,
    arguments: [
      "entities: { Book: { attributes: { oid: Int64, Xmin: Int64 } } }",
      "entities: { Row_pkey: { attributes: { name: String } }, Row: { attributes: { name: String } } }",
      "entities: { Book: { attributes: { \(String(repeating: "b", count: 63)): Bool } } }",
      "entities: { B: { attributes: { a: Bool }, relationships: { \(String(repeating: "r", count: 61)): "
        + "{ to: [B], inverse: none } } } }",
      wide(1598, "Int64?"),
      wide(32, "Int64") + "    indexes: [[\((1...32).map { "a\($0)" }.joined(separator: ", "))]]\n",
    ])
  func whatJustFitsIsAccepted(_ version: String) throws {
    let loaded = try Self.load(version: version)
    #expect(Self.errors(loaded) == [])
    let (_, server) = try Self.open(loaded)
    try Self.drop(server)
  }

  private static func save(
    _ loaded: LoadedModel, _ set: (ManagedObject) throws -> Void = { _ in }
  ) throws {
    let (coordinator, server) = try open(loaded)
    defer { #expect(throws: Never.self) { try drop(server) } }
    let context = PersistentContainer(coordinator).newContext()
    try set(try context.insert(entityNamed: "Wide"))
    try context.save()
  }

  /// The greatest row fits, and one that is a column wider does not.
  @Test(.needsServer) func theSizeOfARowIsExact() throws {
    let fits = try Self.load(version: Self.wide(1015, "{ type: Int64, default: 1 }"))
    #expect(Self.errors(fits) == [])
    try Self.save(fits)
    let tooWide = try Self.load(version: Self.wide(1016, "{ type: Int64, default: 1 }"))
    #expect(Self.errors(tooWide).count == 1)
    #expect(throws: StoreError.self) { try Self.save(tooWide) }
  }

  /// Texts of 23 letters are too short to be kept elsewhere.
  @Test(.needsServer) func theSizeOfAFullRowIsExact() throws {
    let text = String(repeating: "x", count: 23)
    for (count, fits) in [(338, true), (339, false)] {
      let loaded = try Self.load(version: Self.wide(count, "String?"))
      #expect(loaded.problems(for: .postgresql).map(\.severity) == (fits ? [] : [.warning]))
      func fill(_ object: ManagedObject) throws {
        for number in 1...count { try object.setValue(text, forKey: "a\(number)") }
      }
      if fits {
        try Self.save(loaded, fill)
      } else {
        #expect(throws: StoreError.self) { try Self.save(loaded, fill) }
        // An object with few values is saved.
        try Self.save(loaded) { try $0.setValue(text, forKey: "a1") }
      }
    }
  }

  /// Random letters, which no compression makes shorter.
  private static func randomText(_ count: Int) -> String {
    var text = ""
    for _ in 0..<count {
      text.unicodeScalars.append(Unicode.Scalar(UInt8.random(in: 33..<127)))
    }
    return text
  }

  @Test(.needsServer) func longValuesOfIndexesAreRefused() throws {
    func model(_ type: String) throws -> LoadedModel {
      try Self.load(version: "entities: { Wide: { attributes: { a: \(type) }, unique: [[a]] } }")
    }
    let unlimited = try model("String")
    #expect(unlimited.problems(for: .postgresql).map(\.severity) == [.warning])
    #expect(throws: StoreError.self) {
      try Self.save(unlimited) { try $0.setValue(Self.randomText(9000), forKey: "a") }
    }
    let limited = try model("{ type: String, maxLength: 2600 }")
    #expect(limited.problems(for: .postgresql) == [])
    try Self.save(limited) { try $0.setValue(Self.randomText(2600), forKey: "a") }
  }

  @Test(.needsServer) func aDefaultWithAZeroCannotBeSaved() throws {
    let loaded = try Self.load(
      version: #"entities: { Wide: { attributes: { a: { type: String, default: "a\0b" } } } }"#)
    #expect(Self.errors(loaded).count == 1)
    #expect(throws: (any Error).self) { try Self.save(loaded) }
    try Self.save(loaded) { try $0.setValue("ab", forKey: "a") }
  }

  /// PostgreSQL checks the references at the end of a save.
  @Test(.needsServer) func mandatoryCirclesAreSaved() throws {
    let loaded = try Self.load(
      version: """
        entities:
          Wide: { relationships: { other: { to: Other, inverse: none } } }
          Other: { relationships: { wide: { to: Wide, inverse: none } } }
        """)
    #expect(loaded.problems(for: .postgresql) == [])
    #expect(loaded.problems(for: .cockroachdb).filter { $0.severity == .warning }.count == 2)
    try Self.save(loaded) { wide in
      let other = try #require(wide.managedObjectContext).insert(entityNamed: "Other")
      try wide.setValue(other, forKey: "other")
      try other.setValue(wide, forKey: "wide")
    }
  }
}
