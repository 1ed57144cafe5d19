import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The opening of stores.
@Suite(.needsServer) struct OpeningTests {
  private static func model(_ change: (inout ModelVersion) -> Void) -> ManagedObjectModel {
    var version = ServerStore.version
    version.number = 2
    version.basedOn = [1]
    change(&version)
    return ManagedObjectModel(
      name: ServerStore.model.name, id: ServerStore.model.id, versions: [ServerStore.version, version],
      currentVersionNumber: 2)
  }

  @Test func anOlderVersionIsRefusedWithoutAutomaticMigration() throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let model = Self.model {
      $0.entities[0].attributes.append(AttributeDescription(name: "place", type: .string, isOptional: true))
    }
    var description = PersistentStoreDescription(.server(store.server))
    description.migratesStoreAutomatically = false
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: model, stores: [description])
    }
    guard case .needsMigration(_, "Shelves", 1, 2)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    _ = try store.coordinator()
  }

  /// PostgreSQL would cut the name, and the store would not be found again.
  @Test func aSchemaWithALongNameIsRefused() throws {
    let store = try ServerStore { $0.schema += String(repeating: "é", count: 12) }
    #expect(store.server.schema.utf8.count == 65)
    func refusal(_ body: () throws -> Void) -> String {
      do { try body() } catch StoreError.notSupported(let feature) { return feature } catch {
        Issue.record(error)
      }
      return ""
    }
    let location = StoreLocation.server(store.server)
    let (opening, removal) = (
      refusal { _ = try store.coordinator() },
      refusal { try PersistentStoreCoordinator.destroyPersistentStore(at: location) }
    )
    #expect(opening.contains("63 bytes") && removal == opening)
    let found = try store.sql(
      "SELECT 1 FROM pg_namespace WHERE starts_with(CAST(nspname AS text), ?)",
      [.value(.string(String(store.server.schema.prefix(40))))])
    #expect(found.rowCount == 0)
  }

  /// A model made in Swift can have an integer as the default of another number.
  @Test func anIntegerIsTheDefaultOfOtherNumbers() throws {
    let store = try ServerStore()
    let model = Self.model {
      $0.entities[0].attributes += [
        AttributeDescription(name: "rating", type: .double, defaultValue: .value(.int(1))),
        AttributeDescription(name: "scale", type: .float, defaultValue: .value(.int(2))),
        AttributeDescription(name: "amount", type: .decimal, defaultValue: .value(.int(3))),
      ]
    }
    let coordinator = try PersistentStoreCoordinator(model: model, at: .server(store.server))
    let context = PersistentContainer(coordinator).newContext()
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("a", forKey: "name")
    #expect(try shelf.value(forKey: "rating") == .attribute(.double(1)))
    try context.save()
    let request = BatchInsertRequest<ManagedObject>(
      entityName: "Shelf", rows: [["name": .attribute(.string("b"))]])
    _ = try context.execute(request)
    let found = try store.sql(
      "SELECT count(*) FROM \(store.table("Shelf")) WHERE rating = 1 AND scale = 2 AND amount = 3")
    #expect(found.int(0, 0) == 2)
  }

  @Test func aDefaultOfAnotherTypeIsRefused() throws {
    let store = try ServerStore()
    let model = Self.model {
      $0.entities[0].attributes.append(
        AttributeDescription(name: "rank", type: .int64, defaultValue: .value(.double(1.5))))
    }
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: model, at: .server(store.server))
    }
    guard case .notSupported(let feature)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(feature.contains("'Shelf.rank'"))
  }

  @Test func indexesAreBroughtUpToDate() throws {
    let store = try ServerStore()
    let context = try store.context()
    try context.addBook("a")
    try context.save()
    let model = Self.model {
      $0.entities[0].uniquenessConstraints = []
      $0.entities[1].indexes = [
        IndexDescription(elements: [SortKey("title"), SortKey("pages", ascending: false)])
      ]
    }
    _ = try PersistentStoreCoordinator(model: model, at: .server(store.server))
    func indexes() throws -> [String] {
      let result = try store.sql(
        "SELECT CAST(indexname AS text) FROM pg_indexes WHERE schemaname = ? AND indexname LIKE '%.%' ORDER BY 1",
        [.value(.string(store.server.schema))])
      return (0..<result.rowCount).compactMap { result.string($0, 0) }
    }
    #expect(try indexes().contains("Book.index.title.-pages"))
    #expect(try !indexes().contains("Shelf.unique.name"))
    // The program of the first version goes on, because the data are the same.
    try context.addBook("b")
    try context.save()
    #expect(try store.count("Book") == 2)
  }

  /// Openings and migrations change the indexes of the store. They leave the indexes of other tables.
  @Test(arguments: [PostgresServer.Features.postgresql, .common])
  func indexesOfOtherTablesStay(features: PostgresServer.Features) throws {
    let indexed = Self.model { $0.entities[1].indexes = [IndexDescription(elements: [SortKey("title")])] }
    for model in [indexed, MovedShelves.model()] {
      let store = try ServerStore { $0.features = features }
      _ = try store.coordinator()
      let schema = SQLText.quoted(store.server.schema)
      try store.sql("CREATE TABLE \(schema).mine (x int)")
      try store.sql("CREATE INDEX mine_x ON \(schema).mine (x)")
      _ = try PersistentStoreCoordinator(model: model, at: .server(store.server))
      let found = try store.sql(
        "SELECT 1 FROM pg_indexes WHERE schemaname = ? AND indexname = 'mine_x'",
        [.value(.string(store.server.schema))])
      #expect(found.rowCount == 1)
    }
  }

  // Passports store the references, so that nothing can violate the list. Earlier releases created the index.
  @Test func theIndexOfAListThatNothingCanViolateIsDropped() throws {
    let store = try ServerStore()
    let entities = [
      EntityDescription(
        name: "Person", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "passport", destination: "Passport", inverse: "person")
        ], uniquenessConstraints: [["name", "passport"]]),
      EntityDescription(
        name: "Passport",
        relationships: [
          RelationshipDescription(
            name: "person", destination: "Person", isOptional: false, inverse: "passport")
        ]),
    ]
    let model = ManagedObjectModel(
      name: "People", id: UUID(), versions: [ModelVersion(number: 1, entities: entities)],
      currentVersionNumber: 1)
    _ = try PersistentStoreCoordinator(model: model, at: .server(store.server))
    let table = SQLText.quoted(store.server.schema) + ".\"Person\""
    try store.sql("CREATE UNIQUE INDEX \"Person.unique.name.passport\" ON \(table) (\"name\")")
    let context = PersistentContainer(
      try PersistentStoreCoordinator(model: model, at: .server(store.server))
    ).newContext()
    for _ in 0..<2 {
      let person = try context.insert(entityNamed: "Person")
      try person.setValue("A", forKey: "name")
    }
    try context.save()
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 2)
  }

  @Test func aReadOnlyStoreIsNotWritten() throws {
    let store = try ServerStore()
    let context = try store.context()
    try context.addBook("a")
    try context.save()
    let description = PersistentStoreDescription(.server(store.server), isReadOnly: true)
    let coordinator = try PersistentStoreCoordinator(model: ServerStore.model, stores: [description])
    let reader = PersistentContainer(coordinator).newContext()
    #expect(try reader.titles() == ["a"])
    #expect(throws: StoreError.self) {
      try reader.addBook("b")
      try reader.save()
    }
    var missing = store.server
    missing.schema += "_missing"
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(
        model: ServerStore.model, stores: [PersistentStoreDescription(.server(missing), isReadOnly: true)])
    }
  }

  /// Two tables may have names that PostgreSQL would cut to the same one.
  @Test func namesThatAreTooLongAreRefused() throws {
    let store = try ServerStore()
    let name = "A" + String(repeating: "b", count: 70)
    let entity = EntityDescription(name: name, attributes: [AttributeDescription(name: "x", type: .string)])
    let model = ManagedObjectModel(
      name: "Long", id: UUID(), versions: [ModelVersion(number: 1, entities: [entity])],
      currentVersionNumber: 1)
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: model, at: .server(store.server))
    }
    guard case .notSupported? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect("\(try #require(error))".contains(name))
  }

  @Test func namesOfIndexesMayBeLong() throws {
    let store = try ServerStore()
    let attributes = (0..<4).map { String(repeating: "ä", count: 25) + "\($0)" }
    let entity = EntityDescription(
      name: "Thing", attributes: attributes.map { AttributeDescription(name: $0, type: .string) },
      uniquenessConstraints: [[attributes[0], attributes[1]], [attributes[0], attributes[2]]])
    let model = ManagedObjectModel(
      name: "Long", id: UUID(), versions: [ModelVersion(number: 1, entities: [entity])],
      currentVersionNumber: 1)
    let context = PersistentContainer(
      try PersistentStoreCoordinator(model: model, at: .server(store.server))
    ).newContext()
    for _ in 0..<2 {
      let thing = try context.insert(entityNamed: "Thing")
      for name in attributes.prefix(3) { try thing.setValue("same", forKey: name) }
      try thing.setValue("\(UUID())", forKey: attributes[3])
    }
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .notUnique(let conflicts)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(
      Set(conflicts.map(\.properties)) == [[attributes[0], attributes[1]], [attributes[0], attributes[2]]])
  }
}
