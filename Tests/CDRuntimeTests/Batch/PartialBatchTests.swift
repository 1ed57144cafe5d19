import CDRuntime
import Foundation
import Testing

/// Batches that change several files, one of which cannot be written.
@Suite(.onceForAllKinds) struct PartialBatchTests {
  private let stores: MixedStores
  private let people: URL
  private let notes: URL
  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let person: ManagedObject
  private let note: ManagedObject

  private static var everybody: FetchRequest<ManagedObject> { FetchRequest(entityName: "Person") }

  init() throws { try self.init(fullPeople: false) }

  /// A person with a note. SQLite writes people before notes, because notes refer to them.
  ///
  /// - Parameter fullPeople: Whether the disk of the people is the one that will be full.
  private init(fullPeople: Bool) throws {
    try FullDisk.install()
    stores = try MixedStores(.files)
    let other = stores.folder.appending(path: "other.sqlite")
    people = fullPeople ? stores.file : other
    notes = fullPeople ? other : stores.file
    coordinator = try PersistentStoreCoordinator(
      model: MixedStores.model,
      stores: [
        PersistentStoreDescription(.sqlite(people), configuration: "People"),
        PersistentStoreDescription(.sqlite(notes), configuration: "Notes"),
      ])
    context = PersistentContainer(coordinator).newContext()
    person = try MixedStores.add("Person", "p", context)
    note = try MixedStores.add("Note", "n", context)
    try note.setValue(person, forKey: "author")
    try context.save()
  }

  private func counts() throws -> [Int] {
    let fresh = PersistentContainer(coordinator).newContext()
    return try ["Person", "Note"].map { try fresh.count(for: FetchRequest<ManagedObject>(entityName: $0)) }
  }

  @Test func aDeletionSaysWhatIsLeft() throws {
    let left = ManagedObjectIDs([note.objectID])
    let error = BatchError.partlyWritten(
      written: [people], missing: ObjectChanges(deleted: left), reason: .diskFull([people, notes]))
    FullDisk.whileFull {
      #expect(throws: error) { try context.execute(BatchDeleteRequest(Self.everybody)) }
    }
    #expect("\(error)".contains("\(people.path(percentEncoded: false)), but not in the other stores"))
    #expect("\(error)".contains("objects left: 1 to delete"))
    #expect(person.isInaccessible && !note.isInaccessible)
    #expect(try counts() == [0, 1])
    // The same batch does not reach the note any more.
    #expect(try context.execute(BatchDeleteRequest(Self.everybody)).count == 0)
    let rest = FetchRequest<ManagedObject>(
      entityName: "Note", where: try FetchPredicate(format: "SELF IN %@", Array(left)))
    #expect(try context.execute(BatchDeleteRequest(rest)).count == 1)
    #expect(try counts() == [0, 0])
    let notePart = note.objectID.storeID
    #expect(
      try coordinator.verify().allSatisfy {
        if case .incompleteSave(_, _, [notePart]) = $0 { true } else { false }
      })
  }

  @Test func whereTheFirstFileFailsNothingIsWritten() throws {
    let tests = try PartialBatchTests(fullPeople: true)
    let request = BatchDeleteRequest(Self.everybody)
    FullDisk.whileFull {
      #expect(throws: StoreError.diskFull([tests.people, tests.notes])) {
        try tests.context.execute(request)
      }
    }
    #expect(try tests.counts() == [1, 1])
    #expect(!tests.person.isInaccessible && !tests.note.isInaccessible)
    #expect(try tests.context.execute(request).changes.deleted.count == 2)
    #expect(try tests.counts() == [0, 0])
    #expect(try tests.coordinator.verify() == [])
  }

  /// Where only one of the stores is changed, nothing is left.
  @Test func aBatchInOneStoreIsWrittenOrNot() throws {
    let request = BatchUpdateRequest(
      FetchRequest<ManagedObject>(entityName: "Note"), set: [.set("stars", to: .attribute(.int(1)))])
    FullDisk.whileFull {
      #expect(throws: StoreError.diskFull([people, notes])) { try context.execute(request) }
    }
    #expect(try context.execute(request).count == 1)
    #expect(try coordinator.verify() == [])
  }
}
