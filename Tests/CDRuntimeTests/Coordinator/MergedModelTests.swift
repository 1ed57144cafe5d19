import CDRuntime
import Foundation
import Testing

/// One coordinator for the objects of several models.
@Suite(.needsReopening) struct MergedModelTests {
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
  private var notesLocation: StoreLocation { store.kind.location(notesURL) }

  private func stores() -> [PersistentStoreDescription] {
    [
      PersistentStoreDescription(store.location, configuration: "Library"),
      PersistentStoreDescription(notesLocation, configuration: "Notes"),
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
    do {
      let context = try store.container().newContext()
      #expect(try Tag.objects(in: context).map(\.name) == ["t"])
    }
    do {
      let context = PersistentContainer(
        try PersistentStoreCoordinator(model: Self.notes, at: notesLocation)
      ).newContext()
      let request = FetchRequest<ManagedObject>(entityName: "Note")
      #expect(try context.fetch(request).map { try $0.value(forKey: "text") } == [.attribute(.string("n"))])
    }
    let metadata = try store.kind.metadata(notesURL)
    #expect(metadata.modelName == "Notes" && metadata.modelVersion == Self.notes.currentVersion)
    // And together again.
    _ = try PersistentStoreCoordinator(model: merged, stores: stores())
  }

  @Test func storesOfOnePartAloneAreServed() throws {
    _ = try store.container()
    _ = try PersistentStoreCoordinator(model: Self.notes, at: notesLocation)
    let merged = try ManagedObjectModel(merging: [Self.notes, LibraryDescription.model])
    #expect(try PersistentStoreCoordinator(model: merged, stores: stores()).storeIDs.count == 2)
    #expect(
      throws: StoreError.otherModel(
        store.kind.shownURL(notesURL), found: ModelIdentity(name: "Notes", id: Self.notes.id),
        expected: ModelIdentity(name: "Library", id: LibraryDescription.model.id))
    ) {
      try PersistentStoreCoordinator(
        model: merged,
        stores: [
          PersistentStoreDescription(notesLocation, configuration: "Library"),
          PersistentStoreDescription(store.location, configuration: "Notes"),
        ])
    }
  }

  @Test func aStoreOfAllIsTheMergedModels() throws {
    let merged = try ManagedObjectModel(merging: [LibraryDescription.model, Self.notes])
    _ = try PersistentStoreCoordinator(model: merged, at: store.location)
    let metadata = try store.kind.metadata(store.url)
    #expect(metadata.modelName == "Library+Notes" && metadata.modelID == merged.id)
    // In another order it is the same model; one part alone is another.
    let turned = try ManagedObjectModel(merging: [Self.notes, LibraryDescription.model])
    _ = try PersistentStoreCoordinator(model: turned, at: store.location)
    #expect(
      throws: StoreError.otherModel(
        store.shownURL, found: ModelIdentity(name: "Library+Notes", id: merged.id),
        expected: ModelIdentity(name: "Library", id: LibraryDescription.model.id))
    ) {
      try store.container()
    }
  }

  @Test func generatedClassesOfSeveralModelsAreServed() throws {
    do {
      let container = try PersistentContainer(
        for: [LibraryModel.self], stores: [PersistentStoreDescription(store.location)])
      let context = container.newContext()
      _ = Tag(name: "t", in: context)
      try context.save()
    }
    #expect(try Tag.objects(in: store.freshContext()).count == 1)
    #expect(throws: ModelMergeError.sameIdentity(models: ["Library", "Library"])) {
      try PersistentContainer(
        for: [LibraryModel.self, LibraryModel.self], stores: [PersistentStoreDescription(.inMemory)])
    }
  }
}
