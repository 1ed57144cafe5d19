import Foundation
import Testing

@testable import CDRuntime

@Suite struct LazyFetchTests {
  private let container: PersistentContainer
  private static let count = 5000

  init() throws {
    container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    for number in 0..<Self.count { _ = Tag(name: "tag \(number)", in: context) }
    try context.save()
  }

  @Test(.needs(.statements)) func batchesAreReadAsTheyAreTouched() throws {
    let context = container.newContext()
    var request = FetchRequest<Tag>()
    request.sortKeys = [SortKey("name", ascending: false)]
    request.batchSize = 50
    let trace = try StatementTrace(context)
    let tags = try context.lazyFetch(request)
    #expect(tags.count == Self.count)
    #expect(context.registeredObjects.isEmpty)
    #expect(trace.taken().map { $0.contains("\"name\" FROM") } == [false])
    #expect(tags[0].name == "tag 999")
    #expect(tags[49].name == "tag 954")
    #expect(context.registeredObjects.count == 50)
    #expect(trace.taken().count == 1)
    #expect(tags[4999].name == "tag 0")
    #expect(tags.last === tags[4999])
    #expect(context.registeredObjects.count == 100)
    #expect(trace.taken().count == 1)
    #expect(tags.objectID(at: 7) == tags[7].objectID)
    #expect(Array(tags.objectIDs[..<3]) == tags.prefix(3).map(\.objectID))
  }

  @Test func aWalkHoldsFewObjects() throws {
    let context = container.newContext()
    var request = FetchRequest<Tag>()
    request.batchSize = 100
    var most = 0
    var total = 0
    for (place, tag) in try context.lazyFetch(request).enumerated() {
      total += tag.name.utf8.count
      if place % 500 == 0 { most = max(most, context.registeredObjects.count) }
    }
    #expect(total > Self.count * 5)
    // The map lets go of what nobody holds from 2,048 objects on.
    #expect(most <= 2200)
  }

  @Test(.needs(.decisions)) func changesAndDeletionsMoveNothing() throws {
    let context = container.newContext()
    let new = Tag(name: "a new one", in: context)
    var request = FetchRequest<Tag>()
    request.sortKeys = [SortKey("name")]
    request.batchSize = 10
    let tags = try context.lazyFetch(request)
    #expect(tags.count == Self.count + 1)
    #expect(tags[0] === new)
    let other = container.newContext()
    let gone = try #require(try Tag.object(matching: \.name, "tag 2002", in: other))
    other.delete(gone)
    try other.save()
    let place = try #require(tags.objectIDs.firstIndex(of: gone.objectID))
    #expect(tags[place].name == "")
    #expect(tags[place].isInaccessible)
    #expect(tags[place + 1].name == "tag 2003")
    tags[place + 1].name = "zzz"
    #expect(tags[place + 1].name == "zzz")
    #expect(tags.count == Self.count + 1)
  }

  @Test func aChildReadsWhatItsParentHasChanged() throws {
    let parent = container.newContext()
    let tag = try #require(try Tag.object(matching: \.name, "tag 7", in: parent))
    let child = ManagedObjectContext(parent: parent)
    let mine = try child.localInstance(of: tag)
    let new = Tag(name: "new", in: child)
    tag.name = "new"
    let found = try child.lazyFetch(FetchRequest<Tag>(where: \.name == "new"))
    #expect(Set(found) == [mine, new])
    #expect(found.map(\.name) == ["new", "new"] && mine.name == "new")
  }

  /// The undo manager keeps an object whose deletion has been saved.
  @Test func anObjectWhoseRowIsWrittenAnewIsReadAgain() throws {
    let context = container.newContext()
    context.undoManager = ContextUndoManager()
    let other = container.newContext()
    other.mergePolicy = .overwrite
    let tag = try #require(try Tag.object(matching: \.name, "tag 7", in: context))
    try #require(try other.existingObject(with: tag.objectID) as? Tag).name = "new"
    context.delete(tag)
    try context.save()
    try other.save()
    let found = try #require(try context.lazyFetch(FetchRequest<Tag>(where: \.name == "new")).first)
    #expect(found === tag && !tag.isDeleted && !tag.isInaccessible)
    #expect(tag.name == "new")
  }

  /// The batch is still held when another object stands for the row.
  @Test(.onceForAllKinds) func aRowThatReturnsHasItsNewObject() throws {
    let context = container.newContext()
    var request = FetchRequest<Tag>(where: try FetchPredicate(format: "name IN {'tag 7', 'tag 8'}"))
    request.sortKeys = [SortKey("name")]
    let tags = try context.lazyFetch(request)
    let (former, neighbour) = (tags[0], tags[1])
    let other = container.newContext()
    other.undoManager = ContextUndoManager()
    other.delete(try other.existingObject(with: former.objectID))
    try other.save()
    #expect(try context.count(for: request) == 1)
    #expect(tags[0] === former && former.isInaccessible && former.name == "tag 7")
    other.undo()
    try other.save()
    let found = try context.fetch(request)
    #expect(found.first !== former && tags[0] === found.first)
    #expect(!tags[0].isInaccessible && tags[0].name == "tag 7")
    #expect(tags[1] === neighbour)
  }

  @Test(.onceForAllKinds) func afterAResetAllObjectsAreCreatedAgain() throws {
    let context = container.newContext()
    var request = FetchRequest<Tag>()
    request.batchSize = 10
    let tags = try context.lazyFetch(request)
    let former = [tags[0], tags[10]]
    context.reset()
    #expect(former[0].isInaccessible && former[1].isInaccessible)
    let present = [tags[10], tags[0]]
    #expect(present.allSatisfy { !$0.isInaccessible && $0.managedObjectContext === context })
    #expect(present.map(\.name) == former.reversed().map(\.name))
    #expect(tags[0] === present[1])
  }

  @Test(.needs(.statements)) func relationshipsComeWithTheirBatch() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    var request = FetchRequest<Publication>()
    request.batchSize = 5
    request.prefetch = ["author"]
    let publications = try context.lazyFetch(request)
    #expect(publications.count == 15)
    let trace = try StatementTrace(context)
    #expect(publications.prefix(5).map(\.author.name).count == 5)
    #expect(trace.taken().count == 2)
    #expect(publications.last is Magazine)
    #expect(publications.first is Book)
  }
}
