import Foundation
import Testing

/// A model with custom steps whose container is opened without the app's own code does not compile, and the message
/// says what to write.
@Suite struct MissingMigrationsTests {
  private static let prelude = """
    @_spi(Generated) import CDRuntime
    import Foundation

    enum Plain: GeneratedModel {
      static var _definition: ModelDefinition {
        ModelDefinition(format: GeneratedCodeFormat1.self, classes: [:], canonicalJSON: "")
      }
    }
    protocol Migrations {}
    struct AppMigrations: Migrations {}
    enum Custom: CustomMigratingModel {
      typealias CustomMigrations = any Migrations
      static var _definition: ModelDefinition {
        ModelDefinition(format: GeneratedCodeFormat1.self, classes: [:], canonicalJSON: "")
      }
      static func _migrationPolicies(_ make: @escaping @Sendable () -> any Migrations) -> MigrationPolicies {
        MigrationPolicies()
      }
    }
    func open(_ url: URL) throws {
      let stores = [PersistentStoreDescription(.sqlite(url))]

    """

  private func errors(_ lines: [String]) throws -> [String] {
    let file = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString).swift")
    defer { try? FileManager.default.removeItem(at: file) }
    let body = lines.map { "  _ = try \($0)\n" }.joined()
    try (Self.prelude + body + "  _ = stores\n}\n").write(to: file, atomically: true, encoding: .utf8)
    return try SwiftCompiler().check([file]).errors
  }

  @Test func containersOfPlainModelsAndOfGivenMigrationsCompile() throws {
    let errors = try errors([
      "PersistentContainer(for: Plain.self, at: url)", "PersistentContainer(for: Plain.self)",
      "PersistentContainer(for: [Plain.self, Plain.self], stores: stores)",
      "PersistentContainer(for: Plain.self, at: .inMemory)",
      "PersistentContainer(for: Plain.self, at: .xml(url))",
      "PersistentContainer(for: Custom.self, migrations: { AppMigrations() }, at: url)",
      "PersistentContainer(for: Custom.self, migrations: { AppMigrations() }, at: .inMemory)",
      "PersistentContainer(for: Custom.self, migrations: { AppMigrations() })",
      "PersistentContainer(for: Custom.self, migrations: { AppMigrations() }, stores: stores)",
      "PersistentContainer(for: [ModelWithMigrations(Plain.self), ModelWithMigrations(Custom.self) { AppMigrations() }], stores: stores)",
      "PersistentContainer(inMemoryFor: Custom.self)",
      "PersistentStoreCoordinator(for: Custom.self, migrations: { AppMigrations() }, at: .sqlite(url))",
    ])
    #expect(errors == [])
  }

  @Test(arguments: [
    ("PersistentContainer(for: Custom.self, at: url)", "init(for:at:)"),
    ("PersistentContainer(for: Custom.self, at: .inMemory)", "init(for:at:)"),
    ("PersistentContainer(for: Custom.self)", "init(for:app:)"),
    ("PersistentContainer(for: Custom.self, stores: stores)", "init(for:stores:)"),
    ("PersistentStoreCoordinator(for: Custom.self, at: .inMemory)", "init(for:at:)"),
    ("PersistentStoreCoordinator(for: Custom.self, stores: stores)", "init(for:stores:)"),
  ]) func aContainerWithoutMigrationsDoesNot(_ line: String, _ name: String) throws {
    #expect(
      try errors([line]) == [
        "'\(name)' is unavailable: the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
      ])
  }

  @Test(arguments: ["PersistentContainer", "PersistentStoreCoordinator"])
  func listsOfModelsWithoutMigrationsDoNot(_ type: String) throws {
    #expect(
      try errors(["\(type)(for: [Plain.self, Custom.self], stores: stores)"]) == [
        "'init(for:stores:)' is unavailable: one of the models has custom migration steps: pass a list of 'ModelWithMigrations'"
      ])
  }
}
