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
      // The relationship to the note is in the note's row.
      #expect(
        context.insertedObjects.count == 2 && context.updatedObjects.map(\.objectID) == [grace.objectID])
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

/// Saves to several stores that reach some of them: what contexts keep of relationships to objects in the other ones.
@Suite(.serialized, .onceForAllKinds) struct UnwrittenRelationshipTests {
  private let stores: DiaryStores

  init() throws { stores = try DiaryStores() }

  /// The rows of a relationship may be in the store that has not been written. Its objects and their order stay to be saved.
  @Test func relationshipsToObjectsThatAreNotWrittenStay() throws {
    try FullDisk.install()
    let full = stores.folder.appending(path: "full.sqlite")
    let descriptions = [
      PersistentStoreDescription(.sqlite(full), configuration: "Notes"),
      PersistentStoreDescription(.sqlite(stores.people), configuration: "People"),
    ]
    let coordinator = try stores.container(descriptions).persistentStoreCoordinator
    let context = PersistentContainer(coordinator).newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try note.setValue(.attribute(.null), forKey: "scan")
    let other = try #require(try context.objects(forEntityNamed: "Note", format: "author == nil").first)
    try grace.setValue([other, note], forKey: "marks")
    try FullDisk.whileFull { () throws in
      #expect(throws: SaveError.self) { try context.save() }
      #expect(try grace.value(forKey: "notes") == .objects([note]))
      #expect(try grace.value(forKey: "marks") == .objects([other, note]))
      // The changes that are left belong to one store.
      #expect(throws: StoreError.diskFull([full, stores.people])) { try context.save() }
    }
    #expect(try grace.value(forKey: "notes") == .objects([note]))
    try context.save()
    #expect(!context.hasChanges)
    #expect(try grace.value(forKey: "notes") == .objects([note]))
    let fresh = try stores.freshContext(descriptions)
    let saved = try fresh.existingObject(with: grace.objectID)
    #expect(
      try saved.value(forKey: "marks")
        == .objects([
          fresh.existingObject(with: other.objectID), fresh.existingObject(with: note.objectID),
        ]))
    #expect(try coordinator.verify() == [])
    // The deletion reaches the notes.
    context.delete(grace)
    try context.save()
    #expect(try note.value(forKey: "author") == .object(nil))
    #expect(try coordinator.verify() == [])
  }

  /// Of objects that were there before, new relationships stay to be saved, and can be rolled back.
  @Test(arguments: [true, false]) func newRelationshipsOfSavedObjectsStay(isRolledBack: Bool) throws {
    try FullDisk.install()
    let full = stores.folder.appending(path: "full.sqlite")
    let descriptions = [
      PersistentStoreDescription(.sqlite(full), configuration: "Notes"),
      PersistentStoreDescription(.sqlite(stores.people), configuration: "People"),
    ]
    let context = try stores.freshContext(descriptions)
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    let other = try #require(try context.objects(forEntityNamed: "Note", format: "author == nil").first)
    try grace.setValue("Ada", forKey: "name")
    try other.setValue(grace, forKey: "author")
    try grace.setValue([other, note], forKey: "marks")
    FullDisk.whileFull { #expect(throws: SaveError.self) { try context.save() } }
    if isRolledBack { context.rollback() } else { try context.save() }
    #expect(!context.hasChanges)
    let fresh = try stores.freshContext(descriptions)
    for context in [context, fresh] {
      let grace = try context.existingObject(with: grace.objectID)
      #expect(try grace.value(forKey: "name") == .attribute(.string("Ada")))
      guard case .objects(let notes) = try grace.value(forKey: "notes"),
        case .objects(let marks) = try grace.value(forKey: "marks")
      else { continue }
      #expect(
        Set(notes.map(\.objectID))
          == Set(isRolledBack ? [note.objectID] : [note.objectID, other.objectID]))
      #expect(marks.map(\.objectID) == (isRolledBack ? [] : [other.objectID, note.objectID]))
    }
  }
}

/// Saves to a file that is written as a whole, and to a SQLite file whose disk is full. The first file has its final name
/// before SQLite commits.
@Suite(.onceForAllKinds) struct RefusedCommitTests {
  private let stores: DiaryStores
  private let full: URL

  init() throws {
    try FullDisk.install()
    stores = try DiaryStores()
    full = stores.folder.appending(path: "full.sqlite")
  }

  private func file(_ kind: StoreKind) -> URL { stores.folder.appending(path: "people.\(kind.rawValue)") }

  private func descriptions(_ kind: StoreKind, isReadOnly: Bool = false) -> [PersistentStoreDescription] {
    [
      PersistentStoreDescription(
        kind.location(file(kind)), configuration: "People", isReadOnly: isReadOnly),
      PersistentStoreDescription(.sqlite(full), configuration: "Notes", isReadOnly: isReadOnly),
    ]
  }

