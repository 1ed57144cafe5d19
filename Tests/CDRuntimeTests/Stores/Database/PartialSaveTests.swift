import CDRuntime
import Foundation
import Testing

/// Saves to several files that reach some of them: SQLite commits one after the other.
@Suite(.serialized, .onlyOnSQLite("its commits; StoreKindTests has the other kinds"))
struct PartialSaveTests {
  private let stores: DiaryStores

  init() throws { stores = try DiaryStores() }

  /// Where the disk of one of the stores has no room, that one comes last: what is written refers to nothing that is
  /// not, for notes refer to people.
  @Test func whatIsWrittenIsSavedAndTheRestStaysToBeSaved() throws {
    try FullDisk.install()
    let full = stores.folder.appending(path: "full.sqlite")
    let descriptions = [
      PersistentStoreDescription(.sqlite(full), configuration: "Notes"),
      PersistentStoreDescription(.sqlite(stores.people), configuration: "People"),
    ]
    let coordinator = try stores.container(descriptions).persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (grace, note) = try DiaryStores.fill(context)
    // Its file would be refused before the save begins.
    try note.setValue(.attribute(.null), forKey: "scan")
    FullDisk.whileFull {
      #expect(
        throws: SaveError.partlySaved(written: [stores.people], reason: .diskFull([full, stores.people]))
      ) { try context.save() }
      #expect(!grace.isInserted && note.isInserted && context.hasChanges)
      #expect(context.insertedObjects.count == 2 && context.updatedObjects.isEmpty)
      // The rest alone has nothing that could be written in part.
      #expect(throws: StoreError.diskFull([full, stores.people])) { try context.save() }
    }
    let finding = StoreFinding.incompleteSave(
      id: 1, store: grace.objectID.storeID, missing: [note.objectID.storeID])
    #expect(try coordinator.verify() == [finding])
    #expect(
      "\(finding)"
        == "save 1 of the store \(grace.objectID.storeID) has not reached the stores \(note.objectID.storeID)"
    )
    let other = try stores.freshContext(descriptions)
    #expect(
      try other.existingObject(with: grace.objectID).value(forKey: "name") == .attribute(.string("Grace")))
    #expect(try DiaryStores.texts("text != ''", other).isEmpty)

    try context.save()
    #expect(!context.hasChanges)
    #expect(
      try DiaryStores.texts("author.name == 'Grace'", stores.freshContext(descriptions)) == ["Compile it"])
    #expect(try coordinator.verify() == [])
    try grace.setValue("Grace H.", forKey: "name")
    try note.setValue("Link it", forKey: "text")
    try context.save()
    #expect(
      try DiaryStores.texts("author.name == 'Grace H.'", stores.freshContext(descriptions)) == ["Link it"])
  }

  @Test func whatStaysCanBeRolledBack() throws {
    try FullDisk.install()
    let full = stores.folder.appending(path: "full.sqlite")
    let descriptions = [
      PersistentStoreDescription(.sqlite(stores.people), configuration: "People"),
      PersistentStoreDescription(.sqlite(full), configuration: "Notes"),
    ]
    let context = try stores.freshContext(descriptions)
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    try FullDisk.whileFull {
      try grace.setValue("Ada", forKey: "name")
      try note.setValue("Weave it", forKey: "text")
      #expect(throws: SaveError.self) { try context.save() }
    }
    context.rollback()
    #expect(try grace.value(forKey: "name") == .attribute(.string("Ada")))
    #expect(try note.value(forKey: "text") == .attribute(.string("Compile it")))
    try grace.setValue("Ada L.", forKey: "name")
    try context.save()
    #expect(
      try DiaryStores.texts("author.name == 'Ada L.'", stores.freshContext(descriptions)) == ["Compile it"])
  }

  /// As after a power failure, or where one file has been restored from a backup.
  @Test func aSaveThatIsMissingInOneOfTheFilesIsFound() throws {
    let container = try stores.container()
    let context = container.newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    let (people, notes) = (grace.objectID.storeID, note.objectID.storeID)
    try PlainSQL.run("DELETE FROM _cdgen_history; DELETE FROM Note", at: stores.notes)
    #expect(
      try container.persistentStoreCoordinator.verify() == [
        .incompleteSave(id: 1, store: people, missing: [notes])
      ])
    // Nothing is said of a store that is not there.
    try container.persistentStoreCoordinator.removePersistentStore(withID: notes)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }
}
