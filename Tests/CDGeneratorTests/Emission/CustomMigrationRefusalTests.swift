import Foundation
import Testing

/// What keeps an app from shipping a migration that is not whole: the compiler's words for each omission.
@Suite(.serialized) struct CustomMigrationRefusalTests {
  static let conformance = """
    struct AppMigrations: CustomMigrationModel.Migrations {
      func makeErrand(
        from source: CustomMigrationModel.Version1.Errand, in manager: MigrationManager
      ) throws -> CustomMigrationModel.NewVersion2.Errand? { nil }
    }

    """

  static let mistakes = [
    RefusalTests.Mistake(
      "a requirement that is missing",
      "struct AppMigrations: CustomMigrationModel.Migrations {}",
      "type 'AppMigrations' does not conform to protocol 'CustomMigrationModel.Migrations'"),
    RefusalTests.Mistake(
      "a container without migrations",
      "func f() throws { _ = try PersistentContainer(for: CustomMigrationModel.self, at: URL(filePath: \"/\")) }",
      "'init(for:at:)' is unavailable: the model has custom migration steps: pass 'migrations: { … }' with a type "
        + "that implements them"),
    RefusalTests.Mistake(
      "a container of an app without migrations",
      "func f() throws { _ = try PersistentContainer(for: CustomMigrationModel.self) }",
      "'init(for:app:)' is unavailable: the model has custom migration steps: pass 'migrations: { … }' with a type "
        + "that implements them"),
    RefusalTests.Mistake(
      "migrations that are none",
      """
      struct Other {}
      func f() throws {
        _ = try PersistentContainer(
          for: CustomMigrationModel.self, migrations: { Other() }, at: URL(filePath: "/"))
      }
      """,
      "cannot convert value of type 'Other' to closure result type 'CustomMigrationModel.CustomMigrations' (aka "
        + "'any CustomMigrationModel.Migrations')"),
    RefusalTests.Mistake(
      "a mandatory attribute that only the app knows left out",
      """
      func f(_ source: CustomMigrationModel.Version1.Errand, _ manager: MigrationManager) throws {
        _ = try CustomMigrationModel.NewVersion2.Errand(
          from: source, minutes: 1, spot: nil, home: .init(street: "", zip: ""), owner: nil, in: manager)
      }
      """, "missing argument for parameter 'slug' in call"),
    RefusalTests.Mistake(
      "a relationship that only the app knows left out",
      """
      func f(_ source: CustomMigrationModel.Version1.Errand, _ manager: MigrationManager) throws {
        _ = try CustomMigrationModel.NewVersion2.Errand(
          from: source, minutes: 1, slug: "", spot: nil, home: .init(street: "", zip: ""), in: manager)
      }
      """, "missing argument for parameter 'owner' in call"),
    RefusalTests.Mistake(
      "a snapshot that is written",
      "func f(_ source: CustomMigrationModel.Version1.Errand) { source.name = \"\" }",
      "cannot assign to property: 'name' is a get-only property"),
    RefusalTests.Mistake(
      "a property that the old version had not",
      "func f(_ source: CustomMigrationModel.Version1.Errand) -> String { source.slug }",
      "value of type 'CustomMigrationModel.Version1.Errand' has no member 'slug'"),
    RefusalTests.Mistake(
      "a new object related to an old one",
      """
      func f(_ made: CustomMigrationModel.NewVersion2.Errand, _ source: CustomMigrationModel.Version1.Errand) {
        made.next = source
      }
      """,
      "cannot assign value of type 'CustomMigrationModel.Version1.Errand' to type "
        + "'CustomMigrationModel.NewVersion2.Errand'"),
    RefusalTests.Mistake(
      "a snapshot that goes to another task",
      "func f(_ source: CustomMigrationModel.Version1.Errand) { Task.detached { print(source.name) } }",
      "passing closure as a 'sending' parameter risks causing data races between code in the current task "
        + "and concurrent execution of the closure"),
  ]

  private static let refusals = Refusals(
    of: mistakes, beside: "CustomMigration", imports: ["CDRuntime", "Foundation"])

  @Test(arguments: mistakes)
  func doesNotCompile(_ mistake: RefusalTests.Mistake) throws {
    #expect(try Self.refusals.errors(of: mistake) == mistake.errors)
  }

  @Test(arguments: [[], ["-default-isolation", "MainActor"]])
  func aConformanceInAnotherModuleCompiles(options: [String]) throws {
    try SourceFolder.with { folder in
      let compiler = try SwiftCompiler()
      let emitted = try compiler.emitModule(
        try ReferenceCase(name: "CustomMigration").expectedFiles, module: "Errands", to: folder.url, options)
      #expect(emitted.isSuccess, "\(emitted.messages)")
      let user = try folder.write(
        """
        import CDRuntime
        import Errands
        import Foundation

        nonisolated
        """ + " " + Self.conformance + """
          nonisolated func open(_ url: URL) throws -> PersistentContainer {
            try PersistentContainer(for: CustomMigrationModel.self, migrations: { AppMigrations() }, at: url)
          }

          """, "Use.swift")
      let used = try compiler.check([user], module: "Use", ["-I", folder.url.path] + options)
      #expect(used.isSuccess, "\(used.messages)")
    }
  }
}
