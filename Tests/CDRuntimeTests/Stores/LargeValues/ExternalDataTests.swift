import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// Values of `external:` attributes: small ones stand in the row, large ones in files beside the store.
@Suite(.onlyOnSQLite("readers of older states; FileStoreExternalDataTests has the other kinds"))
struct ExternalDataTests {
  private let folder: URL
  private let url: URL
  private let files: URL

  private static let model = ManagedObjectModel(
    name: "Albums", id: UUID(uuidString: "0D5B1C0E-2B7A-4C58-9E7B-1E2D3C4B5A69") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Photo",
            attributes: [
              AttributeDescription(name: "title", type: .string),
              AttributeDescription(name: "pixels", type: .data, isOptional: true, storesExternally: true),
            ], uniquenessConstraints: [["title"]])
        ])
    ], currentVersionNumber: 1)

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "albums.sqlite")
    files = folder.appending(path: "albums.sqlite-external")
  }

  private func removeFiles() { try? FileManager.default.removeItem(at: folder) }

  private func container() throws -> PersistentContainer {
    try PersistentContainer(model: Self.model, at: url)
  }

  private func names() -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: files.path)) ?? []).sorted()
  }

  private func bytes(_ count: Int, _ value: UInt8) -> Data { Data(repeating: value, count: count) }

  private func pixels(_ photo: ManagedObject) throws -> Data? {
    if case .attribute(.data(let data)) = try photo.value(forKey: "pixels") { return data }
    return nil
  }

  private func addPhoto(_ title: String, _ pixels: Data?, _ context: ManagedObjectContext) throws
    -> ManagedObject
  {
    let photo = try context.insert(entityNamed: "Photo")
    try photo.setValue(title, forKey: "title")
    try photo.setValue(pixels, forKey: "pixels")
    return photo
  }

  @Test(arguments: [(0, 0), (1, 0), (65_536, 0), (65_537, 1), (3_000_000, 1)])
  func largeValuesAreFiles(size: Int, fileCount: Int) throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let id = try addPhoto("a", bytes(size, 7), context).objectID
    try context.save()
    #expect(names().count == fileCount)
    let other = try container().newContext()
    #expect(try pixels(try other.existingObject(with: id)) == bytes(size, 7))
  }

  @Test func aStoreInMemoryHasNoFiles() throws {
    defer { removeFiles() }
    let context = try PersistentContainer(inMemoryModel: Self.model).newContext()
    let photo = try addPhoto("a", bytes(200_000, 7), context)
    try context.save()
    context.refresh(photo, mergeChanges: false)
    #expect(try pixels(photo) == bytes(200_000, 7))
  }

  @Test func aChangedValueIsANewFileAndTheOldOneStaysForReaders() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let photo = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    let first = names()
    // Whoever reads an older state still finds what belongs to it.
    let reader = try container().newContext()
    try reader.perform {
      #expect(try reader.fetch(FetchRequest<ManagedObject>(entityName: "Photo")).count == 1)
      try photo.setValue(bytes(100_000, 2), forKey: "pixels")
      try context.save()
      let seen = try reader.existingObject(with: photo.objectID)
      #expect(try pixels(seen) == bytes(100_000, 1))
    }
    #expect(names().count == 2 && Set(names()).isSuperset(of: first))
    let fresh = try container().newContext()
    #expect(try pixels(try fresh.existingObject(with: photo.objectID)) == bytes(100_000, 2))
    // Another attribute's change leaves the file alone.
    try photo.setValue("b", forKey: "title")
    try context.save()
    #expect(names().count == 2)
  }

  @Test func aFailedSaveLeavesNoFile() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let photo = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    let before = names()
    let other = try container().newContext()
    let same = try other.existingObject(with: photo.objectID)
    try same.setValue("changed elsewhere", forKey: "title")
    try other.save()
    try photo.setValue(bytes(100_000, 2), forKey: "pixels")
    let conflict = SaveConflict(reason: .changed, objectID: photo.objectID, keys: ["title"])
    #expect(throws: SaveError.conflict([conflict])) {
      try context.save()
    }
    #expect(names() == before)
    context.rollback()
    context.refresh(photo, mergeChanges: false)
    #expect(try pixels(photo) == bytes(100_000, 1))
  }

  /// A second transaction would wait as long as the first one.
  @Test func aSaveThatHasWaitedInVainBeginsNoOtherTransaction() throws {
    defer { removeFiles() }
    let coordinator = try PersistentStoreCoordinator(
      model: Self.model, stores: [PersistentStoreDescription(.sqlite(url), busyTimeout: 0)])
    let context = PersistentContainer(coordinator).newContext()
    let photo = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    let before = names()
    let other = try SQLiteConnection(path: url.path(percentEncoded: false), of: [])
    try other.execute("BEGIN IMMEDIATE")
    try photo.setValue(bytes(100_000, 2), forKey: "pixels")
    let trace = try coordinator.database.writer.use { StatementTrace($0) }
    #expect(throws: StoreError.busy([url])) { try context.save() }
    #expect(trace.statements.filter { $0.hasPrefix("BEGIN") }.count == 1)
    #expect(names() == before)
    try other.execute("ROLLBACK")
    try context.save()
    #expect(names().count == 2)
  }

  /// Another program begins a transaction after the save has listed the file, and before the save begins its own one.
  @Test func aSaveThatCannotBeginItsTransactionLeavesNoFile() throws {
    defer { removeFiles() }
    let coordinator = try PersistentStoreCoordinator(
      model: Self.model, stores: [PersistentStoreDescription(.sqlite(url), busyTimeout: 0)])
    let context = PersistentContainer(coordinator).newContext()
    _ = try addPhoto("a", bytes(100_000, 1), context)
    let other = try SQLiteConnection(path: url.path(percentEncoded: false), of: [url])
    let writer = try coordinator.database.writer.use { $0.handle }
    // SQLite calls it after each commit.
    sqlite3_wal_hook(
      writer,
      { other, _, _, _ in
        guard let other else { return SQLITE_OK }
        try? Unmanaged<SQLiteConnection>.fromOpaque(other).takeUnretainedValue().execute("BEGIN IMMEDIATE")
        return SQLITE_OK
      }, Unmanaged.passUnretained(other).toOpaque())
    #expect(throws: StoreError.busy([url])) { try context.save() }
    sqlite3_wal_hook(writer, nil, nil)
    #expect(try other.scalar("SELECT count(*) FROM _cdgen_files") == "1")
    #expect(names().isEmpty)
    try other.execute("ROLLBACK")
    try context.save()
    #expect(names().count == 1)
  }

  /// The removal of old files would wait for the other transaction, and then fail.
  @Test func anOpeningDoesNotNeedToRemoveFiles() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let photo = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    try photo.setValue(bytes(100_000, 2), forKey: "pixels")
    try context.save()
    try PlainSQL.run("UPDATE _cdgen_files SET time = time - 7200", at: url)
    let writer = try SQLiteConnection(path: url.path(percentEncoded: false), of: [url])
    try writer.execute("BEGIN IMMEDIATE")
    let fresh = try container().newContext()
    #expect(names().count == 2)
    #expect(try pixels(try fresh.existingObject(with: photo.objectID)) == bytes(100_000, 2))
    try writer.execute("ROLLBACK")
    _ = try container()
    #expect(names().count == 1)
  }

  @Test func whatIsNotReferredToIsRemovedOnceItIsOldEnough() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let kept = try addPhoto("kept", bytes(100_000, 1), context)
    let changed = try addPhoto("changed", bytes(100_000, 2), context)
    let deleted = try addPhoto("deleted", bytes(100_000, 3), context)
    try context.save()
    try changed.setValue(bytes(100_000, 4), forKey: "pixels")
    context.delete(deleted)
    try context.save()
    #expect(names().count == 4)
    // Opened again at once, nothing is old enough.
    _ = try container()
    #expect(names().count == 4)
    try PlainSQL.run("UPDATE _cdgen_files SET time = time - 7200", at: url)
    let fresh = try container().newContext()
    #expect(names().count == 2)
    #expect(try pixels(try fresh.existingObject(with: kept.objectID)) == bytes(100_000, 1))
    #expect(try pixels(try fresh.existingObject(with: changed.objectID)) == bytes(100_000, 4))
  }

  @Test func theFileOfAValueThatABatchInsertReplacesIsListedAndNoOther() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    _ = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    let replaced = names()
    let kept = try addPhoto("b", bytes(100_000, 2), context)
    try context.save()
    var upsert = BatchInsertRequest<ManagedObject>(
      entityName: "Photo",
      rows: [["title": "a", "pixels": .attribute(.data(bytes(10, 3)))], ["title": "b"], ["title": "a"]])
    upsert.uniqueness = .update
    try context.execute(upsert)
    #expect(try PlainSQL.rows("SELECT name FROM _cdgen_files", at: url) == replaced)
    #expect(names().count == 2)
    try PlainSQL.run("UPDATE _cdgen_files SET time = time - 7200", at: url)
    let fresh = try container().newContext()
    #expect(names().count == 1)
    #expect(try pixels(try fresh.existingObject(with: kept.objectID)) == bytes(100_000, 2))
  }

  @Test func aMissingFileIsReportedAndNothingElseIsLost() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let id = try addPhoto("a", bytes(100_000, 1), context).objectID
    try context.save()
    let name = try #require(names().first)
    let file = files.appending(path: name)
    let aside = folder.appending(path: "aside")
    try FileManager.default.moveItem(at: file, to: aside)
    let other = try container().newContext()
    let photo = try other.existingObject(with: id)
    #expect(try pixels(photo) == Data())
    let error = try #require(other.recentErrors.first)
    guard case .unreadableFile = error.reason else {
      Issue.record("\(error)")
      return
    }
    #expect(error.entity == "Photo" && error.property == "pixels" && error.objectID == id)
    // A save of another attribute keeps the row's file.
    try photo.setValue("b", forKey: "title")
    try other.save()
    try FileManager.default.moveItem(at: aside, to: file)
    let again = try container().newContext()
    let found = try again.existingObject(with: id)
    #expect(try pixels(found) == bytes(100_000, 1))
    #expect(try found.value(forKey: "title") == .attribute(.string("b")))
  }

  /// An empty value stands for one whose file cannot be read. A condition must not take it for the value.
  @Test func aMissingFileIsNoEmptyValueInConditions() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    _ = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    let file = files.appending(path: try #require(names().first))
    let aside = folder.appending(path: "aside")
    try FileManager.default.moveItem(at: file, to: aside)
    let other = try container().newContext()
    let isEmpty = try FetchPredicate(format: "pixels == %@", arguments: [Data()])
    #expect(throws: (any Error).self) {
      try other.fetch(FetchRequest<ManagedObject>(entityName: "Photo", where: isEmpty))
    }
    #expect(throws: (any Error).self) {
      let request = FetchRequest<ManagedObject>(entityName: "Photo", where: isEmpty)
      try other.execute(BatchDeleteRequest<ManagedObject>(request))
    }
    let isNamed = try FetchPredicate(format: "title == 'a'")
    #expect(try other.fetch(FetchRequest<ManagedObject>(entityName: "Photo", where: isNamed)).count == 1)
    try FileManager.default.moveItem(at: aside, to: file)
    let again = try container().newContext()
    let photos = try again.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
    #expect(try photos.map(pixels) == [bytes(100_000, 1)])
    withExtendedLifetime((context, other, again)) {}
  }

  /// Returns the object of the only photo, read in a context while the file of its pixels is away.
  private func readWithoutFile(
    _ id: ManagedObjectID, _ context: ManagedObjectContext
  ) throws -> ManagedObject {
    let file = files.appending(path: try #require(names().first))
    let aside = folder.appending(path: "aside")
    try FileManager.default.moveItem(at: file, to: aside)
    let photo = try context.existingObject(with: id)
    #expect(try pixels(photo) == Data())
    try FileManager.default.moveItem(at: aside, to: file)
    return photo
  }

  /// A photo with large pixels, in the context that has saved it.
  private func savedPhoto() throws -> (context: ManagedObjectContext, photo: ManagedObject) {
    let context = try container().newContext()
    let photo = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    return (context, photo)
  }

  /// A photo in its context, and in another one that overwrites, where its title is changed after its file could not be read.
  private func changedWithoutFile() throws -> (
    context: ManagedObjectContext, photo: ManagedObject, late: ManagedObjectContext, same: ManagedObject
  ) {
    let (context, photo) = try savedPhoto()
    let late = try container().newContext()
    late.mergePolicy = .overwrite
    let same = try readWithoutFile(photo.objectID, late)
    try same.setValue("late", forKey: "title")
    return (context, photo, late, same)
  }

  @Test func noMergePolicyWritesAValueThatCouldNotBeRead() throws {
    defer { removeFiles() }
    let (context, photo, late, _) = try changedWithoutFile()
    try photo.setValue("first", forKey: "title")
    try context.save()
    try late.save()
    let fresh = try container().newContext()
    let found = try fresh.existingObject(with: photo.objectID)
    #expect(try found.value(forKey: "title") == .attribute(.string("late")))
    #expect(try pixels(found) == bytes(100_000, 1))
  }

  @Test func noMergePolicyInsertsARowAgainWithoutAValueThatCouldNotBeRead() throws {
    defer { removeFiles() }
    let (context, photo, late, same) = try changedWithoutFile()
    context.delete(photo)
    try context.save()
    let lost = SaveConflict(reason: .deleted, objectID: same.objectID, keys: ["pixels"])
    #expect(throws: SaveError.conflict([lost])) { try late.save() }
  }

  @Test func anUndoInsertsARowAgainOnlyWithAllItsValues() throws {
    defer { removeFiles() }
    let id = try savedPhoto().photo.objectID
    let other = try container().newContext()
    other.undoManager = ContextUndoManager()
    let photo = try readWithoutFile(id, other)
    other.delete(photo)
    try other.save()
    other.undo()
    #expect {
      try other.save()
    } throws: { error in
      guard case SaveError.validation(let errors) = error, errors.count == 1 else { return false }
      return errors[0].property == "pixels" && errors[0].objectID == id
    }
    try photo.setValue(bytes(10, 2), forKey: "pixels")
    try other.save()
    let fresh = try container().newContext()
    #expect(try pixels(try fresh.existingObject(with: id)) == bytes(10, 2))
  }

  /// A photo in its context, and in another one that can undo its changes. The other one could not read the pixels, and has
  /// saved the deletion of the photo.
  private func deletedWithoutFile() throws -> (
    context: ManagedObjectContext, photo: ManagedObject, other: ManagedObjectContext, same: ManagedObject
  ) {
    let (context, photo) = try savedPhoto()
    let other = try container().newContext()
    other.undoManager = ContextUndoManager()
    let same = try readWithoutFile(photo.objectID, other)
    other.delete(same)
    try other.save()
    return (context, photo, other, same)
  }

  @Test func aRowThatIsInsertedAgainCanGetAnEmptyValue() throws {
    defer { removeFiles() }
    let (_, photo, other, same) = try deletedWithoutFile()
    other.undo()
    try same.setValue(bytes(10, 2), forKey: "pixels")
    other.undo()
    #expect(throws: SaveError.self) { try other.save() }
    try same.setValue(Data(), forKey: "pixels")
    try other.save()
    let fresh = try container().newContext()
    #expect(try pixels(try fresh.existingObject(with: photo.objectID)) == Data())
  }

  /// Another context has inserted the row again, before the undo or after it, so that nothing is lost.
  @Test(arguments: [true, false]) func aRowThatIsThereIsNotInsertedAgain(isBefore: Bool) throws {
    defer { removeFiles() }
    let (context, photo, other, same) = try deletedWithoutFile()
    context.mergePolicy = .overwrite
    #expect(try pixels(photo) == bytes(100_000, 1))
    try photo.setValue("again", forKey: "title")
    if isBefore { try context.save() }
    other.mergePolicy = .overwrite
    other.undo()
    if !isBefore { try context.save() }
    try other.save()
    #expect(try same.value(forKey: "title") == .attribute(.string("a")))
    let fresh = try container().newContext()
    let found = try fresh.existingObject(with: photo.objectID)
    #expect(try found.value(forKey: "title") == .attribute(.string("a")))
    #expect(try pixels(found) == bytes(100_000, 1))
  }

  @Test func anUndoDoesNotWriteAnEmptyValueInThePlaceOfASavedOne() throws {
    defer { removeFiles() }
    let id = try savedPhoto().photo.objectID
    let other = try container().newContext()
    other.undoManager = ContextUndoManager()
    let photo = try readWithoutFile(id, other)
    try photo.setValue(bytes(10, 2), forKey: "pixels")
    other.undo()
    #expect(try pixels(photo) == Data())
    try other.save()
    #expect(try pixels(try container().newContext().existingObject(with: id)) == bytes(100_000, 1))
    try photo.setValue(bytes(10, 2), forKey: "pixels")
    try other.save()
    other.undo()
    try other.save()
    #expect(try pixels(try container().newContext().existingObject(with: id)) == bytes(10, 2))
  }

  /// The file is back when the row is read again, before the undo.
  @Test func anUndoGivesARowTheValueThatItHasByNow() throws {
    defer { removeFiles() }
    let id = try savedPhoto().photo.objectID
    let other = try container().newContext()
    other.undoManager = ContextUndoManager()
    let photo = try readWithoutFile(id, other)
    try photo.setValue(bytes(10, 2), forKey: "pixels")
    other.refresh(photo, mergeChanges: true)
    other.undo()
    try other.save()
    #expect(try pixels(try container().newContext().existingObject(with: id)) == bytes(100_000, 1))
  }

  /// The value that was in its place is empty, too.
  @Test(arguments: [false, true]) func anEmptyValueReplacesOneThatCouldNotBeRead(isInChild: Bool) throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let id = try addPhoto("a", bytes(100_000, 1), context).objectID
    try context.save()
    let parent = try container().newContext()
    let other = isInChild ? ManagedObjectContext(parent: parent) : parent
    let photo = try readWithoutFile(id, other)
    try photo.setValue(Data(), forKey: "pixels")
    #expect(other.hasChanges)
    try other.save()
    try parent.save()
    #expect(!other.hasChanges && !parent.hasChanges)
    #expect(try pixels(try container().newContext().existingObject(with: id)) == Data())
  }

  @Test func anUndoTakesBackAnEmptyValueThatReplacedOneThatCouldNotBeRead() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let id = try addPhoto("a", bytes(100_000, 1), context).objectID
    try context.save()
    let other = try container().newContext()
    other.undoManager = ContextUndoManager()
    let photo = try readWithoutFile(id, other)
    try photo.setValue(Data(), forKey: "pixels")
    other.undo()
    #expect(!other.hasChanges)
    other.redo()
    #expect(other.hasChanges)
    other.undo()
    try other.save()
    #expect(try pixels(try container().newContext().existingObject(with: id)) == bytes(100_000, 1))
  }

  /// The store's value wins, although its file cannot be read: the save keeps the file.
  @Test func noMergePolicyTakesTheEmptyValueOfAFileForAChange() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let photo = try addPhoto("a", bytes(100_000, 1), context)
    try context.save()
    let late = try container().newContext()
    late.mergePolicy = .mergeByPropertyStoreTrump
    let same = try late.existingObject(with: photo.objectID)
    try same.setValue(bytes(10, 3), forKey: "pixels")
    try same.setValue("late", forKey: "title")
    let before = names()
    try photo.setValue(bytes(100_000, 2), forKey: "pixels")
    try context.save()
    let new = names().filter { !before.contains($0) }
    let file = files.appending(path: try #require(new.first))
    let aside = folder.appending(path: "aside")
    try FileManager.default.moveItem(at: file, to: aside)
    try late.save()
    try FileManager.default.moveItem(at: aside, to: file)
    let found = try container().newContext().existingObject(with: photo.objectID)
    #expect(try found.value(forKey: "title") == .attribute(.string("late")))
    #expect(try pixels(found) == bytes(100_000, 2))
  }

  @Test(arguments: [true, false])
  func aValueThatReplacesOneThatCouldNotBeReadIsInsertedAgain(isUndo: Bool) throws {
    defer { removeFiles() }
    let (context, photo) = try savedPhoto()
    let other = try container().newContext()
    other.mergePolicy = .overwrite
    if isUndo { other.undoManager = ContextUndoManager() }
    let same = try readWithoutFile(photo.objectID, other)
    if isUndo {
      try other.perform { try same.setValue(bytes(10, 2), forKey: "pixels") }
      other.perform { other.delete(same) }
      try other.save()
      other.undo()
    } else {
      try same.setValue(bytes(10, 2), forKey: "pixels")
      context.delete(photo)
      try context.save()
    }
    try other.save()
    let found = try container().newContext().existingObject(with: photo.objectID)
    #expect(try pixels(found) == bytes(10, 2))
  }

  @Test func aChildDoesNotOverwriteAValueThatItsParentCouldNotRead() throws {
    defer { removeFiles() }
    let id = try savedPhoto().photo.objectID
    let parent = try container().newContext()
    let child = ManagedObjectContext(parent: parent)
    child.mergePolicy = .overwrite
    let photo = try readWithoutFile(id, child)
    try photo.setValue("child", forKey: "title")
    try parent.existingObject(with: id).setValue("parent", forKey: "title")
    try child.save()
    try parent.save()
    let found = try container().newContext().existingObject(with: id)
    #expect(try found.value(forKey: "title") == .attribute(.string("child")))
    #expect(try pixels(found) == bytes(100_000, 1))
  }

  @Test func theUndoOfAChildInsertsARowAgainOnlyWithAllItsValues() throws {
    defer { removeFiles() }
    let id = try savedPhoto().photo.objectID
    let parent = try container().newContext()
    let child = ManagedObjectContext(parent: parent)
    child.undoManager = ContextUndoManager()
    let photo = try readWithoutFile(id, child)
    child.delete(photo)
    try child.save()
    try parent.save()
    child.undo()
    try child.save()
    #expect(throws: SaveError.self) { try parent.save() }
    try photo.setValue(bytes(10, 2), forKey: "pixels")
    try child.save()
    try parent.save()
    #expect(try pixels(try container().newContext().existingObject(with: id)) == bytes(10, 2))
  }

  @Test func predicatesCompareTheValueAndNotTheName() throws {
    defer { removeFiles() }
    let context = try container().newContext()
    let large = try addPhoto("large", bytes(100_000, 1), context)
    _ = try addPhoto("small", bytes(10, 1), context)
    _ = try addPhoto("none", nil, context)
    try context.save()
    let fresh = try container().newContext()
    func titles(_ predicate: FetchPredicate) throws -> [String] {
      try fresh.fetch(FetchRequest<ManagedObject>(entityName: "Photo", where: predicate)).compactMap {
        if case .attribute(.string(let title)) = try $0.value(forKey: "title") { return title }
        return nil
      }
    }
    let value = try #require(try pixels(large))
    func compared(_ operation: ComparisonOperator, _ value: AttributeValue) -> FetchPredicate {
      FetchPredicate(.keyPath("pixels"), operation, .constant(value))
    }
    #expect(try titles(compared(.equalTo, .data(value))) == ["large"])
    #expect(try titles(compared(.equalTo, .null)) == ["none"])
    #expect(try titles(compared(.notEqualTo, .null)) == ["large", "small"])
  }
}