  /// The names of the people and the texts of the notes that another program reads.
  private func stored(_ kind: StoreKind) throws -> [String] {
    let context = try stores.freshContext(descriptions(kind, isReadOnly: true))
    let people = try context.objects(forEntityNamed: "Person", format: "TRUEPREDICATE")
    let names = try people.compactMap { person -> String? in
      if case .attribute(.string(let name)) = try person.value(forKey: "name") { return name }
      return nil
    }
    return try names.sorted() + DiaryStores.texts("TRUEPREDICATE", context).sorted()
  }

  private func fill(_ context: ManagedObjectContext) throws -> (person: ManagedObject, note: ManagedObject) {
    let (grace, note) = try DiaryStores.fill(context)
    // Its file would be refused before the save begins.
    try note.setValue(.attribute(.null), forKey: "scan")
    return (grace, note)
  }

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: stores.folder.path) }
  }

  /// - Parameter canLink: Whether the file system has hard links, by which the old file is kept.
  @Test(arguments: StoreKind.whole, [true, false])
  func theFileHasNothingOfTheSave(kind: StoreKind, canLink: Bool) throws {
    let other = stores.folder.appending(path: "people.\(kind.rawValue)-before-saving")
    // No link can take the place of a folder.
    if !canLink { try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true) }
    let context = try stores.freshContext(descriptions(kind))
    let before = try Data(contentsOf: file(kind))
    let (grace, note) = try fill(context)
    FullDisk.whileFull {
      #expect(throws: StoreError.diskFull([file(kind), full])) { try context.save() }
    }
    #expect(try stored(kind).isEmpty)
    if canLink { #expect(try Data(contentsOf: file(kind)) == before) }
    #expect(grace.isInserted && note.isInserted && context.hasChanges)
    // The old file is locked, as the new one was.
    #expect(throws: StoreError.inUse(file(kind))) { try stores.container(descriptions(kind)) }

    try context.save()
    #expect(try stored(kind) == ["Grace", "Compile it", "Nobody's"])
    #expect(try !names.contains { $0.hasSuffix("-saving") } || !canLink)
    #expect(try context.persistentStoreCoordinator.verify() == [])
  }

  /// Somebody else moves the file in the meantime: the error says that it has changes that were not saved, and the next save
  /// writes it, although it concerns the other store only.
  @Test(arguments: StoreKind.whole) func aFileThatCannotBeRestoredIsNamed(kind: StoreKind) throws {
    let context = try stores.freshContext(descriptions(kind))
    _ = try fill(context)
    let (people, moved) = (file(kind), stores.folder.appending(path: "moved"))
    let error = FullDisk.whileFull(
      beforeFirstFailure: { _ = try? FileManager.default.moveItem(at: people, to: moved) },
      { #expect(throws: StoreError.self) { try context.save() } })
    guard case .notRestored([people], let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("is full") && reason.contains("has been removed, replaced or changed"))
    try FileManager.default.moveItem(at: moved, to: people)
    #expect(try stored(kind) == ["Grace"])

    context.rollback()
    let note = try context.insert(entityNamed: "Note")
    try note.setValue("Alone", forKey: "text")
    try context.save()
    #expect(try stored(kind) == ["Alone"])
    #expect(try !names.contains { $0.hasSuffix("-saving") })
  }

  /// The rows of such a file name the files of large values, which the failed save does not remove.
  @Test(arguments: StoreKind.whole)
  func aFileThatCannotBeRestoredKeepsItsLargeValues(kind: StoreKind) throws {
    let notes = stores.folder.appending(path: "notes.\(kind.rawValue)")
    func descriptions(isReadOnly: Bool = false) -> [PersistentStoreDescription] {
      [
        PersistentStoreDescription(.sqlite(full), configuration: "People", isReadOnly: isReadOnly),
        PersistentStoreDescription(kind.location(notes), configuration: "Notes", isReadOnly: isReadOnly),
      ]
    }
    let context = try stores.freshContext(descriptions())
    let (_, note) = try DiaryStores.fill(context)
    let moved = stores.folder.appending(path: "moved")
    let error = FullDisk.whileFull(
      beforeFirstFailure: { _ = try? FileManager.default.moveItem(at: notes, to: moved) },
      { #expect(throws: StoreError.self) { try context.save() } })
    guard case .notRestored([notes], _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try FileManager.default.moveItem(at: moved, to: notes)
    let reader = try stores.freshContext(descriptions(isReadOnly: true))
    let read = try reader.existingObject(with: note.objectID)
    #expect(try read.value(forKey: "scan") == .attribute(.data(Data(repeating: 1, count: 100_000))))
    #expect(reader.recentErrors == [])
  }

  /// A program that was killed during a save leaves the old file under its other name.
  @Test(arguments: StoreKind.whole, [true, false])
  func whatAnInterruptedSaveLeavesIsRemoved(kind: StoreKind, isRenamed: Bool) throws {
    try { _ = try stores.container(descriptions(kind)) }()
    let kept = stores.folder.appending(path: "people.\(kind.rawValue)-before-saving")
    if isRenamed {
      try FileManager.default.copyItem(at: file(kind), to: kept)
    } else {
      try FileManager.default.linkItem(at: file(kind), to: kept)
    }
    _ = try stores.container(descriptions(kind))
    #expect(try !names.contains(kept.lastPathComponent))
  }
}
