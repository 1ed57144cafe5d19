import CDRuntime
import Dispatch
import Foundation
import Synchronization
import Testing

/// Derived attributes that are computed from what another context has changed meanwhile. The store must not keep a value
/// that was computed from outdated objects, whoever saves last.
@Suite final class OutdatedDerivationTests: DriveFixture {
  // MARK: Objects that read what others have changed

  @Test(arguments: [MergePolicy.error, .mergeByPropertyObjectTrump]) func aNewObjectReadsTheNewName(
    _ policy: MergePolicy
  ) throws {
    context.mergePolicy = policy
    let mine = try Self.folder(context, folder)
    #expect(try Self.text(mine, "name") == "old")
    // Before the object is there.
    try rename(folder)
    let early = try Self.addFile(1, to: mine, in: context)
    try context.save()
    #expect(try Self.text(stored(early.objectID), "folderName") == "new")
    // After it is there.
    let late = try Self.addFile(1, to: mine, in: context)
    try rename(folder, "newer")
    try context.save()
    #expect(try Self.text(stored(late.objectID), "folderName") == "newer")
    #expect(try Self.text(late, "folderName") == "newer")
    // The early one was in the other context's save.
    #expect(try Self.text(stored(early.objectID), "folderName") == "newer")
    #expect(try Self.number(stored(folder), "count") == 2)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func aBlockReadsTheNewName() throws {
    let id = try context.perform {
      let mine = try Self.folder(context, folder)
      #expect(try Self.text(mine, "name") == "old")
      let file = try Self.addFile(1, to: mine, in: context)
      try rename(folder)
      try context.save()
      return file.objectID
    }
    #expect(try Self.text(stored(id), "folderName") == "new")
  }

  @Test func aPathOfSeveralStepsIsFollowed() throws {
    let mine = try Self.folder(context, folder)
    let drive = try #require(try mine.value(forKey: "drive").object)
    #expect(try Self.text(drive, "name") == "disk")
    let file = try Self.addFile(1, to: mine, in: context)
    try other.existingObject(with: drive.objectID).setValue("tape", forKey: "name")
    try other.save()
    try context.save()
    #expect(try Self.text(stored(file.objectID), "driveName") == "tape")
  }

  @Test func aChildOfTheContextDoesNotMatter() throws {
    let mine = try Self.folder(context, folder)
    #expect(try Self.text(mine, "name") == "old")
    let child = ManagedObjectContext(parent: context)
    let file = try Self.addFile(1, to: Self.folder(child, folder), in: child)
    try rename(folder)
    try child.save()
    try context.save()
    #expect(try Self.text(stored(file.objectID), "folderName") == "new")
  }

  @Test func saveAfterSaveOfTheSameContextIsNotOutdated() throws {
    let mine = try Self.folder(context, folder)
    for name in ["a", "b", "c"] {
      try mine.setValue(name, forKey: "name")
      let file = try Self.addFile(1, to: mine, in: context)
      try context.save()
      #expect(try Self.text(stored(file.objectID), "folderName") == name)
    }
  }

  // MARK: Objects of other contexts that read a changed object

