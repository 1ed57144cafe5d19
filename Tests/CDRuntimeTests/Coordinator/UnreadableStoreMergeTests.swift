import Foundation
import Testing

@testable import CDRuntime

/// The view context merges saves by itself although the store could not be read when it was told to.
@Suite(.onceForAllKinds) struct UnreadableStoreMergeTests {
  @MainActor @Test(.timeLimit(.minutes(10)))
  func theViewContextBeginsToMergeOnceTheStoreCanBeRead() async throws {
    let (container, engine) = UnreadableEngine.container(
      of: try PersistentContainer(scratchFor: LibraryModel.self, ScratchStore(.memory))
        .persistentStoreCoordinator)
    let context = container.newContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    let shown = try #require(try container.viewContext.existingObject(with: tag.objectID) as? Tag)
    #expect(shown.name == "a")
    let changes = container.viewContext.changes
    engine.whileUnreadable {
      container.automaticallyMergesChangesFromParent = true
      #expect(container.automaticallyMergesChangesFromParent)
    }
    tag.name = "b"
    try context.save()
    for await change in changes {
      #expect(change.refreshed == ManagedObjectIDs([tag.objectID]))
      break
    }
    #expect(shown.name == "b")
    tag.name = "c"
    try context.save()
    for await change in changes {
      #expect(change.refreshed == ManagedObjectIDs([tag.objectID]))
      break
    }
    #expect(shown.name == "c")
    container.automaticallyMergesChangesFromParent = false
    #expect(!container.automaticallyMergesChangesFromParent)
  }
}
