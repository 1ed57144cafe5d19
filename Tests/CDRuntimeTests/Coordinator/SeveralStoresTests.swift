import CDRuntime
import Foundation
import Testing

/// A model in several stores.
@Suite struct SeveralStoresTests {
  private let stores: DiaryStores
  private var people: URL { stores.people }
  private var notes: URL { stores.notes }
  private static let model = DiaryStores.model

  init() throws { stores = try DiaryStores() }

  private func container(_ descriptions: [PersistentStoreDescription]? = nil) throws -> PersistentContainer {
    try stores.container(descriptions)
  }

  private func texts(_ format: String, _ context: ManagedObjectContext) throws -> [String] {
    try DiaryStores.texts(format, context)
  }

  private func fill(_ context: ManagedObjectContext) throws -> (ManagedObject, ManagedObject) {
    let (person, note) = try DiaryStores.fill(context)
    return (person, note)
  }

  @Test func aSaveGoesToBothAndAFetchReadsAcross() throws {
    let context = try container().newContext()
    let (grace, note) = try fill(context)
    try context.save()
    #expect(grace.objectID.storeID != note.objectID.storeID)
    if stores.kind.hasFiles {
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: notes.path + "-external").count == 1)
    }

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
    try stores.run(#"DELETE FROM "Person""#, at: people)
    let fresh = try container().newContext()
    let found = try fresh.existingObject(with: note.objectID)
    #expect(try found.value(forKey: "author") == .object(nil))
    #expect(
      try fresh.persistentStoreCoordinator.verify() == [
        .danglingReference(entity: "Note", key: 1, destination: "Person")
      ])
    #expect(try texts("author.name == nil", fresh).sorted() == ["Compile it", "Nobody's"])
  }

  @Test(.needsReopening) func eachStoreHasItsOwnTablesHistoryAndMetadata() throws {
    let coordinator = try container().persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (grace, _) = try fill(context)
    try context.save()
    try grace.setValue("Grace H.", forKey: "name")
    try context.save()
    #expect(try stores.kind.tables(people) == ["Person"])
    #expect(try stores.kind.tables(notes) == ["Note", "Note.markedBy"])
    let ids = coordinator.storeIDs
    // A save to both says so.
    let first = try PlainSQL.rows(
      "SELECT changes ->> '$._save.id' FROM _cdgen_history WHERE id = 1", at: people)
    let second = try PlainSQL.rows(
      "SELECT changes ->> '$._save.id' FROM _cdgen_history WHERE id = 2", at: people)
    let mark = #""_save":{"id":"\#(first[0])","stores":["\#(ids[0])","\#(ids[1])"]}"#
    #expect(
      try PlainSQL.rows("SELECT changes FROM _cdgen_history", at: people) == [
        #"{\#(mark),"Person":{"inserted":[[1,1]]}}"#,
        #"{"_save":{"id":"\#(second[0])"},"Person":{"updated":[[1,1]],"properties":{"name":true}}}"#,
      ])
    #expect(
      try PlainSQL.rows("SELECT changes FROM _cdgen_history", at: notes) == [
        #"{\#(mark),"Note":{"inserted":[[1,2]]}}"#
      ])
    #expect(try ids.map { try coordinator.metadata(forStore: $0)?.storeID } == ids)
    #expect(
      try stores.kind.metadata(people).dataHash
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

  @Test(.needsReopening) func oneStoreUnderTwoNamesIsRefused() throws {
    try { _ = try container() }()
    let second = try stores.kind.secondLocation(
      of: people, by: stores.folder.appending(path: "link.sqlite"))
    #expect(throws: StoreError.openedTwice(second.shownURL)) {
      try container([
        PersistentStoreDescription(stores.kind.location(people), configuration: "People"),
        PersistentStoreDescription(second.location, configuration: "Notes"),
      ])
    }
  }

  @Test(.needsReopening) func whatLeadsToAnEntityWithoutAStoreLeadsNowhere() throws {
    let id = try {
      let context = try container().newContext()
      let note = try fill(context).1
      try context.save()
      return note.objectID
    }()
    let alone = try container([stores.descriptions[1]]).newContext()
    #expect(try texts("author.name == nil", alone).sorted() == ["Compile it", "Nobody's"])
    #expect(try texts("author.name == 'Grace'", alone).isEmpty)
    #expect(try texts("SUBQUERY(markedBy, $p, $p.name != '').@count == 0", alone).count == 2)
    let found = try alone.existingObject(with: id)
    #expect(try found.value(forKey: "author") == .object(nil))
    #expect(try found.value(forKey: "markedBy") == .objects([]))
    #expect(alone.recentErrors.isEmpty)
    #expect(try alone.persistentStoreCoordinator.verify() == [])
  }

  /// Without the store of the notes, a person seems to have none.
  @Test(.needsReopening) func whatIsDerivedFromAnEntityWithoutAStoreStays() throws {
    let version = ModelVersion(
      number: 1,
      entities: [
        EntityDescription(
          name: "Person",
          attributes: [
            AttributeDescription(name: "name", type: .string), try .derived("count", .int64, "notes.@count"),
            try .derived("title", .string, "name + '!'"),
          ],
          relationships: [
            RelationshipDescription(name: "notes", destination: "Note", isToMany: true, inverse: "author")
          ]),
        EntityDescription(
          name: "Note",
          relationships: [RelationshipDescription(name: "author", destination: "Person", inverse: "notes")]),
      ],
      configurations: [
        ConfigurationDescription(name: "People", entities: ["Person"]),
        ConfigurationDescription(name: "Notes", entities: ["Note"]),
      ])
    let model = ManagedObjectModel(name: "Counted", id: UUID(), versions: [version], currentVersionNumber: 1)
    func context(_ stores: [PersistentStoreDescription]) throws -> ManagedObjectContext {
      PersistentContainer(try PersistentStoreCoordinator(model: model, stores: stores)).newContext()
    }
    func people(_ context: ManagedObjectContext) throws -> [String] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).map { person in
        try ["name", "count", "title"].map { "\(try person.value(forKey: $0))" }.joined(separator: " ")
      }.sorted()
    }
    func row(_ name: String, _ count: Int64) -> String {
      let values: [AttributeValue] = [.string(name), .int(count), .string(name + "!")]
      return values.map { "\(PropertyValue.attribute($0))" }.joined(separator: " ")
    }
    let id = try {
      let both = try context(stores.descriptions)
      let grace = try both.insert(entityNamed: "Person")
      try grace.setValue("Grace", forKey: "name")
      try both.insert(entityNamed: "Note").setValue(grace, forKey: "author")
      try both.save()
      return grace.objectID
    }()
    try {
      let alone = try context([stores.descriptions[0]])
      try alone.existingObject(with: id).setValue("Ada", forKey: "name")
      try alone.insert(entityNamed: "Person").setValue("Eve", forKey: "name")
      #expect(try people(alone).count == 2)
      try alone.save()
      #expect(try people(alone) == [row("Ada", 1), row("Eve", 0)])
      let name = try ValueExpression(format: "name + '2'")
      try alone.execute(
        BatchUpdateRequest<ManagedObject>(FetchRequest(entityName: "Person"), set: [.set("name", to: name)]))
      try alone.execute(BatchInsertRequest<ManagedObject>(entityName: "Person", rows: [["name": "Ivy"]]))
    }()
    try {
      let alone = try context([stores.descriptions[0]])
      alone.undoManager = ContextUndoManager()
      alone.delete(try alone.existingObject(with: id))
      try alone.save()
      alone.undo()
      try alone.save()
    }()
    let both = try context(stores.descriptions)
    #expect(try people(both) == [row("Ada2", 1), row("Eve2", 0), row("Ivy", 0)])
    #expect(try both.persistentStoreCoordinator.verify() == [])
  }

  // MARK: Configurations

  @Test(.needsReopening, arguments: [true, false])
  func aStoreOfAnotherConfigurationIsRefusedByName(readOnly: Bool) throws {
    try { _ = try container() }()
    let before = try stores.kind.contents(people)
    let shown = stores.kind.shownURL(people)
    func open(_ configuration: String?) throws {
      _ = try container([
        PersistentStoreDescription(
          stores.kind.location(people), configuration: configuration, isReadOnly: readOnly)
      ])
    }
    #expect(
      throws: StoreError.otherConfiguration(
        shown, holds: ["Person"], configuration: "People", asked: ["Note"])
    ) { try open("Notes") }
    #expect(
      throws: StoreError.otherConfiguration(
        shown, holds: ["Person"], configuration: "People", asked: ["Person", "Note", "Draft"])
    ) { try open(nil) }
    #expect(try stores.kind.contents(people) == before)
    try open("People")
    let rest = stores.folder.appending(path: "rest.sqlite")
    try {
      _ = try container(stores.descriptions + [PersistentStoreDescription(stores.kind.location(rest))])
    }()
    let shownRest = stores.kind.shownURL(rest)
    let (name, place) = shownRest.isFileURL ? (rest.path(), "file") : (shownRest.absoluteString, "schema")
    let error = StoreError.otherConfiguration(
      shownRest, holds: ["Draft"], configuration: nil, asked: ["Person", "Note", "Draft"])
    #expect(throws: error) { try container([PersistentStoreDescription(stores.kind.location(rest))]) }
    #expect(
      "\(error)"
        == "the store \(name) contains 'Draft', but was opened for 'Person', 'Note', 'Draft'; "
        + "open it with a configuration that lists the entities it contains, and use another \(place) for the other "
        + "entities"
    )
  }

  @Test(.needs(.migrations)) func anOlderStoreOfAnotherConfigurationIsRefusedToo() throws {
    try { _ = try container() }()
    let before = try stores.kind.contents(people)
    let second = DiaryStores.version(
      2, adding: [AttributeDescription(name: "mood", type: .string, isOptional: true)])
    let model = ManagedObjectModel(
      name: Self.model.name, id: Self.model.id, versions: Self.model.versions + [second],
      currentVersionNumber: 2)
    func open(_ configuration: String, _ url: URL) throws -> Int {
      let store = PersistentStoreDescription(stores.kind.location(url), configuration: configuration)
      return try PersistentStoreCoordinator(model: model, stores: [store]).storeIDs.count
    }
    #expect(
      throws: StoreError.otherConfiguration(
        stores.kind.shownURL(people), holds: ["Person"], configuration: "People", asked: ["Note"])
    ) { try open("Notes", people) }
    #expect(try stores.kind.contents(people) == before)
    #expect(try open("People", people) == 1)
    #expect(try open("Notes", notes) == 1)
  }
}
