import Foundation
import Testing

@testable import CDRuntime

/// What has been saved can be asked for, followed, and forgotten.
@Suite struct HistoryTests {
  private let store: TemporaryStore
  private let container: PersistentContainer
  private var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  init() throws {
    store = try TemporaryStore()
    container = try store.container()
  }

  private func saveTag(_ name: String, author: String? = nil, in container: PersistentContainer) throws
    -> ManagedObjectID
  {
    let context = container.newContext()
    context.transactionAuthor = author
    let tag = Tag(name: name, in: context)
    try context.save()
    return tag.objectID
  }

  @Test func theHistoryTellsEverySaveAfterAToken() throws {
    let first = try saveTag("a", in: container)
    let token = try coordinator.currentHistoryToken()
    let second = try saveTag("b", author: "import", in: store.container())
    let context = container.newContext()
    context.delete(try context.existingObject(with: first))
    try #require(try context.existingObject(with: second) as? Tag).name = "c"
    try context.save()
    let kept = try JSONDecoder().decode(HistoryToken.self, from: JSONEncoder().encode(token))
    let transactions = try coordinator.history(after: kept)
    #expect(
      transactions.map(\.changes) == [
        ObjectChanges(inserted: ManagedObjectIDs([second])),
        ObjectChanges(updated: ManagedObjectIDs([second]), deleted: ManagedObjectIDs([first])),
      ])
    #expect(
      transactions.map(\.author) == ["import", nil] && transactions.map(\.isOwn) == [store.hasOneOwner, true])
    #expect(transactions.last?.token == (try coordinator.currentHistoryToken()))
    #expect(try coordinator.history(after: transactions[0].token).count == 1)
    #expect(try coordinator.history(author: "import").count == 1)
    #expect(try coordinator.history(limit: 2).count == 2)
    #expect(try coordinator.history().count == 3)
  }

  @Test func aTokenFromBeforeAPurgeIsRefused() throws {
    _ = try saveTag("a", in: container)
    let token = try coordinator.currentHistoryToken()
    _ = try saveTag("b", in: container)
    let later = try coordinator.currentHistoryToken()
    _ = try saveTag("c", in: container)
    try coordinator.purgeHistory(upTo: later)
    #expect(try coordinator.history(after: later).count == 1)
    #expect(throws: HistoryError.expiredToken(storeID: coordinator.storeIDs[0])) {
      try coordinator.history(after: token)
    }
    try coordinator.purgeHistory(before: .distantFuture)
    #expect(try coordinator.history().count == 1)
    _ = try saveTag("d", in: container)
    #expect(try coordinator.history().count == 2)
  }

  @Test func aContextThatHasNotSeenWhatIsPurgedReadsEverythingAnew() throws {
    let id = try saveTag("a", in: container)
    let context = container.newContext()
    let tag = try #require(try context.existingObject(with: id) as? Tag)
    let other = try store.container()
    let writer = other.newContext()
    try #require(try writer.existingObject(with: id) as? Tag).name = "b"
    try writer.save()
    _ = try saveTag("c", in: other)
    try other.persistentStoreCoordinator.purgeHistory(before: .distantFuture)
    #expect(try Tag.count(in: context) == 2)
    #expect(tag.name == "b")
  }

  /// Another context deletes the row of a changed object and takes the deletion back.
  @Test(arguments: [false, true])
  func anObjectWhoseRowIsThereAgainFollowsItAfterARollback(isPurged: Bool) throws {
    let id = try saveTag("a", in: container)
    let context = container.newContext()
    let tag = try #require(try context.existingObject(with: id) as? Tag)
    tag.name = "b"
    let other = try store.freshContext()
    other.undoManager = ContextUndoManager()
    other.delete(try other.existingObject(with: id))
    try other.save()
    #expect(try Tag.count(in: context) == 1)
    other.undo()
    try other.save()
    _ = try saveTag("c", in: container)
    if isPurged { try coordinator.purgeHistory(before: .distantFuture) }
    #expect(try Tag.count(in: context) == 2)
    context.rollback()
    #expect(tag.name == "a" && !tag.isInaccessible)
    #expect(try context.existingObject(with: id) === tag)
  }

  /// The history is read in several parts, and the second one cannot be read.
  @Test func aContextKnowsItsOwnSavesAfterAFailure() throws {
    let attached = try #require(coordinator.engine.stores.all.first)
    let position = HistoryPosition()
    position.advance(to: 1, of: attached) { _ in }
    position.noteOwnSaves([(store: attached, id: 2)], unfinished: nil)
    var isTaken = false
    #expect(throws: CancellationError.self) {
      try position.advance(to: 3, of: attached) { _ in
        isTaken = position.takeOwnSave(2, of: attached)
        throw CancellationError()
      }
    }
    #expect(isTaken && position.isOwnSave(2, of: attached))
  }

  /// The history no longer tells of a purged save, so that nothing takes it.
  @Test func aContextForgetsItsPurgedSaves() throws {
    let attached = try #require(coordinator.engine.stores.all.first)
    let position = HistoryPosition()
    position.advance(to: 1, of: attached) { _ in }
    position.noteOwnSaves([(store: attached, id: 2)], unfinished: nil)
    #expect(position.newestKnown(of: attached) == 2)
    position.advance(to: 3, of: attached) { _ in }
    #expect(position.newestKnown(of: attached) == 3 && !position.isOwnSave(2, of: attached))
    position.advance(to: 4, of: attached) { _ in }
    #expect(position.newestKnown(of: attached) == 4)
  }

  @Test(.timeLimit(.minutes(10)))
  func aListenerIsToldOfEverySaveOfThisAndOtherCoordinators() async throws {
    let stream = try coordinator.changes()
    let own = try saveTag("a", in: container)
    let foreign = try saveTag("b", in: store.container())
    var told: [HistoryTransaction] = []
    for try await transaction in stream {
      told.append(transaction)
      if told.count == 2 { break }
    }
    #expect(told.map(\.changes.inserted) == [ManagedObjectIDs([own]), ManagedObjectIDs([foreign])])
    #expect(told.map(\.isOwn) == [true, store.hasOneOwner])
  }

  @Test(.timeLimit(.minutes(10)))
  func aStoreInMemoryTellsOfItsSavesToo() async throws {
    let container = try PersistentContainer(inMemoryFor: LibraryModel.self)
    let stream = try container.persistentStoreCoordinator.changes()
    let id = try saveTag("a", in: container)
    for try await transaction in stream {
      #expect(transaction.changes == ObjectChanges(inserted: ManagedObjectIDs([id])))
      break
    }
  }

  /// Nobody else writes to the store in memory, but to the file beside it.
  @Test(.onceForAllKinds, .timeLimit(.minutes(10)))
  func aListenerIsToldOfOthersBesideAStoreInMemory() async throws {
    let stores = try DiaryStores()
    let descriptions = [
      PersistentStoreDescription(.sqlite(stores.people), configuration: "People"),
      PersistentStoreDescription(.inMemory, configuration: "Notes"),
    ]
    let own = try stores.freshContext(descriptions)
    let other = try stores.freshContext(descriptions)
    let stream = try own.persistentStoreCoordinator.changes()
    try own.insert(entityNamed: "Person").setValue("Ada", forKey: "name")
    try own.save()
    var told: [Bool] = []
    for try await transaction in stream {
      told.append(transaction.isOwn)
      if told.count == 2 { break }
      // By now the listener has been added, so that nothing but a look at the file can find the second save.
      try other.insert(entityNamed: "Person").setValue("Grace", forKey: "name")
      try other.save()
    }
    #expect(told == [true, false])
  }

  @Test(.timeLimit(.minutes(10)))
  func aContextTellsOfItsSavesAndOfWhatItMerges() async throws {
    let context = container.newContext()
    let changes = context.changes
    let tag = Tag(name: "a", in: context)
    try context.save()
    let other = container.newContext()
    try #require(try other.existingObject(with: tag.objectID) as? Tag).name = "b"
    let second = Tag(name: "c", in: other)
    try other.save()
    _ = try Tag.objects(in: context)
    context.delete(tag)
    try context.save()
    var told: [ObjectChanges] = []
    for await change in changes {
      told.append(change)
      if told.count == 3 { break }
    }
    let id = ManagedObjectIDs([tag.objectID])
    #expect(
      told == [
        ObjectChanges(inserted: id),
        ObjectChanges(inserted: ManagedObjectIDs([second.objectID]), refreshed: id),
        ObjectChanges(deleted: id),
      ])
  }

  /// An observer of a child fetches when it is told of a save, and finds a later one.
  @Test(.timeLimit(.minutes(10)))
  func aContextTellsOfSavesInTheirOrder() async throws {
    let context = container.newContext()
    let child = ManagedObjectContext(parent: context)
    let other = container.newContext()
    #expect(try Tag.count(in: child) == 0)
    let streams = [context.changes, child.changes]
    let tag = Tag(name: "a", in: other)
    try other.save()
    child.changeNotices.addObserver(store) { [unowned child] _ in
      guard tag.exists else { return }
      other.delete(tag)
      do {
        try other.save()
        _ = try Tag.count(in: child)
      } catch { Issue.record(error) }
    }
    let count = try withExtendedLifetime(child) { try Tag.count(in: context) }
    #expect(count == 0)
    let id = ManagedObjectIDs([tag.objectID])
    for stream in streams {
      var told: [ObjectChanges] = []
      for await change in stream {
        told.append(change)
        if told.count == 2 { break }
      }
      #expect(told == [ObjectChanges(inserted: id), ObjectChanges(deleted: id)])
    }
  }

  /// The parent learns of another context's save during a child's save: an observer of the parent fetches, or a hook of the
  /// parent's object.
  @Test(.timeLimit(.minutes(10)), arguments: [false, true])
  func contextsTellOfAChildsSaveInItsOrder(isHook: Bool) async throws {
    let context = container.newContext()
    let child = ManagedObjectContext(parent: context)
    let contexts = [context, child, ManagedObjectContext(parent: context)]
    let tags = ["a", "b"].map { Tag(name: $0, in: context) }
    try context.save()
    #expect(try Tag.count(in: context) == 2)
    try child.localInstance(of: tags[0]).name = "c"
    child.delete(try child.localInstance(of: tags[1]))
    let streams = contexts.map(\.changes)
    let other = container.newContext()
    other.delete(try other.existingObject(with: tags[0].objectID))
    try other.save()
    try saveChild(child, of: context, isHook: isHook)
    let ids = tags.map { ManagedObjectIDs([$0.objectID]) }
    for (reporter, stream) in zip(contexts, streams) {
      var told: [ObjectChanges] = []
      for await change in stream {
        told.append(change)
        if told.count == 2 { break }
      }
      let saved = ObjectChanges(updated: ids[0], deleted: ids[1])
      #expect(told == [reporter === child ? saved : saved.asRefreshed, ObjectChanges(deleted: ids[0])])
    }
  }

  /// Saves a child. An observer of the parent fetches meanwhile, or a hook of an object that the child has deleted.
  private func saveChild(
    _ child: ManagedObjectContext, of parent: ManagedObjectContext, isHook: Bool
  ) throws {
    if isHook {
      let probe = HookProbe(.prepareForDeletion) { _ in _ = try Tag.count(in: parent) }
      try HookProbe.$current.withValue(probe) { try child.save() }
      #expect(probe.wasReached && probe.error == nil)
    } else {
      parent.changeNotices.addObserver(store) { [unowned parent] _ in
        do { _ = try Tag.count(in: parent) } catch { Issue.record(error) }
      }
      try child.save()
    }
  }

  @MainActor @Test(.timeLimit(.minutes(10)))
  func theViewContextMergesByItselfWhereItIsToldTo() async throws {
    let id = try saveTag("a", in: container)
    let tag = try #require(try container.viewContext.existingObject(with: id) as? Tag)
    #expect(tag.name == "a")
    container.automaticallyMergesChangesFromParent = true
    #expect(container.automaticallyMergesChangesFromParent)
    let changes = container.viewContext.changes
    try await container.performBackgroundTask { context in
      try (context.existingObject(with: id) as? Tag)?.name = "b"
      try context.save()
    }
    for await change in changes {
      #expect(change.refreshed == ManagedObjectIDs([id]))
      break
    }
    #expect(tag.name == "b")
    container.automaticallyMergesChangesFromParent = false
    #expect(!container.automaticallyMergesChangesFromParent)
  }

  /// No later save has to come.
  @MainActor @Test(.timeLimit(.minutes(10)))
  func theViewContextMergesWhatWasSavedBeforeItIsToldTo() async throws {
    let id = try saveTag("a", in: container)
    let tag = try #require(try container.viewContext.existingObject(with: id) as? Tag)
    #expect(tag.name == "a")
    try await container.performBackgroundTask { context in
      try (context.existingObject(with: id) as? Tag)?.name = "b"
      try context.save()
    }
    let changes = container.viewContext.changes
    container.automaticallyMergesChangesFromParent = true
    for await change in changes {
      #expect(change.refreshed == ManagedObjectIDs([id]))
      break
    }
    #expect(tag.name == "b")
  }

  /// The saves that it has not followed yet are gone from the history.
  @MainActor @Test(.timeLimit(.minutes(10)))
  func theViewContextGoesOnMergingAfterAPurge() async throws {
    let id = try saveTag("a", in: container)
    let tag = try #require(try container.viewContext.existingObject(with: id) as? Tag)
    #expect(tag.name == "a")
    container.automaticallyMergesChangesFromParent = true
    let other = try store.container()
    for name in ["b", "c"] { _ = try saveTag(name, in: other) }
    try other.persistentStoreCoordinator.purgeHistory(before: .distantFuture)
    try await Task.sleep(for: .seconds(1))
    try #require(container.automaticallyMergesChangesFromParent)
    let changes = container.viewContext.changes
    let last = try saveTag("d", in: other)
    for await change in changes where change.inserted.contains(last) { break }
    container.automaticallyMergesChangesFromParent = false
    #expect(!container.automaticallyMergesChangesFromParent)
  }

  /// Clocks go back, and machines have clocks of their own.
  @Test func aGapInTheMiddleIsRefusedToo() throws {
    _ = try saveTag("a", in: container)
    let token = try coordinator.currentHistoryToken()
    for name in ["b", "c", "d"] { _ = try saveTag(name, in: container) }
    try store.run(
      "UPDATE \"_cdgen_history\" SET \"time\" = 0 WHERE \"id\" = (SELECT max(\"id\") - 1 FROM \"_cdgen_history\")"
    )
    try coordinator.purgeHistory(before: Date(timeIntervalSinceReferenceDate: 1))
    #expect(throws: HistoryError.self) { try coordinator.history(after: token) }
    #expect(try coordinator.history().count == 3)
  }

  @Test func aTokenOfALaterFileIsRefused() throws {
    _ = try saveTag("a", in: container)
    var token = try coordinator.currentHistoryToken()
    for key in token.saves.keys { token.saves[key]? += 1 }
    #expect(throws: HistoryError.self) { try coordinator.history(after: token) }
  }
}

