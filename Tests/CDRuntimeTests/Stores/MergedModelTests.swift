import CDRuntime
import Foundation
import Testing

/// One coordinator for the objects of several models.
@Suite struct MergedModelTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private static let notes = ManagedObjectModel(
    name: "Notes", id: UUID(),
    versions: [
      ModelVersion(
        number: 3,
        entities: [
          EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)])
        ])
    ], currentVersionNumber: 3)

  private var notesURL: URL { store.folder.appending(path: "notes.cdstore") }

  private func stores() -> [PersistentStoreDescription] {
    [
      PersistentStoreDescription(.sqlite(store.url), configuration: "Library"),
      PersistentStoreDescription(.sqlite(notesURL), configuration: "Notes"),
    ]
  }

  @Test func eachPartKeepsItsIdentity() throws {
    let merged = try ManagedObjectModel(merging: [LibraryDescription.model, Self.notes])
    do {
      let coordinator = try PersistentStoreCoordinator(model: merged, stores: stores())
      let context = PersistentContainer(coordinator).newContext()
      let note = try context.insert(entityNamed: "Note")
      try note.setValue("n", forKey: "text")
      let tag = try context.insert(entityNamed: "Tag")
      try tag.setValue("t", forKey: "name")
      try context.save()
      #expect(try coordinator.verify() == [])
    }
    // Each by its own model.
    #expect(try Tag.objects(in: store.freshContext()).map(\.name) == ["t"])
    let alone = try PersistentContainer(model: Self.notes, at: notesURL)
    let context = alone.newContext()
    let request = FetchRequest<ManagedObject>(entityName: "Note")
    #expect(try context.fetch(request).map { try $0.value(forKey: "text") } == [.attribute(.string("n"))])
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: notesURL)
    #expect(metadata.modelName == "Notes" && metadata.modelVersion == Self.notes.currentVersion)
    // And together again.
    _ = try PersistentStoreCoordinator(model: merged, stores: stores())
  }

  @Test func storesOfOnePartAloneAreServed() throws {
    _ = try store.container()
    _ = try PersistentContainer(model: Self.notes, at: notesURL)
    let merged = try ManagedObjectModel(merging: [Self.notes, LibraryDescription.model])
    let coordinator = try PersistentStoreCoordinator(model: merged, stores: stores())
    #expect(coordinator.storeIDs.count == 2)
    #expect(throws: StoreError.otherModel(notesURL, found: "Notes", expected: "Library")) {
      try PersistentStoreCoordinator(
        model: merged,
        stores: [
          PersistentStoreDescription(.sqlite(notesURL), configuration: "Library"),
          PersistentStoreDescription(.sqlite(store.url), configuration: "Notes"),
        ])
    }
  }

  @Test func aStoreOfAllIsTheMergedModels() throws {
    let merged = try ManagedObjectModel(merging: [LibraryDescription.model, Self.notes])
    _ = try PersistentStoreCoordinator(model: merged, at: .sqlite(store.url))
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: store.url)
    #expect(metadata.modelName == "Library+Notes" && metadata.modelID == merged.id)
    // In another order it is the same model; one part alone is another.
    let turned = try ManagedObjectModel(merging: [Self.notes, LibraryDescription.model])
    _ = try PersistentStoreCoordinator(model: turned, at: .sqlite(store.url))
    #expect(throws: StoreError.otherModel(store.url, found: "Library+Notes", expected: "Library")) {
      try store.container()
    }
  }

  @Test func generatedClassesOfSeveralModelsAreServed() throws {
    let container = try PersistentContainer(
      for: [LibraryModel.self], stores: [PersistentStoreDescription(.sqlite(store.url))])
    let context = container.newContext()
    _ = Tag(name: "t", in: context)
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).count == 1)
    #expect(throws: ModelMergeError.sameIdentity(models: ["Library", "Library"])) {
      try PersistentContainer(
        for: [LibraryModel.self, LibraryModel.self], stores: [PersistentStoreDescription(.inMemory)])
    }
  }
}
