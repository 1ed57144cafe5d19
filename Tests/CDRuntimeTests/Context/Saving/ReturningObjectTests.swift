import CDRuntime
import Testing

/// A child, an undo or a merge policy brings an object back, or an object follows its row again. Other objects' relationships
/// must then have this object, even if they were read before. Attributes that are derived from them must have new values.
@Suite final class ReturningObjectTests: DriveFixture {
  /// A child brings back a file that its parent has deleted. The store has cleared the folder's reference to it.
  @Test(arguments: [false, true]) func aClearedReferenceDoesNotLeadToAFileThatComesBack(hasUndo: Bool) throws
  {
    if hasUndo { context.undoManager = ContextUndoManager() }
    let mine = try Self.folder(context, folder)
    let file = try Self.addFile(5, to: mine, in: context)
    try mine.setValue(file, forKey: "cover")
    try context.save()
    #expect(try Self.number(stored(folder), "coverSize") == 5)
    let child = ManagedObjectContext(parent: context)
    child.mergePolicy = .overwrite
    try child.existingObject(with: file.objectID).setValue(7, forKey: "size")
    context.delete(file)
    try context.save()
    try Self.addFile(20, to: mine, in: context)
    try child.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(file.objectID), "size") == 7)
    #expect(try stored(folder).value(forKey: "cover") == .object(nil))
    #expect(try Self.number(stored(folder), "coverSize") == nil)
    #expect(try mine.value(forKey: "cover") == .object(nil))
  }

  /// A child brings back a folder that its parent has put into a drive and then deleted.
  @Test(arguments: [false, true]) func aFolderThatComesBackLeavesItsDrive(readsFolders: Bool) throws {
    let drive = try #require(try Self.folder(context, folder).value(forKey: "drive").object)
    let mine = try context.insert(entityNamed: "Folder")
    try mine.setValue("second", forKey: "name")
    try Self.addFile(5, to: mine, in: context)
    try context.save()
    let child = ManagedObjectContext(parent: context)
    child.mergePolicy = .overwrite
    try child.existingObject(with: mine.objectID).setValue("child's", forKey: "name")
    try mine.setValue(drive, forKey: "drive")
    try context.save()
    #expect(try Self.number(stored(drive.objectID), "fileCount") == 1)
    context.refresh(drive, mergeChanges: false)
    context.delete(mine)
    if readsFolders { #expect(try drive.value(forKey: "folders").objects.count == 1) }
    try child.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try stored(mine.objectID).value(forKey: "drive") == .object(nil))
    #expect(try Self.number(stored(drive.objectID), "fileCount") == 0)
    #expect(try drive.value(forKey: "folders").objects.count == 1)
  }

  /// The same, and it was another context that had put the folder into the drive, which is not in memory here.
  @Test func aFolderThatComesBackLeavesADriveThatIsNotInMemory() throws {
    context.mergePolicy = .mergeByPropertyObjectTrump
    let mine = try context.insert(entityNamed: "Folder")
    try mine.setValue("second", forKey: "name")
    try Self.addFile(5, to: mine, in: context)
    try context.save()
    let child = ManagedObjectContext(parent: context)
    child.mergePolicy = .overwrite
    try child.existingObject(with: mine.objectID).setValue("child's", forKey: "name")
    let drive = try #require(try Self.folder(other, folder).value(forKey: "drive").object)
    try Self.folder(other, mine.objectID).setValue(drive, forKey: "drive")
    try other.save()
    #expect(try Self.number(stored(drive.objectID), "fileCount") == 1)
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
    context.delete(mine)
    try child.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try stored(mine.objectID).value(forKey: "drive") == .object(nil))
    #expect(try Self.number(stored(drive.objectID), "fileCount") == 0)
  }

  /// A policy takes back that a folder has no labels any more. One of them is deleted all the same.
  @Test func aFolderThatIsRolledBackDoesNotCountADeletedLabel() throws {
    let labels = try (1...2).map { number in
      let label = try other.insert(entityNamed: "Label")
      try label.setValue("\(number)", forKey: "name")
      return label
    }
    let theirs = try Self.folder(other, folder)
    try theirs.setValue(labels, forKey: "labels")
    try other.save()
    context.mergePolicy = .rollback
    let mine = try Self.folder(context, folder)
    try mine.setValue([ManagedObject](), forKey: "labels")
    try mine.setValue("mine", forKey: "name")
    context.delete(try context.existingObject(with: labels[1].objectID))
    try theirs.setValue("theirs", forKey: "name")
    try other.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try stored(folder).value(forKey: "labels").objects.map(\.objectID) == [labels[0].objectID])
    #expect(try Self.number(stored(folder), "labelCount") == 1)
  }

  /// The deletion of a drive is taken back, and its folder follows another context into a drive whose folders this context has
  /// read without it.
  @Test func aFolderThatFollowsItsRowJoinsALoadedRelationship() throws {
    context.mergePolicy = .mergeByPropertyStoreTrump
    let mine = try Self.folder(context, folder)
    context.delete(try #require(try mine.value(forKey: "drive").object))
    try Self.addFile(5, to: mine, in: context)
    let theirs = try Self.folder(other, folder)
    try #require(try theirs.value(forKey: "drive").object).setValue("renamed", forKey: "name")
    let second = try other.insert(entityNamed: "Drive")
    try second.setValue("second", forKey: "name")
    try theirs.setValue(second, forKey: "drive")
    try other.save()
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Drive"))
    let mineSecond = try context.existingObject(with: second.objectID)
    let new = try context.insert(entityNamed: "Folder")
    try new.setValue("new", forKey: "name")
    try new.setValue(mineSecond, forKey: "drive")
    #expect(try mineSecond.value(forKey: "folders") == .objects([new]))
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(second.objectID), "fileCount") == 1)
    #expect(try mineSecond.value(forKey: "folders").objects.count == 2)
  }

  /// Another context deletes a drive and takes the deletion back. This context has looked for the drive in between.
  @Test func aReferenceFindsADriveThatComesBack() throws {
    other.undoManager = ContextUndoManager()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let mine = try Self.folder(context, folder)
    try mine.setValue("mine", forKey: "name")
    other.delete(try #require(try Self.folder(other, folder).value(forKey: "drive").object))
    try other.save()
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
    let file = try Self.addFile(5, to: mine, in: context)
    // Derives the name of the drive, which is gone.
    let named = try FetchPredicate(format: "driveName == nil")
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "File", where: named)) == [file])
    other.undo()
    try other.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.text(stored(file.objectID), "driveName") == "disk")
    let drive = try #require(try mine.value(forKey: "drive").object)
    #expect(try Self.text(drive, "name") == "disk")
  }

  /// Another context deletes a folder and takes the deletion back. This context has given the folder a file, and has looked for
  /// the folder in between.
  @Test func aFolderThatComesBackCountsItsNewFile() throws {
    other.undoManager = ContextUndoManager()
    let mine = try Self.folder(context, folder)
    let file = try Self.addFile(5, to: mine, in: context)
    try rename(folder)
    let labels = FetchRequest<ManagedObject>(entityName: "Label")
    _ = try context.fetch(labels)
    other.delete(try Self.folder(other, folder))
    try other.save()
    _ = try context.fetch(labels)
    // Derives the count of the folder, which is gone.
    let large = try FetchPredicate(format: "count > 3")
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Folder", where: large)) == [])
    other.undo()
    try other.save()
    _ = try context.fetch(labels)
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(!mine.isInaccessible)
    #expect(try Self.number(stored(folder), "count") == 1)
    #expect(try Self.text(stored(file.objectID), "folderName") == "new")
  }

  /// A child brings back a folder with a label that its parent has added and then deleted with the folder.
  @Test func aFolderThatComesBackLosesItsNewPairs() throws {
    let label = try context.insert(entityNamed: "Label")
    try label.setValue("first", forKey: "name")
    try context.save()
    let child = ManagedObjectContext(parent: context)
    child.mergePolicy = .overwrite
    try child.existingObject(with: label.objectID).setValue("child's", forKey: "name")
    let mine = try Self.folder(context, folder)
    try mine.setValue([label], forKey: "labels")
    try Self.addFile(5, to: mine, in: context)
    context.delete(label)
    try child.save()
    #expect(try mine.value(forKey: "labels") == .objects([]))
    #expect(try label.value(forKey: "folders") == .objects([]))
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(label.objectID), "fileCount") == 0)
  }

  /// A child brings back a folder that its parent has deleted. Meanwhile another context has given the folder a label.
  @Test func aFolderThatComesBackKeepsThePairsOfOthers() throws {
    let label = try other.insert(entityNamed: "Label")
    try label.setValue("first", forKey: "name")
    try other.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let child = ManagedObjectContext(parent: context)
    child.mergePolicy = .overwrite
    try Self.folder(child, folder).setValue("child's", forKey: "name")
    let mine = try Self.folder(context, folder)
    #expect(try mine.value(forKey: "labels") == .objects([]))
    context.delete(mine)
    let theirs = try Self.folder(other, folder)
    try theirs.setValue([label], forKey: "labels")
    try Self.addFile(5, to: theirs, in: other)
    try other.save()
    let mineLabel = try #require(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Label")).first)
    try mineLabel.setValue("mine", forKey: "name")
    try child.save()
    #expect(try mine.value(forKey: "labels") == .objects([mineLabel]))
    #expect(try mineLabel.value(forKey: "folders") == .objects([mine]))
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(folder), "labelCount") == 1)
    #expect(try Self.number(stored(label.objectID), "fileCount") == 1)
  }

  /// An undo brings a file back that is then deleted again. Another context inserts its row before or after that.
  @Test(arguments: [false, true]) func aFileThatIsDeletedAgainHasTheRowOfOthers(isBefore: Bool) throws {
    context.undoManager = ContextUndoManager()
    context.mergePolicy = .mergeByPropertyObjectTrump
    other.mergePolicy = .overwrite
    let mine = try Self.folder(context, folder)
    let file = try Self.addFile(5, to: mine, in: context)
    try context.save()
    try other.existingObject(with: file.objectID).setValue(7, forKey: "size")
    context.delete(file)
    try context.save()
    context.undo()
    if isBefore {
      try other.save()
      context.delete(file)
    } else {
      context.delete(file)
      try other.save()
    }
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "File"))
    #expect(found.map(\.objectID) == (isBefore ? [] : [file.objectID]))
    try mine.setValue("new", forKey: "name")
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(folder), "size") == (isBefore ? 0 : 7))
    if !isBefore { #expect(try Self.text(stored(file.objectID), "folderName") == "new") }
  }

  /// A merge policy accepts that another context has deleted a changed file. Undoing the change does not bring the file back.
  @Test func anUndoneChangeDoesNotBringBackAFile() throws {
    context.undoManager = ContextUndoManager()
    context.mergePolicy = .mergeByPropertyStoreTrump
    let mine = try Self.folder(context, folder)
    let file = try Self.addFile(5, to: mine, in: context)
    try context.save()
    #expect(try mine.value(forKey: "files") == .objects([file]))
    try file.setValue(7, forKey: "size")
    other.delete(try other.existingObject(with: file.objectID))
    try other.save()
    try context.save()
    context.undo()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(file.isInaccessible)
    #expect(try mine.value(forKey: "files") == .objects([]))
    #expect(throws: FetchError.self) { try stored(file.objectID) }
    #expect(try Self.number(stored(folder), "count") == 0)
  }
}
