import CDRuntime
import Foundation
import Observation
import SeededRandom
import Testing

/// Results that follow changes are what a fetch gives, and each diff leads from the old ones to the new.
@Suite struct FetchedResultsControllerTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
    other = try store.freshContext()
  }

  private func request() -> FetchRequest<Tag> {
    var request = FetchRequest<Tag>(where: \.name != "none")
    request.sortKeys = [SortKey("name", ascending: false)]
    return request
  }

  /// What a list does with a diff.
  private func apply(_ diff: FetchedResultsDiff, to old: [[ManagedObjectID]], _ new: [[ManagedObjectID]])
    -> [[ManagedObjectID]]
  {
    var list = old
    for index in (diff.deletions + diff.moves.map(\.from)).sorted(by: >) {
      list[index.section].remove(at: index.item)
    }
    for section in diff.deletedSections.sorted(by: >) {
      #expect(list[section].isEmpty)
      list.remove(at: section)
    }
    for section in diff.insertedSections { list.insert([], at: section) }
    for index in (diff.insertions + diff.moves.map(\.to)).sorted() {
      list[index.section].insert(new[index.section][index.item], at: index.item)
    }
    return list
  }

  @Test func savesAndMergesAreFollowed() async throws {
    let (a, c) = (Tag(name: "a", in: context), Tag(name: "c", in: context))
    try context.save()
    let results = try FetchedResultsController(request(), in: context)
    let diffs = results.diffs
    #expect(results.fetchedObjects == [c, a] && results.sections.count == 1)
    let b = Tag(name: "b", in: context)
    #expect(results.fetchedObjects == [c, a])
    try context.save()
    #expect(results.fetchedObjects == [c, b, a] && results.index(of: a) == FetchedIndex(section: 0, item: 2))
    try #require(try other.existingObject(with: c.objectID) as? Tag).name = "A"
    other.delete(try other.existingObject(with: b.objectID))
    try other.save()
    _ = try Author.objects(in: context)
    #expect(results.fetchedObjects == [a, c])
    #expect(
      results.object(at: FetchedIndex(section: 0, item: 1)) == c
        && results.object(at: FetchedIndex(section: 1, item: 0)) == nil)
    var told: [FetchedResultsDiff] = []
    for await diff in diffs {
      told.append(diff)
      if told.count == 2 { break }
    }
    #expect(told[0].insertions == [FetchedIndex(section: 0, item: 1)] && told[0].moves == [])
    #expect(told[1].deletions == [FetchedIndex(section: 0, item: 1)] && told[1].moves.count == 1)
    #expect(told[1].updates == [FetchedIndex(section: 0, item: 1)])
  }

  @Test func unsavedChangesCountWhenAskedFor() throws {
    let results = try FetchedResultsController(request(), in: context)
    let tag = Tag(name: "a", in: context)
    #expect(try results.update().insertions.count == 1)
    #expect(results.fetchedObjects == [tag])
    context.rollback()
    #expect(try results.update().deletions.count == 1)
    #expect(try results.update().isEmpty)
  }

  @Test func changesThatAreTakenBackAreUpdates() throws {
    let tag = Tag(name: "a", in: context)
    try context.save()
    let results = try FetchedResultsController(request(), in: context)
    let index = FetchedIndex(section: 0, item: 0)
    tag.name = "b"
    #expect(try results.update().updates == [index])
    context.rollback()
    #expect(try results.update().updates == [index])
    #expect(try results.update().isEmpty)
    context.undoManager = ContextUndoManager()
    tag.name = "c"
    context.undoManager?.endEvent()
    #expect(try results.update().updates == [index])
    context.undo()
    #expect(tag.name == "a")
    #expect(try results.update().updates == [index])
  }

  @Test func changesFromBeforeTheControllerAreTakenBackToo() throws {
    let tag = Tag(name: "a", in: context)
    try context.save()
    tag.name = "b"
    let results = try FetchedResultsController(request(), in: context)
    context.rollback()
    #expect(try results.update().updates == [FetchedIndex(section: 0, item: 0)])
  }

  @Test func whatAParentHasChangedIsAnUpdateInItsChild() throws {
    let tag = Tag(name: "a", in: context)
    try context.save()
    let child = ManagedObjectContext(parent: context)
    let results = try FetchedResultsController(request(), in: child)
    let index = FetchedIndex(section: 0, item: 0)
    tag.name = "b"
    #expect(try results.update().updates == [index])
    context.rollback()
    #expect(try results.update().updates == [index])
    #expect(try results.update().isEmpty)
    // The parent saves a change between two updates. The second time, another fetch has read the new value before.
    for isFetched in [false, true] {
      tag.name = "c \(isFetched)"
      try context.save()
      if isFetched { #expect(try Tag.objects(in: child).map(\.name) == ["c true"]) }
      #expect(try results.update().updates == [index])
      #expect(try results.update().isEmpty)
    }
  }

  /// Each update takes over what a parent has saved, so each has to report it.
  @Test(.timeLimit(.minutes(10)))
  func whatAParentHasSavedIsAnUpdateWithTheChildsNextSave() async throws {
    let tag = Tag(name: "a", in: context)
    try context.save()
    let child = ManagedObjectContext(parent: context)
    let results = try FetchedResultsController(request(), in: child)
    let diffs = results.diffs
    tag.name = "b"
    try context.save()
    _ = Tag(name: "c", in: child)
    try child.save()
    #expect(results.fetchedObjects.map(\.name) == ["c", "b"])
    for await diff in diffs {
      #expect(diff.insertions == [FetchedIndex(section: 0, item: 0)])
      #expect(diff.updates == [FetchedIndex(section: 0, item: 1)])
      break
    }
  }

  /// The parent has unsaved changes of the same object, before and after.
  @Test(.timeLimit(.minutes(10)))
  func whatAChildHasTakenBackIsAnUpdateWithItsNextSave() async throws {
    _ = Tag(name: "a", in: context)
    _ = Tag(name: "b", in: context)
    try context.save()
    let child = ManagedObjectContext(parent: context)
    let results = try FetchedResultsController(request(), in: child)
    let (b, a) = (results.fetchedObjects[0], results.fetchedObjects[1])
    b.name = "b 1"
    try child.save()
    b.name = "b 2"
    try results.update()
    let diffs = results.diffs
    child.rollback()
    a.name = "a 1"
    try child.save()
    #expect(results.fetchedObjects.map(\.name) == ["b 1", "a 1"])
    for await diff in diffs {
      #expect(diff.updates == [FetchedIndex(section: 0, item: 0), FetchedIndex(section: 0, item: 1)])
      break
    }
  }

  @Test func aNewObjectThatChangesAgainIsAnUpdate() throws {
    let results = try FetchedResultsController(request(), in: context)
    let tag = Tag(name: "a", in: context)
    let first = try results.update()
    #expect(first.insertions.count == 1 && first.updates.isEmpty)
    tag.name = "b"
    #expect(try results.update().updates == [FetchedIndex(section: 0, item: 0)])
  }

  /// The save has nothing to write, because the merge policy takes its only change back.
  @Test func aDeletionThatAPolicyTakesBackIsFollowed() throws {
    let tag = Tag(name: "a", in: context)
    try context.save()
    let results = try FetchedResultsController(request(), in: context)
    let child = ManagedObjectContext(parent: context)
    let childResults = try FetchedResultsController(request(), in: child)
    context.mergePolicy = .mergeByPropertyStoreTrump
    context.delete(tag)
    try results.update()
    try childResults.update()
    #expect(results.fetchedObjects.isEmpty && childResults.fetchedObjects.isEmpty)
    try #require(try other.existingObject(with: tag.objectID) as? Tag).name = "b"
    try other.save()
    try context.save()
    // Before any fetch, which would tell of the other context's save.
    let (shown, shownInChild) = (results.fetchedObjects, childResults.fetchedObjects)
    #expect(shown == [tag] && tag.name == "b")
    #expect(shownInChild.map(\.objectID) == [tag.objectID])
    #expect(try context.fetch(request()) == shown)
    #expect(try child.fetch(request()) == shownInChild)
  }

  /// The save has nothing to write.
  @Test func aNewObjectThatIsDeletedAgainLeavesWithTheSave() throws {
    let results = try FetchedResultsController(request(), in: context)
    let tag = Tag(name: "a", in: context)
    try results.update()
    #expect(results.fetchedObjects == [tag])
    context.delete(tag)
    try context.save()
    #expect(results.fetchedObjects.isEmpty)
    #expect(try context.fetch(request()).isEmpty)
  }

  /// An observer changes the results when it is told that they will change. The newest ones are shown, and the differences
  /// lead to them.
  @Test(.timeLimit(.minutes(10)), arguments: [false, true])
  func anObserverMayUpdateTheResults(isSaving: Bool) async throws {
    _ = Tag(name: "a", in: context)
    try context.save()
    // The registrar calls the observer on this thread, before `update()` and `save()` return.
    nonisolated(unsafe) let owner = context
    nonisolated(unsafe) var results: FetchedResultsController<Tag>? = try FetchedResultsController(
      request(), in: context)
    nonisolated(unsafe) var isTold = false
    func ids() -> [[ManagedObjectID]] { results?.sections.map { $0.objects.map(\.objectID) } ?? [] }
    let diffs = try #require(results?.diffs)
    var list = ids()
    withObservationTracking {
      _ = results?.sections
    } onChange: {
      if isTold { return }
      isTold = true
      _ = Tag(name: "c", in: owner)
      do {
        if isSaving { try owner.save() } else { try results?.update() }
      } catch {
        Issue.record(error)
      }
    }
    let b = Tag(name: "b", in: context)
    try results?.update()
    #expect(isTold && results?.fetchedObjects.map(\.name) == ["c", "b", "a"])
    #expect(results?.index(of: b) == FetchedIndex(section: 0, item: 1))
    let last = ids()
    // The differences end with the controller.
    results = nil
    for await diff in diffs { list = apply(diff, to: list, last) }
    #expect(list == last)
  }

  /// Nothing else would update the results later.
  @Test(.onceForAllKinds) func aSaveOfACancelledTaskIsFollowed() async throws {
    let (isFollowed, count) = try await Task { () -> (Bool, Int) in
      let store = try TemporaryStore()
      let context = try store.freshContext()
      defer { withExtendedLifetime(store) {} }
      // So many matches that a fetch looks whether its task was cancelled.
      for number in 0..<2_000 { _ = Tag(name: "a-\(number)", in: context) }
      try context.save()
      var request = FetchRequest<Tag>(where: try FetchPredicate(format: "name MATCHES '[a-z]+-[0-9]+'"))
      request.sortKeys = [SortKey("name")]
      let results = try FetchedResultsController(request, in: context)
      withUnsafeCurrentTask { $0?.cancel() }
      #expect(throws: CancellationError.self) { try context.fetch(request) }
      _ = Tag(name: "b-1", in: context)
      try context.save()
      return (results.error == nil, results.fetchedObjects.count)
    }.value
    #expect(isFollowed && count == 2_001)
  }

  @Test func anotherInstanceIsAnUpdate() async throws {
    let former = Tag(name: "a", in: context)
    try context.save()
    var results: FetchedResultsController<Tag>? = try FetchedResultsController(request(), in: context)
    let diffs = results?.diffs
    context.reset()
    let diff = try results?.update()
    #expect(diff?.updates == [FetchedIndex(section: 0, item: 0)])
    let present = try #require(results?.fetchedObjects.first)
    #expect(present !== former && present.managedObjectContext === context)
    #expect(try results?.update().isEmpty == true)
    // The end of the controller is the end of its differences.
    results = nil
    var told: [FetchedResultsDiff] = []
    for await diff in try #require(diffs) { told.append(diff) }
    #expect(told.count == 1 && told.first == diff)
  }

  @Test func aRowThatReturnsElsewhereIsNoSilentChange() async throws {
    let former = Tag(name: "a", in: context)
    try context.save()
    var results: FetchedResultsController<Tag>? = try FetchedResultsController(request(), in: context)
    let diffs = results?.diffs
    other.undoManager = ContextUndoManager()
    other.delete(try other.existingObject(with: former.objectID))
    try other.save()
    other.undo()
    try other.save()
    let found = try Tag.objects(in: context)
    #expect(found.map(\.name) == ["a"] && results?.fetchedObjects == found)
    results = nil
    var told: [FetchedResultsDiff] = []
    for await diff in try #require(diffs) { told.append(diff) }
    #expect(told.contains { !$0.updates.isEmpty || !$0.insertions.isEmpty })
  }

  /// A deletion changes no object that refers to the deleted one without an inverse.
  @Test(.timeLimit(.minutes(10))) func aReferenceThatLosesItsObjectIsAnUpdate() async throws {
    let author = Author(name: "Thoreau", in: context)
    let book = Book(title: "Walden", isbn: "1", author: author, in: context)
    let shelf = Shelf(in: context)
    shelf.favourite = book
    try context.save()
    let results = try FetchedResultsController(
      FetchRequest<Shelf>(), sectionKeyPath: "favourite.title", in: context)
    let index = FetchedIndex(section: 0, item: 0)
    func values() -> [FetchedValue] { results.sections.map(\.value) }
    #expect(values() == [.attribute(.string("Walden"))])
    context.delete(book)
    #expect(try results.update().updates == [index])
    #expect(values() == [.attribute(.null)])
    context.rollback()
    #expect(try results.update().updates == [index])
    #expect(values() == [.attribute(.string("Walden"))])
    #expect(try results.update().isEmpty)
    let diffs = results.diffs
    other.delete(try other.existingObject(with: book.objectID))
    try other.save()
    _ = try Author.objects(in: context)
    #expect(values() == [.attribute(.null)])
    for await diff in diffs {
      #expect(diff.updates == [index])
      break
    }
  }

  /// Keys begin with 1 for each root entity, so the note has the key of the first film.
  @Test(.onceForAllKinds) func onlyTheDeletionOfItsOwnObjectUpdatesAReference() throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(name: "Medium", attributes: [AttributeDescription(name: "name", type: .string)]),
      EntityDescription(name: "Film", parent: "Medium"),
      EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)]),
      EntityDescription(
        name: "Card",
        relationships: [
          RelationshipDescription(name: "medium", destination: "Medium"),
          RelationshipDescription(name: "note", destination: "Note"),
        ]),
    ])
    let context = container.newContext()
    let films = try (1...2).map { _ in try context.insert(entityNamed: "Film") }
    let note = try context.insert(entityNamed: "Note")
    for film in films { try film.setValue("a", forKey: "name") }
    try note.setValue("a", forKey: "text")
    for film in films { try context.insert(entityNamed: "Card").setValue(film, forKey: "medium") }
    try context.save()
    let results = try FetchedResultsController(
      FetchRequest<ManagedObject>(entityName: "Card"), in: context)
    context.delete(note)
    #expect(try results.update().isEmpty)
    context.delete(films[1])
    #expect(try results.update().updates == [FetchedIndex(section: 0, item: 1)])
    context.rollback()
    #expect(try results.update().updates == [FetchedIndex(section: 0, item: 1)])
  }

  @Test func aSectionIsAnAttribute() throws {
    #expect(throws: FetchError.notAValue(entity: "Tag", key: "books")) {
      try FetchedResultsController(request(), sectionKeyPath: "books", in: context)
    }
    #expect(throws: FetchError.self) {
      try FetchedResultsController(request(), sectionKeyPath: "nothing", in: context)
    }
  }

  @Test(arguments: 1...6)
  func afterAnyChangeTheResultsAreThoseOfAFetch(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let author = Author(name: "Thoreau", in: context)
    try context.save()
    var request = FetchRequest<Book>(where: { $0.salesRank != 3 })
    request.sortKeys = [SortKey("priority"), SortKey("title", ascending: false)]
    let results = try FetchedResultsController(request, sectionKeyPath: "priority", in: context)
    var number = 0
    for _ in 0..<60 {
      let isOwn = Bool.random(using: &random)
      let worker = isOwn ? context : other
      let books = try Book.objects(in: worker)
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        let book = books.filter { !$0.isDeleted }.randomElement(using: &random)
        switch (Int.random(in: 0...4, using: &random), book) {
        case (0, let book?): worker.delete(book)
        case (1, let book?): book.priority = [.low, .normal, .high].randomElement(using: &random) ?? .low
        case (2, let book?): book.title = String(Int.random(in: 0...9, using: &random))
        case (3, let book?): book.salesRank = Int64.random(in: 2...4, using: &random)
        default:
          number += 1
          let same = try #require(try worker.existingObject(with: author.objectID) as? Author)
          let new = Book(title: "\(number % 10)", isbn: "\(number)", author: same, in: worker)
          new.priority = [.low, .normal, .high].randomElement(using: &random) ?? .low
        }
      }
      try worker.save()
      var sorted = request
      sorted.sortKeys = [SortKey("priority"), SortKey("title", ascending: false)]
      // A fetch learns of what the other has saved, and with it the results do.
      let fetched = try context.fetch(sorted)
      #expect(results.fetchedObjects == fetched)
      for section in results.sections {
        #expect(
          section.objects.allSatisfy { section.value == .value($0.priority) } && !section.objects.isEmpty)
      }
    }
  }

  @Test(arguments: 1...20)
  func everyDiffLeadsToTheNewResults(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let author = Author(name: "Thoreau", in: context)
    let books = (0..<12).map { Book(title: "\($0)", isbn: "\($0)", author: author, in: context) }
    try context.save()
    var request = FetchRequest<Book>(where: { $0.salesRank != 3 })
    request.sortKeys = [SortKey("title", options: .caseInsensitive)]
    let results = try FetchedResultsController(request, sectionKeyPath: "priority", in: context)
    for _ in 0..<30 {
      let old = results.sections.map { $0.objects.map(\.objectID) }
      for book in books.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)) {
        book.priority = [.low, .normal, .high].randomElement(using: &random) ?? .low
        book.title = String(Int.random(in: 0...20, using: &random))
        book.salesRank = Int64.random(in: 2...4, using: &random)
      }
      let diff = try results.update()
      let new = results.sections.map { $0.objects.map(\.objectID) }
      #expect(apply(diff, to: old, new) == new)
    }
  }
}
