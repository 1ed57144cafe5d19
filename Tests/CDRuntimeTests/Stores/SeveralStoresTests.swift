import CDRuntime
import Foundation
import Testing

/// One model in two stores: people in one, their notes in the other.
@Suite final class SeveralStoresTests {
  private let folder: URL
  private let people: URL
  private let notes: URL

  private static let model = ManagedObjectModel(
    name: "Diary", id: UUID(uuidString: "5A0C9C0E-6E5C-4E63-9D0F-2D8C8E0B4F21") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Person", attributes: [AttributeDescription(name: "name", type: .string)],
            relationships: [
              RelationshipDescription(name: "notes", destination: "Note", isToMany: true, inverse: "author")
            ], uniquenessConstraints: [["name"]]),
          EntityDescription(
            name: "Note",
            attributes: [
              AttributeDescription(name: "text", type: .string),
              AttributeDescription(name: "scan", type: .data, isOptional: true, storesExternally: true),
            ],
            relationships: [RelationshipDescription(name: "author", destination: "Person", inverse: "notes")]),
          EntityDescription(name: "Draft", attributes: [AttributeDescription(name: "text", type: .string)]),
        ],
        configurations: [
          ConfigurationDescription(name: "People", entities: ["Person"]),
          ConfigurationDescription(name: "Notes", entities: ["Note"]),
          ConfigurationDescription(name: "All", entities: ["Person", "Note", "Draft"]),
        ])
    ], currentVersionNumber: 1)

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    people = folder.appending(path: "people.sqlite")
    notes = folder.appending(path: "it's notes.sqlite")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private var descriptions: [PersistentStoreDescription] {
    [
      PersistentStoreDescription(.sqlite(people), configuration: "People"),
      PersistentStoreDescription(.sqlite(notes), configuration: "Notes"),
    ]
  }

  private func container(_ stores: [PersistentStoreDescription]? = nil) throws -> PersistentContainer {
    PersistentContainer(try PersistentStoreCoordinator(model: Self.model, stores: stores ?? descriptions))
  }

  private func texts(_ format: String, _ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Note", where: FetchPredicate(format: format))
    ).map { try $0.value(forKey: "text") }.compactMap {
      if case .attribute(.string(let text)) = $0 { return text }
      return nil
    }
  }

  private func fill(_ context: ManagedObjectContext) throws -> (ManagedObject, ManagedObject) {
    let grace = try context.insert(entityNamed: "Person")
    try grace.setValue("Grace", forKey: "name")
    let note = try context.insert(entityNamed: "Note")
    try note.setValue("Compile it", forKey: "text")
    try note.setValue(grace, forKey: "author")
    try note.setValue(Data(repeating: 1, count: 100_000), forKey: "scan")
    let other = try context.insert(entityNamed: "Note")
    try other.setValue("Nobody's", forKey: "text")
    return (grace, note)
  }

  @Test func aSaveGoesToBothAndAFetchReadsAcross() throws {
    let context = try container().newContext()
    let (grace, note) = try fill(context)
    try context.save()
    #expect(grace.objectID.storeID != note.objectID.storeID)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: notes.path + "-external").count == 1)

    let fresh = try container().newContext()
    #expect(try texts("author.name == 'Grace'", fresh) == ["Compile it"])
    #expect(try texts("author == nil", fresh) == ["Nobody's"])
    let people = try fresh.fetch(
      FetchRequest<ManagedObject>(
        entityName: "Person", where: FetchPredicate(format: "ANY notes.text CONTAINS 'Compile'")))
    #expect(people.map(\.objectID) == [grace.objectID])
    guard case .objects(let found) = try people[0].value(forKey: "notes") else {
      Issue.record("no objects")
      return
    }
    #expect(found.map(\.objectID) == [note.objectID])
    let uri = note.objectID.uriRepresentation
    let id = try #require(fresh.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri))
    #expect(try fresh.existingObject(with: id) === found[0])
    #expect(try found[0].value(forKey: "scan") == .attribute(.data(Data(repeating: 1, count: 100_000))))
  }

  @Test func aDeletionClearsReferencesFromTheOtherStore() throws {
    let context = try container().newContext()
    let (grace, note) = try fill(context)
    try context.save()
    context.delete(grace)
    try context.save()
    let fresh = try container().newContext()
    #expect(try fresh.existingObject(with: note.objectID).value(forKey: "author") == .object(nil))
    #expect(try texts("author == nil", fresh).sorted() == ["Compile it", "Nobody's"])
  }

  /// A part may have been restored from an older backup, or be missing: nothing traps.
  @Test func aReferenceMayLeadNowhere() throws {
    let context = try container().newContext()
    let (_, note) = try fill(context)
    try context.save()
    try PlainSQL.run("DELETE FROM Person", at: people)
    let fresh = try container().newContext()
    let found = try fresh.existingObject(with: note.objectID)
    #expect(try found.value(forKey: "author") == .object(nil))
    #expect(
      try fresh.persistentStoreCoordinator.verify() == [
        .danglingReference(entity: "Note", key: 1, destination: "Person")
      ])
    #expect(try texts("author.name == nil", fresh).sorted() == ["Compile it", "Nobody's"])
  }

  @Test func eachStoreHasItsOwnTablesHistoryAndMetadata() throws {
    let coordinator = try container().persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (grace, _) = try fill(context)
    try context.save()
    try grace.setValue("Grace H.", forKey: "name")
    try context.save()
    func tables(_ url: URL) throws -> [String] {
      try PlainSQL.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", at: url)
        .filter { !$0.hasPrefix("_cdgen") && !$0.hasPrefix("sqlite") }
    }
    #expect(try tables(people) == ["Person"])
    #expect(try tables(notes) == ["Note"])
    #expect(
      try PlainSQL.rows("SELECT changes FROM _cdgen_history", at: people) == [
        #"{"Person":{"inserted":[[1,1]]}}"#, #"{"Person":{"updated":[[1,1]]}}"#,
      ])
    #expect(
      try PlainSQL.rows("SELECT changes FROM _cdgen_history", at: notes) == [
        #"{"Note":{"inserted":[[1,2]]}}"#
      ])
    let ids = coordinator.storeIDs
    #expect(try ids.map { try coordinator.metadata(forStore: $0)?.storeID } == ids)
    #expect(
      try PersistentStoreCoordinator.metadata(forStoreAt: people).dataHash
        == Self.model.versions[0].hashes.configurations["People"]?.description)
  }

  @Test func anEntityWithoutAStoreIsRefused() throws {
    let context = try container().newContext()
    #expect(throws: StoreError.noStore(entity: "Draft")) { try context.insert(entityNamed: "Draft") }
    #expect(throws: StoreError.noStore(entity: "Draft")) {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Draft"))
    }
  }

  @Test func theRestGoesToTheStoreWithoutAConfiguration() throws {
    let stores = [
      PersistentStoreDescription(.inMemory), PersistentStoreDescription(.inMemory, configuration: "Notes"),
    ]
    let context = try container(stores).newContext()
    let (grace, note) = try fill(context)
    let draft = try context.insert(entityNamed: "Draft")
    try draft.setValue("d", forKey: "text")
    try context.save()
    #expect(draft.objectID.storeID == grace.objectID.storeID)
    #expect(draft.objectID.storeID != note.objectID.storeID)
    #expect(try texts("author.name == 'Grace'", context) == ["Compile it"])
  }

  @Test func descriptionsThatDoNotFitAreRefused() throws {
    #expect(throws: ModelError.unknownConfiguration("Nope")) {
      try container([PersistentStoreDescription(.inMemory, configuration: "Nope")])
    }
    #expect(throws: ModelError.entityInTwoStores("Person")) {
      try container([
        PersistentStoreDescription(.inMemory, configuration: "People"),
        PersistentStoreDescription(.inMemory, configuration: "All"),
      ])
    }
    #expect(throws: ModelError.entityInTwoStores("Person")) {
      try container([PersistentStoreDescription(.inMemory), PersistentStoreDescription(.inMemory)])
    }
  }

  @Test func oneFileUnderTwoNamesIsRefused() throws {
    _ = try container()
    let link = folder.appending(path: "link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: people)
    #expect(throws: StoreError.openedTwice(link)) {
      try container([
        PersistentStoreDescription(.sqlite(people), configuration: "People"),
        PersistentStoreDescription(.sqlite(link), configuration: "Notes"),
      ])
    }
  }
}
