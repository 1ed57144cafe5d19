import Foundation
import Testing

@_spi(Generated) @testable import CDRuntime

/// What generated code declares for a custom step, written by hand: a model, views of both versions, a requirement.
@Suite(.needs(.migrations)) struct TypedStepTests {
  struct OldNote: EntitySnapshot {
    static let entityName = "Note"
    let _object: ManagedObject
    init(_object: ManagedObject) { self._object = _object }

    var text: String { _object._string(0) }
    var rank: Int64 { _object._int64(1) }
    var category: OldCategory? { _object._related(2).map(OldCategory.init(_object:)) }
  }

  struct OldCategory: EntitySnapshot {
    static let entityName = "Category"
    let _object: ManagedObject
    init(_object: ManagedObject) { self._object = _object }

    var notes: [OldNote] { _object._toMany(1).map(OldNote.init(_object:)) }
  }

  struct NewNote: MigratedEntity {
    static let entityName = "Note"
    let _object: ManagedObject
    init(_object: ManagedObject) { self._object = _object }

    init(from source: OldNote, mark: String, in manager: MigrationManager) throws {
      _object = try manager._make(from: source._object, mapping: "Note")
      _object._set(mark, 2)
    }

    init(inserting text: String, mark: String, in manager: MigrationManager) throws {
      _object = try manager._insert("Note")
      _object._set(text, 0)
      _object._set(0 as Int64, 1)
      _object._set(mark, 2)
    }

    var text: String { _object._string(0) }
    var category: NewCategory? {
      get { _object._related(3).map(NewCategory.init(_object:)) }
      nonmutating set { _object._setToOne(newValue?._object, 3) }
    }
  }

  struct NewCategory: MigratedEntity {
    static let entityName = "Category"
    let _object: ManagedObject
    init(_object: ManagedObject) { self._object = _object }
    var name: String { _object._string(0) }
  }

  protocol Migrations {
    func makeNote(from source: OldNote, in manager: MigrationManager) throws -> NewNote?
  }

  enum NotesModel: CustomMigratingModel {
    typealias CustomMigrations = any Migrations

    static var old: ModelVersion {
      Notes.version(
        1, note: [attribute("text", .string), attribute("rank", .int64)])
    }

    static var versions: [ModelVersion] {
      var new = Notes.version(2)
      new.entities[0].attributes.append(attribute("mark", .string))
      return [old, new]
    }

    static var _definition: ModelDefinition {
      ModelDefinition(
        format: GeneratedCodeFormat1.self, classes: [:],
        canonicalJSON: MigrationFixture.model(
          versions,
          mappings: [Notes.rules([EntityRule(destination: "Note", name: "Note", isCustom: true)])]
        ).canonicalJSON)
    }

    static func _migrationPolicies(
      _ make: @escaping @Sendable () -> any Migrations
    ) -> MigrationPolicies {
      MigrationPolicies(_suite: {
        let migrations = make()
        return [
          MigrationPolicies.Key("Note", from: 1, to: 2): TypedMigrationPolicy(make: { source, manager in
            try migrations.makeNote(from: OldNote(_object: source), in: manager)?.object
          })
        ]
      })
    }
  }

  private struct AppMigrations: Migrations {
    func makeNote(from source: OldNote, in manager: MigrationManager) throws -> NewNote? {
      switch source.rank {
      // Left out, made or not.
      case 0: return nil
      case 1:
        _ = try NewNote(from: source, mark: "never", in: manager)
        return nil
      // A new object in its place, which relationships follow.
      case 2: return try NewNote(inserting: "new", mark: "inserted", in: manager)
      case 5:
        let note = try NewNote(from: source, mark: "related", in: manager)
        let first = try #require(
          try manager.sourceContext.fetch(FetchRequest<ManagedObject>(entityName: "Category")).first)
        note.category = try manager.destination(NewCategory.self, of: OldCategory(_object: first))
        #expect(note.category?.name == "C0")
        return note
      default:
        let siblings = source.category?.notes.map(\.text).joined(separator: "+") ?? ""
        return try NewNote(from: source, mark: siblings, in: manager)
      }
    }
  }

  /// The places of the slots, which the views above have in numbers.
  @Test func slotsAreThoseOfTheViews() throws {
    let coordinator = try PersistentStoreCoordinator(
      model: MigrationFixture.model(NotesModel.versions), at: .inMemory)
    let note = try #require(coordinator.plan.entity("Note"))
    #expect(note.slots.map(\.name) == ["text", "rank", "mark", "category"])
  }

  @Test func aContainerMigratesByTheAppsOwnCode() throws {
    let fixture = try MigrationFixture()
    try fixture.create([NotesModel.old]) { try Notes.fill($0) }
    func container() throws -> PersistentContainer {
      // The file says what it is, unless its format is the app's own, or the store is of another engine.
      guard [.json, .plain, .postgresql].contains(StoreKind.ofEnvironment) else {
        return try PersistentContainer(
          for: NotesModel.self, migrations: { AppMigrations() }, at: fixture.url)
      }
      return try PersistentContainer(
        for: NotesModel.self, migrations: { AppMigrations() },
        stores: [PersistentStoreDescription(fixture.location)])
    }
    #expect(try container().persistentStoreCoordinator.managedObjectModel.currentVersionNumber == 2)
    #expect(
      try fixture.rows("SELECT text, mark, category FROM Note ORDER BY _pk") == [
        ["N3", "N0+N3", "1"], ["N4", "N1+N4", "2"], ["N5", "related", "1"], ["new", "inserted", "3"],
      ])
    // Once it is migrated it opens in the same way, and a store in memory needs no migrations.
    _ = try container()
    _ = try PersistentContainer(inMemoryFor: NotesModel.self)
    #expect(NotesModel.model.currentVersionNumber == 2)
  }

  @Test func oneOfSeveralModelsMayHaveCustomSteps() throws {
    let fixture = try MigrationFixture()
    try fixture.create([NotesModel.old]) { try Notes.fill($0) }
    _ = try PersistentContainer(
      for: [ModelWithMigrations(NotesModel.self, migrations: { AppMigrations() })],
      stores: [PersistentStoreDescription(fixture.location)])
    #expect(try fixture.column("SELECT count(*) FROM Note") == ["4"])
  }

  /// Generated code attaches the hooks of a step to its first and its last custom mapping, whose objects may be in another
  /// store.
  @Test(arguments: ["Items", "Logs"])
  func theHooksOfAStepAreCalledForEachStore(_ configuration: String) throws {
    func version(_ number: Int) -> ModelVersion {
      let text = attribute("text", .string)
      let mark = number > 1 ? [attribute("mark", .string, .string("-"))] : []
      var result = MigrationFixture.version(
        number, [entity("Item", [text] + mark), entity("Log", [text] + mark), entity("Old", [text])])
      result.configurations = [
        ConfigurationDescription(name: "Items", entities: ["Item"]),
        ConfigurationDescription(name: "Logs", entities: ["Log", "Old"]),
      ]
      return result
    }
    let rules = ["Log", "Old"].map { EntityRule(destination: $0, name: $0, isCustom: true) }
    let model = MigrationFixture.model([version(1), version(2)], mappings: [Notes.rules(rules)])
    let isLog = configuration == "Logs"
    let fixture = try MigrationFixture()
    try fixture.using(
      MigrationFixture.model([version(1)]), { $0.configuration = configuration },
      body: { context in
        try context.insert(entityNamed: isLog ? "Log" : "Item").setValue("a", forKey: "text")
      })
    let calls = Log()
    @Sendable func make(_ mapping: String) -> TypedMigrationPolicy.Make {
      { source, manager in
        calls.add("make \(mapping)")
        return try manager._make(from: source, mapping: mapping)
      }
    }
    try fixture.open(model) { description in
      description.configuration = configuration
      description.migrationPolicies["Log", from: 1, to: 2] = {
        TypedMigrationPolicy(make: make("Log"), begin: { _ in calls.add("begin") })
      }
      description.migrationPolicies["Old", from: 1, to: 2] = {
        TypedMigrationPolicy(
          make: make("Old"), end: { _ in calls.add("end") }, validate: { _ in calls.add("validate") })
      }
    }
    #expect(calls.entries == ["begin"] + (isLog ? ["make Log"] : []) + ["end", "validate"])
  }

  @Test func policiesAreComparedAsCopies() {
    var policies = MigrationPolicies()
    #expect(policies == MigrationPolicies())
    policies["A", from: 1, to: 2] = { TestPolicy() }
    let copy = policies
    #expect(policies == copy && policies["A", from: 1, to: 2] != nil && policies["A", from: 2, to: 3] == nil)
    policies["A", from: 1, to: 2] = { TestPolicy() }
    #expect(policies != copy)
    policies["A", from: 1, to: 2] = nil
    #expect(policies == MigrationPolicies())
  }
}
