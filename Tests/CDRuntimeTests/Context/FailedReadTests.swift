import Foundation
import Testing

@testable import CDRuntime

/// The store cannot be read for a moment. Nothing is taken for gone afterwards, and what could not be done is said.
@Suite(.onceForAllKinds) struct FailedReadTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(scratchFor: LibraryModel.self, ScratchStore(.memory))
    context = container.newContext()
    other = container.newContext()
  }

  /// Runs a body while no context can read: a store in memory refuses reads during the thread's own write.
  private func withoutReads(_ body: @escaping () -> Void) throws {
    var isDone = false
    let rows = (0..<1).lazy.map { _ -> [String: FetchedValue] in
      if !isDone {
        isDone = true
        body()
      }
      return ["label": .value("of the batch")]
    }
    try other.execute(BatchInsertRequest<ManagedObject>(entityName: "Shelf", rows: rows))
    #expect(isDone)
  }

  private var failedReads: Int {
    context.recentErrors.count { if case .readFailed = $0.reason { true } else { false } }
  }

  private func savedTag() throws -> Tag {
    let tag = Tag(name: "a", in: context)
    try context.save()
    context.refreshAllObjects()
    #expect(tag.isFault)
    return tag
  }

  @Test func aFetchFindsTheObjectAgain() throws {
    let tag = try savedTag()
    try withoutReads { _ = tag.name }
    #expect(tag.isInaccessible && failedReads == 1)
    #expect(try Tag.objects(in: context) == [tag])
    #expect(!tag.isInaccessible && tag.name == "a")
    context.delete(tag)
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).isEmpty)
  }

  @Test func itsIdentifierFindsTheObjectAgain() throws {
    let tag = try savedTag()
    try withoutReads { _ = tag.name }
    #expect(tag.isInaccessible)
    #expect(try context.existingObject(with: tag.objectID) === tag)
    #expect(!tag.isInaccessible && tag.name == "a")
  }

  @Test func whatWasSetMeanwhileIsLostLoudly() throws {
    let tag = try savedTag()
    try withoutReads { tag.name = "b" }
    #expect(try Tag.objects(in: context).map(\.name) == ["a"])
    let lost = LostChange(entity: "Tag", property: "name", objectID: tag.objectID)
    #expect(throws: SaveError.changesLost([lost])) { try context.save() }
    tag.name = "b"
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).map(\.name) == ["b"])
  }
}