/// The histories of several stores.
@Suite struct SeveralHistoriesTests {
  private let stores: DiaryStores

  init() throws { stores = try DiaryStores() }

  /// The transactions of each store stay together, so the tokens of the first store name the others before they are reached.
  @Test func aPurgeOfAStoreThatIsNotReachedIsNoticed() throws {
    let container = try stores.container()
    let coordinator = container.persistentStoreCoordinator
    let context = container.newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    let transactions = try coordinator.history()
    let other = try #require(transactions.last).storeID
    #expect(transactions.count == 2 && transactions[0].storeID != other)
    #expect(transactions.last?.token == (try coordinator.currentHistoryToken()))
    #expect(try coordinator.history(after: transactions[0].token).map(\.storeID) == [other])
    try grace.setValue("Ada", forKey: "name")
    try note.setValue("Link it", forKey: "text")
    try context.save()
    #expect(try coordinator.history(after: transactions[0].token).count == 3)
    try coordinator.purgeHistory(before: .distantFuture)
    #expect(throws: HistoryError.expiredToken(storeID: other)) {
      try coordinator.history(after: transactions[0].token)
    }
    let token = try #require(try coordinator.history().first).token
    #expect(try coordinator.history(after: token).map(\.storeID) == [other])
  }

  /// Nothing of a store that the token does not name has been read.
  @Test func aTokenFromBeforeAStoreWasAddedNeedsAllOfIt() throws {
    let container = try stores.container()
    let coordinator = container.persistentStoreCoordinator
    let context = container.newContext()
    let (_, note) = try DiaryStores.fill(context)
    try context.save()
    let other = note.objectID.storeID
    var token = try coordinator.currentHistoryToken()
    token.saves[other.uuidString] = nil
    #expect(try coordinator.history(after: token).map(\.storeID) == [other])
    try note.setValue("Link it", forKey: "text")
    try context.save()
    #expect(try coordinator.history(after: token).count == 2)
    try coordinator.purgeHistory(before: .distantFuture)
    #expect(throws: HistoryError.expiredToken(storeID: other)) { try coordinator.history(after: token) }
  }

  @Test func aTokenOfOtherStoresIsRefused() throws {
    let container = try stores.container()
    let context = container.newContext()
    _ = try DiaryStores.fill(context)
    try context.save()
    let token = HistoryToken(saves: [UUID().uuidString: 1])
    #expect(throws: HistoryError.self) {
      try container.persistentStoreCoordinator.history(after: token)
    }
  }
}
