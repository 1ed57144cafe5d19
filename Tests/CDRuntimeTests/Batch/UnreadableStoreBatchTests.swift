import Foundation
import Testing

@testable import CDRuntime

/// Batches in a store that can be written, but not read afterwards.
@Suite(.onceForAllKinds) struct UnreadableStoreBatchTests {
  /// An error would say that nothing has been written, and the app would write the batch twice.
  @Test func aWrittenBatchThrowsNoErrorOfALaterRead() throws {
    let (container, engine) = UnreadableEngine.container(
      of: try PersistentContainer(scratchFor: LibraryModel.self, ScratchStore(.memory))
        .persistentStoreCoordinator)
    let context = container.newContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    #expect(try Tag.objects(in: context).map(\.name) == ["a"])
    let rows: [[String: FetchedValue]] = [["label": .value("s")]]
    try engine.whileUnreadable {
      #expect(throws: StoreError.self) { try Tag.objects(in: context) }
      let inserted = try context.execute(
        BatchInsertRequest<ManagedObject>(entityName: "Shelf", rows: rows))
      #expect(inserted.count == 1)
      let updated = try context.execute(
        BatchUpdateRequest(
          FetchRequest<ManagedObject>(entityName: "Tag"), set: [.set("name", to: .attribute(.string("b")))]))
      #expect(updated.count == 1)
    }
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf")) == 1)
    #expect(tag.name == "b")
  }
}