  @Test func aNewNameReachesTheObjectsOfOthers() throws {
    let mine = try Self.folder(context, folder)
    #expect(try mine.value(forKey: "files").objects.isEmpty == true)
    try mine.setValue("new", forKey: "name")
    let theirs = try Self.addFile(1, to: Self.folder(other, folder), in: other)
    try other.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try Self.text(stored(theirs.objectID), "folderName") == "new")
    #expect(try Self.text(stored(folder), "name") == "new")
  }

  @Test func aDeletionReachesTheObjectsOfOthers() throws {
    let label = try context.insert(entityNamed: "Label")
    try label.setValue("l", forKey: "name")
    try context.save()
    #expect(try label.value(forKey: "folders").objects.isEmpty == true)
    context.delete(label)
    try Self.folder(other, folder).setValue(
      [try other.existingObject(with: label.objectID)], forKey: "labels")
    try other.save()
    #expect(try Self.number(stored(folder), "labelCount") == 1)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try Self.number(stored(folder), "labelCount") == 0)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test(arguments: [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite])
  func aSumAfterAConflictHasTheFilesOfBoth(_ policy: MergePolicy) throws {
    let mine = try Self.folder(context, folder)
    #expect(try mine.value(forKey: "files").objects.isEmpty == true)
    try Self.addFile(1, to: Self.folder(other, folder), in: other)
    try other.save()
    try Self.addFile(10, to: mine, in: context)
    context.mergePolicy = policy
    try context.save()
    let read = try stored(folder)
    #expect(try [Self.number(read, "count"), Self.number(read, "size")] == [2, 11])
    #expect(try [Self.number(mine, "count"), Self.number(mine, "size")] == [2, 11])
  }

  // MARK: Ordered relationships that both sides have changed

  /// Such a relationship contains the objects of others only after the save, but the save counts them.
  @Test(
    arguments: [
      MergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite,
    ], [false, true])
  func anOrderedListHasTheObjectsOfBoth(_ policy: MergePolicy, learnsBefore: Bool) throws {
    let drive = try DriveFixture(isOrdered: true)
    let (context, other) = (drive.context, drive.other)
    func label(_ folder: ManagedObject, in context: ManagedObjectContext) throws {
      let label = try context.insert(entityNamed: "Label")
      try label.setValue("l", forKey: "name")
      try label.setValue([folder], forKey: "folders")
    }
    let theirs = try Self.folder(other, drive.folder)
    let removed = try Self.addFile(1, to: theirs, in: other)
    try Self.addFile(2, to: theirs, in: other)
    try label(theirs, in: other)
    try other.save()
    context.mergePolicy = policy
    let mine = try Self.folder(context, drive.folder)
    #expect(try mine.value(forKey: "files").objects.count == 2)
    #expect(try mine.value(forKey: "labels").objects.count == 1)
    try Self.addFile(4, to: mine, in: context)
    try label(mine, in: context)
    try removed.setValue(.object(nil), forKey: "folder")
    for size in [8, 16] { try Self.addFile(size, to: theirs, in: other) }
    try label(theirs, in: other)
    try other.save()
    if learnsBefore { _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Drive")) }
    try context.save()
    let read = try drive.stored(drive.folder)
    #expect(try [Self.number(read, "count"), Self.number(read, "size")] == [4, 30])
    #expect(try Self.number(read, "labelCount") == 3)
    #expect(try drive.container.persistentStoreCoordinator.verify() == [])
  }

  @Test(
    arguments: [MergePolicy.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite],
    [false, true])
  func aNewNameReachesTheObjectsThatOthersHaveAddedToAnOrderedList(
    _ policy: MergePolicy, learnsBefore: Bool
  ) throws {
    let drive = try DriveFixture(isOrdered: true)
    let (context, other) = (drive.context, drive.other)
    context.mergePolicy = policy
    let mine = try Self.folder(context, drive.folder)
    #expect(try mine.value(forKey: "files").objects.isEmpty)
    try mine.setValue("new", forKey: "name")
    try Self.addFile(1, to: mine, in: context)
    let theirs = try Self.addFile(2, to: Self.folder(other, drive.folder), in: other)
    try other.save()
    if learnsBefore { _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Drive")) }
    try context.save()
    #expect(try Self.text(drive.stored(theirs.objectID), "folderName") == "new")
    #expect(try drive.container.persistentStoreCoordinator.verify() == [])
  }

  // MARK: Several at once

  /// One renames the folder, others add files to it, all at the same time.
  @Test(.timeLimit(.minutes(10))) func nothingIsOutdatedAfterARace() throws {
    let failures = Mutex<[String]>([])
    let (container, folder) = (container, folder)
    DispatchQueue.concurrentPerform(iterations: 3) { worker in
      do {
        let context = container.newContext()
        context.mergePolicy = .mergeByPropertyObjectTrump
        let mine = try Self.folder(context, folder)
        for round in 1...15 {
          if worker == 0 {
            try mine.setValue("name \(round)", forKey: "name")
          } else {
            try Self.addFile(round, to: mine, in: context)
          }
          try context.save()
        }
      } catch {
        failures.withLock { $0.append("\(worker): \(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let read = try stored(folder)
    #expect(try [Self.number(read, "count"), Self.number(read, "size")] == [30, 240])
    let files = try read.value(forKey: "files").objects
    let names = try Set(files.map { try Self.text($0, "folderName") })
    #expect(names == ["name 15"])
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test(arguments: [MergePolicy.mergeByPropertyObjectTrump, .overwrite])
  func aDeletionIsCountedWhereOthersHaveMovedTheObject(_ policy: MergePolicy) throws {
    let (mine, theirs) = (try other.insert(entityNamed: "Folder"), try other.insert(entityNamed: "Folder"))
    for folder in [mine, theirs] { try folder.setValue("f", forKey: "name") }
    let file = try Self.addFile(5, to: try Self.folder(other, folder), in: other)
    try other.save()
    context.mergePolicy = policy
    let early = try context.existingObject(with: file.objectID)
    try early.setValue(try Self.folder(context, mine.objectID), forKey: "folder")
    try file.setValue(theirs, forKey: "folder")
    try other.save()
    context.delete(early)
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(theirs.objectID), "count") == 0)
  }

  /// A reference that is set and set back is no change. Another context makes the same reference meanwhile.
  @Test(arguments: [MergePolicy.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite])
  func aReferenceThatIsSetBackRemovesNothing(_ policy: MergePolicy) throws {
    let file = try other.insert(entityNamed: "File")
    try file.setValue(7, forKey: "size")
    try other.save()
    context.mergePolicy = policy
    let mine = try context.existingObject(with: file.objectID)
    let mineFolder = try Self.folder(context, folder)
    try mine.setValue(mineFolder, forKey: "folder")
    try mine.setValue(.object(nil), forKey: "folder")
    try file.setValue(try Self.folder(other, folder), forKey: "folder")
    try other.save()
    try mineFolder.setValue("renamed", forKey: "name")
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(folder), "count") == 1)
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "File"))
    #expect(try mineFolder.value(forKey: "files") == .objects([mine]))
  }

  /// An object is changed, others change its row, and the change is set back. The object's row is not written, and nothing may
  /// be derived from its old values.
  @Test(arguments: ["size", "folder"], [false, true])
  func nothingIsDerivedFromAnObjectThatWasSetBack(_ key: String, readsFiles: Bool) throws {
    let theirs = try Self.addFile(5, to: try Self.folder(other, folder), in: other)
    try other.save()
    let mine = try context.existingObject(with: theirs.objectID)
    let mineFolder = try Self.folder(context, folder)
    if readsFiles { _ = try mineFolder.value(forKey: "files") }
    if key == "size" {
      try mine.setValue(7, forKey: "size")
      try theirs.setValue(9, forKey: "size")
    } else {
      try mine.setValue(.object(nil), forKey: "folder")
      try theirs.setValue(.object(nil), forKey: "folder")
    }
    try other.save()
    // The context learns of the other one's save.
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
    if key == "size" {
      try mine.setValue(5, forKey: "size")
    } else {
      try mine.setValue(mineFolder, forKey: "folder")
    }
    try Self.addFile(20, to: mineFolder, in: context)
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    let counts = key == "size" ? [2, 29] : [1, 20]
    #expect(
      try [Self.number(mineFolder, "count"), Self.number(mineFolder, "size")] == counts.map(Int64.init))
    #expect(try mineFolder.value(forKey: "files").objects.count == counts[0])
    #expect(
      try [Self.number(stored(folder), "count"), Self.number(stored(folder), "size")]
        == counts.map(Int64.init))
  }

  /// The only change of a folder is a reference to a file that is deleted afterwards. The save clears it.
  @Test func nothingIsDerivedFromAnObjectWhoseOnlyChangeIsCleared() throws {
    let mine = try Self.folder(context, folder)
    let cover = try context.insert(entityNamed: "File")
    try cover.setValue(1, forKey: "size")
    try context.save()
    try mine.setValue(cover, forKey: "cover")
    try rename(folder)
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
    context.delete(cover)
    let child = try context.insert(entityNamed: "Folder")
    try child.setValue("child", forKey: "name")
    try child.setValue(mine, forKey: "parent")
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.text(stored(child.objectID), "parentName") == "new")
    #expect(try stored(folder).value(forKey: "cover") == .object(nil))
  }

  /// A reference is changed, an attribute is derived from it, and the reference is set back. The derived value is not a change.
  @Test func aDerivedValueOfASetBackReferenceIsNoChange() throws {
    let file = try Self.addFile(5, to: try Self.folder(other, folder), in: other)
    try other.save()
    let mine = try context.existingObject(with: file.objectID)
    let new = try context.insert(entityNamed: "Folder")
    try new.setValue("new", forKey: "name")
    try mine.setValue(new, forKey: "folder")
    // Derives the name of the new folder.
    let named = try FetchPredicate(format: "folderName == 'new'")
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "File", where: named)) == [mine])
    try file.setValue(9, forKey: "size")
    try other.save()
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
    let mineFolder = try Self.folder(context, folder)
    try mine.setValue(mineFolder, forKey: "folder")
    try Self.addFile(20, to: mineFolder, in: context)
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(folder), "size") == 29)
  }

  /// The merge policy drops all changes of a save. The values that were derived from these changes must not stay in memory.
  @Test(arguments: [MergePolicy.rollback, .mergeByPropertyStoreTrump])
  func aSaveThatWritesNothingLeavesNoDerivedValues(_ policy: MergePolicy) throws {
    let theirs = try Self.addFile(5, to: try Self.folder(other, folder), in: other)
    try other.save()
    context.mergePolicy = policy
    let mine = try context.existingObject(with: theirs.objectID)
    let mineFolder = try Self.folder(context, folder)
    try mine.setValue(7, forKey: "size")
    try theirs.setValue(9, forKey: "size")
    try other.save()
    try context.save()
    #expect(!context.hasChanges)
    #expect(try [Self.number(mine, "size"), Self.number(mineFolder, "size")] == [9, 9])
    // Seven again, this time without a conflict.
    try mine.setValue(7, forKey: "size")
    try context.save()
    #expect(try Self.number(stored(folder), "size") == 7)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  /// A merge policy inserts a row again that another context has deleted, with its pairs.
  @Test(arguments: [false, true]) func theOtherSideOfAPairThatComesBackIsDerived(deletesLabel: Bool) throws {
    let theirs = try Self.folder(other, folder)
    let label = try other.insert(entityNamed: "Label")
    try label.setValue("first", forKey: "name")
    try theirs.setValue([label], forKey: "labels")
    try Self.addFile(5, to: theirs, in: other)
    try other.save()
    context.mergePolicy = .overwrite
    let mine = try Self.folder(context, folder)
    let mineLabel = try context.existingObject(with: label.objectID)
    #expect(try mine.value(forKey: "labels") == .objects([mineLabel]))
    #expect(try mineLabel.value(forKey: "folders") == .objects([mine]))
    try mine.setValue("kept", forKey: "name")
    try mineLabel.setValue("kept", forKey: "name")
    try Self.addFile(6, to: mine, in: context)
    other.delete(deletesLabel ? label : theirs)
    try other.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(folder), "labelCount") == 1)
    #expect(try Self.number(stored(label.objectID), "fileCount") == (deletesLabel ? 2 : 1))
  }

  /// Another context inserts a row again whose deletion this context has saved, and may undo.
  @Test(arguments: [false, true]) func anObjectThatOthersInsertAgainCounts(hasUndo: Bool) throws {
    if hasUndo { other.undoManager = ContextUndoManager() }
    let theirs = try Self.folder(other, folder)
    let file = try Self.addFile(5, to: theirs, in: other)
    try other.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let mine = try context.existingObject(with: file.objectID)
    try mine.setValue(7, forKey: "size")
    other.delete(file)
    try other.save()
    try context.save()
    try Self.addFile(20, to: theirs, in: other)
    try other.save()
    #expect(try Self.number(stored(folder), "size") == 27)
    #expect(try theirs.value(forKey: "files").objects.count == 2)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  /// The context has read the folder's files before another one took the file out of it. Its policy puts the file back.
  @Test(arguments: [false, true], [false, true])
  func aMemberThatAPolicyPutsBackCounts(isOverwrite: Bool, changesFolder: Bool) throws {
    let theirs = try Self.addFile(5, to: try Self.folder(other, folder), in: other)
    try other.save()
    context.mergePolicy = isOverwrite ? .overwrite : .mergeByPropertyObjectTrump
    let mine = try context.existingObject(with: theirs.objectID)
    let mineFolder = try Self.folder(context, folder)
    #expect(try mineFolder.value(forKey: "files") == .objects([mine]))
    try mine.setValue(7, forKey: "size")
    if changesFolder { try mineFolder.setValue("mine", forKey: "name") }
    try theirs.setValue(.object(nil), forKey: "folder")
    try other.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    // Only `overwrite` writes the reference, which this context has not changed.
    #expect(try Self.number(stored(folder), "size") == (isOverwrite ? 7 : 0))
    #expect(try mineFolder.value(forKey: "files") == .objects(isOverwrite ? [mine] : []))
  }

  // MARK: Pairs that several contexts add and remove

  /// What a context does before, between and after others relate a folder to a label.
  struct Steps: OptionSet, CustomTestStringConvertible {
    let rawValue: Int
    static let addPair = Steps(rawValue: 1)
    static let fetchBetween = Steps(rawValue: 2)
    static let addFile = Steps(rawValue: 4)
    static let removeTwice = Steps(rawValue: 8)
    static let fetchAfterwards = Steps(rawValue: 16)

    var testDescription: String { "steps \(rawValue)" }
  }

  @Test(
    arguments: (0..<32).map(Steps.init),
    [
      MergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite,
    ])
  func bothSidesOfAPairThatIsTakenApartAgree(_ steps: Steps, _ policy: MergePolicy) throws {
    let label = try other.insert(entityNamed: "Label")
    try label.setValue("first", forKey: "name")
    try other.save()
    context.mergePolicy = policy
    let mine = try Self.folder(context, folder)
    let mineLabel = try context.existingObject(with: label.objectID)
    let labels = FetchRequest<ManagedObject>(entityName: "Label")
    if steps.contains(.addPair) { try mine.setValue([mineLabel], forKey: "labels") }
    try Self.folder(other, folder).setValue([label], forKey: "labels")
    try other.save()
    if steps.contains(.fetchBetween) { _ = try context.fetch(labels) }
    if steps.contains(.addFile) { try Self.addFile(1, to: mine, in: context) }
    try mine.setValue([ManagedObject](), forKey: "labels")
    if steps.contains(.removeTwice) { try mine.setValue([ManagedObject](), forKey: "labels") }
    if steps.contains(.fetchAfterwards) { _ = try context.fetch(labels) }
    try label.setValue("second", forKey: "name")
    try other.save()
    #expect(try mine.value(forKey: "labels") == .objects([]))
    #expect(try mineLabel.value(forKey: "folders") == .objects([]))
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try stored(folder).value(forKey: "labels") == .objects([]))
    #expect(try mine.value(forKey: "labels") == .objects([]))
    #expect(try mineLabel.value(forKey: "folders") == .objects([]))
  }

  /// The context has read the label's folders before another one took a folder out, and the folder's labels after that.
  @Test func aPairThatOthersHaveTakenOutIsMadeAgain() throws {
    let label = try other.insert(entityNamed: "Label")
    try label.setValue("first", forKey: "name")
    let theirs = try Self.folder(other, folder)
    try theirs.setValue([label], forKey: "labels")
    try Self.addFile(5, to: theirs, in: other)
    try other.save()
    let mine = try Self.folder(context, folder)
    let mineLabel = try context.existingObject(with: label.objectID)
    #expect(try mineLabel.value(forKey: "folders") == .objects([mine]))
    try theirs.setValue([ManagedObject](), forKey: "labels")
    try other.save()
    #expect(try mine.value(forKey: "labels") == .objects([]))
    try mine.setValue([mineLabel], forKey: "labels")
    #expect(mineLabel.isUpdated)
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try Self.number(stored(label.objectID), "fileCount") == 1)
    #expect(try Self.number(stored(folder), "labelCount") == 1)
  }

  /// The context has read only the folder's labels. It takes the label out and puts it back, and another context takes it
  /// out.
  @Test(arguments: [false, true]) func aPairThatIsPutBackIsTakenOutByOthers(readsLabel: Bool) throws {
    let label = try other.insert(entityNamed: "Label")
    try label.setValue("first", forKey: "name")
    let theirs = try Self.folder(other, folder)
    try theirs.setValue([label], forKey: "labels")
    try Self.addFile(5, to: theirs, in: other)
    try other.save()
    let mine = try Self.folder(context, folder)
    let mineLabel = try context.existingObject(with: label.objectID)
    #expect(try mine.value(forKey: "labels") == .objects([mineLabel]))
    if readsLabel { _ = try mineLabel.value(forKey: "folders") }
    try mine.setValue([ManagedObject](), forKey: "labels")
    try mine.setValue([mineLabel], forKey: "labels")
    try Self.addFile(6, to: mine, in: context)
    try theirs.setValue([ManagedObject](), forKey: "labels")
    try other.save()
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    #expect(try stored(folder).value(forKey: "labels") == .objects([]))
    #expect(try Self.number(stored(label.objectID), "fileCount") == 0)
    #expect(try mine.value(forKey: "labels") == .objects([]))
    #expect(try mineLabel.value(forKey: "folders") == .objects([]))
  }

  /// The pair is removed and added again here, and another context removes it meanwhile.
  @Test(arguments: [false, true], [false, true]) func bothSidesOfAPairThatIsAddedAgainAgree(
    readsFolder: Bool, readsLabel: Bool
  ) throws {
    let label = try other.insert(entityNamed: "Label")
    try label.setValue("first", forKey: "name")
    try Self.folder(other, folder).setValue([label], forKey: "labels")
    try other.save()
    let mine = try Self.folder(context, folder)
    let mineLabel = try context.existingObject(with: label.objectID)
    if readsFolder { _ = try mine.value(forKey: "labels") }
    if readsLabel { _ = try mineLabel.value(forKey: "folders") }
    try mineLabel.setValue([ManagedObject](), forKey: "folders")
    try Self.folder(other, folder).setValue([ManagedObject](), forKey: "labels")
    try other.save()
    try mine.setValue([mineLabel], forKey: "labels")
    #expect(try mine.value(forKey: "labels") == .objects([mineLabel]))
    #expect(try mineLabel.value(forKey: "folders") == .objects([mine]))
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    // If the context had read the folder's labels before, the addition cancels the removal, and the save changes nothing.
    let isRelated = !readsFolder
    let fresh = container.newContext()
    let expected = isRelated ? [try fresh.existingObject(with: label.objectID)] : []
    #expect(try Self.folder(fresh, folder).value(forKey: "labels") == .objects(expected))
    _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
    #expect(try mine.value(forKey: "labels") == .objects(isRelated ? [mineLabel] : []))
    #expect(try mineLabel.value(forKey: "folders") == .objects(isRelated ? [mine] : []))
  }
}
