import CDRuntime
import Foundation
import Testing

/// A store that a living coordinator lets go of, while the others go on.
@Suite struct StoreRemovalTests {
  private let stores: DiaryStores

  init() throws { stores = try DiaryStores() }

  @Test func itsObjectsAreInaccessibleAndTheOthersGoOn() throws {
    let coordinator = try stores.container().persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    try coordinator.removePersistentStore(withID: note.objectID.storeID)
    #expect(coordinator.storeIDs == [grace.objectID.storeID])

    #expect(throws: StoreError.noStore(entity: "Note")) { try DiaryStores.texts("text != ''", context) }
    #expect(note.isInaccessible && !grace.isInaccessible)
    #expect(try note.value(forKey: "text") == .attribute(.string("Compile it")))
    #expect(context.recentErrors.map(\.reason) == [.storeRemoved])
    #expect(context.recentErrors.map(\.entity) == ["Note"])
    #expect(try grace.value(forKey: "notes") == .objects([]))
    #expect(throws: FetchError.unknownObject(note.objectID)) {
      try context.existingObject(with: note.objectID)
    }
    #expect(throws: StoreError.noStore(entity: "Note")) { try context.insert(entityNamed: "Note") }

    try grace.setValue("Grace H.", forKey: "name")
    try context.insert(entityNamed: "Person").setValue("Ada", forKey: "name")
    try context.save()
    // What leads to the store leads nowhere, in SQL as in memory.
    #expect(try context.objects(forEntityNamed: "Person", format: "ANY notes.text != ''").isEmpty)
    #expect(try context.objects(forEntityNamed: "Person", format: "notes.@count == 0").count == 2)
    #expect(try coordinator.verify() == [])
    #expect(try coordinator.metadata(forStore: note.objectID.storeID) == nil)
  }

  @Test(.needsReopening) func whatIsSavedAfterwardsIsThereForWhoeverHasBothAgain() throws {
    try {
      let coordinator = try stores.container().persistentStoreCoordinator
      let context = PersistentContainer(coordinator).newContext()
      let (grace, note) = try DiaryStores.fill(context)
      try context.save()
      try coordinator.removePersistentStore(withID: note.objectID.storeID)
      try grace.setValue("Grace H.", forKey: "name")
      try context.save()
    }()
    let again = try stores.freshContext()
    #expect(try DiaryStores.texts("author.name == 'Grace H.'", again) == ["Compile it"])
  }

  @Test func theFirstOfThemCanGoToo() throws {
    let coordinator = try stores.container().persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    try coordinator.removePersistentStore(withID: grace.objectID.storeID)
    let fresh = PersistentContainer(coordinator).newContext()
    #expect(try DiaryStores.texts("author.name == nil", fresh).sorted() == ["Compile it", "Nobody's"])
    #expect(try fresh.existingObject(with: note.objectID).value(forKey: "author") == .object(nil))
    #expect(try DiaryStores.texts("author.name == nil", context).count == 2)
    #expect(grace.isInaccessible && !note.isInaccessible)
    #expect(try note.value(forKey: "author") == .object(nil))
    try note.setValue("Link it", forKey: "text")
    try context.save()
  }

  @Test(.needsReopening) func whatLeadsToItIsKept() throws {
    try {
      let coordinator = try stores.container().persistentStoreCoordinator
      let context = PersistentContainer(coordinator).newContext()
      let (grace, note) = try DiaryStores.fill(context)
      try context.save()
      try coordinator.removePersistentStore(withID: grace.objectID.storeID)
      try note.setValue("Link it", forKey: "text")
      try context.save()
    }()
    // The reference is still there for whoever has the other store.
    #expect(try DiaryStores.texts("author.name == 'Grace'", stores.freshContext()) == ["Link it"])
  }

  @Test func unsavedChangesOfItsObjectsAreRefusedUntilTheyAreRolledBack() throws {
    let coordinator = try stores.container().persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    let other = try #require(try context.objects(forEntityNamed: "Note", format: "author == nil").first)
    try note.setValue("Mine", forKey: "text")
    context.delete(other)
    let new = try context.insert(entityNamed: "Note")
    try new.setValue("New", forKey: "text")
    try grace.setValue("Grace H.", forKey: "name")
    try coordinator.removePersistentStore(withID: note.objectID.storeID)
    let errors = [note, other, new].map {
      ValidationError(reason: .storeRemoved, entity: "Note", property: nil, objectID: $0.objectID)
    }
    #expect(throws: SaveError.validation(errors)) { try context.save() }
    #expect(context.hasChanges && [note, other, new].allSatisfy(\.isInaccessible))
    context.rollback()
    #expect(!context.hasChanges && !grace.isInaccessible && note.isInaccessible)
    try grace.setValue("Grace M.", forKey: "name")
    try context.save()
    #expect(try context.objects(forEntityNamed: "Person", format: "name == 'Grace M.'") == [grace])
  }

  @Test(.onlyOnSQLite("stores in memory have one state for all"))
  func aStateThatIsReadStaysWholeToItsEnd() throws {
    let coordinator = try stores.container().persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (_, note) = try DiaryStores.fill(context)
    try context.save()
    try context.perform {
      #expect(try DiaryStores.texts("text != ''", context).count == 2)
      try coordinator.removePersistentStore(withID: note.objectID.storeID)
      #expect(try DiaryStores.texts("text != ''", context).count == 2 && !note.isInaccessible)
    }
    #expect(throws: StoreError.noStore(entity: "Note")) { try DiaryStores.texts("text != ''", context) }
    #expect(note.isInaccessible)
  }

  /// Nothing has to be read for it: an app that lets go of a store can remove its file soon after.
  @MainActor @Test(.needsReopening) func theMainActorsContextIsToldInItsNextTurn() async throws {
    let container = try stores.container()
    container.automaticallyMergesChangesFromParent = true
    let note = try DiaryStores.fill(container.viewContext).note
    try container.viewContext.save()
    // By then the watcher of the saves has the files open too.
    try await Task.sleep(for: .milliseconds(750))
    #expect(try DiaryStores.texts("text != ''", container.viewContext).count == 2)
    try container.persistentStoreCoordinator.removePersistentStore(withID: note.objectID.storeID)
    if stores.kind.hasFiles {
      #expect(throws: StoreError.inUse(stores.notes)) { try stores.kind.destroy(stores.notes) }
    }
    for _ in 0..<1000 where !note.isInaccessible { await Task.yield() }
    #expect(note.isInaccessible)
    try stores.kind.destroy(stores.notes)
    #expect(try !stores.kind.exists(stores.notes))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: stores.folder.path).allSatisfy {
        $0.hasPrefix("people")
      })
    let ada = try container.viewContext.insert(entityNamed: "Person")
    try ada.setValue("Ada", forKey: "name")
    try container.viewContext.save()
  }

  /// The watcher of the changes has the files open between its checks.
  @Test(.needsReopening) func itCanBeDestroyedWhileItsChangesAreFollowed() async throws {
    let coordinator = try stores.container().persistentStoreCoordinator
    try {
      let context = PersistentContainer(coordinator).newContext()
      _ = try DiaryStores.fill(context)
      try context.save()
    }()
    let changes = try coordinator.changes()
    try await Task.sleep(for: .milliseconds(750))
    let notes = try #require(coordinator.storeIDs.last)
    try coordinator.removePersistentStore(withID: notes)
    try stores.kind.destroy(stores.notes)
    #expect(try !stores.kind.exists(stores.notes))
    withExtendedLifetime(changes) {}
  }

  @Test func anyNumberOfThemCanGoAndOthersAreNone() throws {
    let coordinator = try PersistentStoreCoordinator(
      model: DiaryStores.model,
      stores: [
        PersistentStoreDescription(.inMemory, configuration: "People"),
        PersistentStoreDescription(.inMemory, configuration: "Notes"),
      ])
    let context = PersistentContainer(coordinator).newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    try coordinator.removePersistentStore(withID: UUID())
    #expect(coordinator.storeIDs.count == 2)
    try coordinator.removePersistentStore(withID: grace.objectID.storeID)
    // Memory goes with its last connection: that of the other store is kept.
    #expect(try DiaryStores.texts("text != ''", context).count == 2)
    try coordinator.removePersistentStore(withID: note.objectID.storeID)
    try coordinator.removePersistentStore(withID: note.objectID.storeID)
    #expect(coordinator.storeIDs.isEmpty)
    #expect(try coordinator.verify() == [])
    #expect(throws: StoreError.noStore(entity: "Note")) { try DiaryStores.texts("text != ''", context) }
    try context.save()
  }

  /// Relationships that lead to the other store read as empty for a batch too, which reads within its transaction.
  @Test func aBatchNeedsOnlyTheStoreOfItsObjects() throws {
    let coordinator = try PersistentStoreCoordinator(
      model: DiaryStores.model,
      stores: [
        PersistentStoreDescription(.inMemory, configuration: "People"),
        PersistentStoreDescription(.inMemory, configuration: "Notes"),
      ])
    let context = PersistentContainer(coordinator).newContext()
    let (_, note) = try DiaryStores.fill(context)
    try context.save()
    try coordinator.removePersistentStore(withID: note.objectID.storeID)
    let people = FetchRequest<ManagedObject>(entityName: "Person")
    #expect(try context.execute(BatchDeleteRequest(people)).count == 1)
    #expect(try context.count(for: people) == 0)
  }

  @Test func theOnlyStoreCanGo() throws {
    let store = try TemporaryStore()
    let container = try store.container()
    let context = container.newContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    #expect(try Tag.object(matching: \.name, "a", in: context) === tag)
    try container.persistentStoreCoordinator.removePersistentStore(withID: tag.objectID.storeID)
    #expect(throws: StoreError.noStore(entity: "Tag")) { try Tag.object(matching: \.name, "a", in: context) }
    #expect(tag.isInaccessible && tag.name == "a")
    let second = Tag(name: "b", in: context)
    #expect(second.isInaccessible)
    #expect(throws: StoreError.noStore(entity: "Tag")) { try context.save() }
    guard !store.kind.isInMemory else { return }
    try store.kind.destroy(store.url)
    #expect(try !store.kind.exists(store.url))
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.folder.path).isEmpty)
  }

  /// Saves of another store go on meanwhile; those of the one that goes are written or refused.
  @Test func itCanGoWhileOthersSave() async throws {
    let container = try stores.container()
    let coordinator = container.persistentStoreCoordinator
    let notes = try #require(coordinator.storeIDs.last)
    let written = try await withThrowingTaskGroup(of: (people: Int, notes: Int).self) { group in
      for writer in 0..<4 {
        group.addTask {
          try await container.performBackgroundTask { context in
            var count = (people: 0, notes: 0)
            for number in 0..<40 {
              let person = try context.insert(entityNamed: "Person")
              try person.setValue("\(writer)-\(number)", forKey: "name")
              try context.save()
              count.people += 1
              do {
                try context.insert(entityNamed: "Note").setValue("\(writer)-\(number)", forKey: "text")
                try context.save()
                count.notes += 1
              } catch is StoreError {
                context.rollback()
              } catch SaveError.validation(let errors) {
                #expect(errors.map(\.reason) == [.storeRemoved])
                context.rollback()
              }
            }
            return count
          }
        }
      }
      group.addTask {
        let context = container.newContext()
        while try context.count(for: FetchRequest<ManagedObject>(entityName: "Note")) < 20 {
          await Task.yield()
        }
        try coordinator.removePersistentStore(withID: notes)
        return (0, 0)
      }
      return try await group.reduce(into: (people: 0, notes: 0)) {
        $0.people += $1.people
        $0.notes += $1.notes
      }
    }
    #expect(written.people == 160)
    let context = container.newContext()
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Person")) == 160)
    #expect(try coordinator.verify() == [])
    guard !stores.kind.isInMemory else { return }
    // The one that has gone is nobody's, and can be opened.
    let alone = try stores.freshContext([stores.descriptions[1]])
    #expect(try alone.count(for: FetchRequest<ManagedObject>(entityName: "Note")) == written.notes)
  }
}
