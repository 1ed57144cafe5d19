import CDRuntime
import Foundation
import Testing

/// What contexts show where others delete objects while they are about to be changed, and where contexts stand over each
/// other. The random programs have found each of them.
@Suite struct MeetingDeletionsTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let held = HeldContexts()

  init() throws {
    func many(_ name: String, _ destination: String, _ inverse: String, _ rule: DeleteRule = .nullify)
      -> RelationshipDescription
    {
      RelationshipDescription(
        name: name, destination: destination, isToMany: true, inverse: inverse, deleteRule: rule)
    }
    func one(_ name: String, _ destination: String, _ inverse: String?, _ rule: DeleteRule = .nullify)
      -> RelationshipDescription
    {
      RelationshipDescription(name: name, destination: destination, inverse: inverse, deleteRule: rule)
    }
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Shelf",
        attributes: [
          AttributeDescription(name: "name", type: .string, isOptional: true),
          AttributeDescription(
            name: "size", type: .int64, isOptional: true,
            derivation: try ValueExpression(format: "books.@count")),
        ], relationships: [many("books", "Book", "shelf", .noAction)]),
      EntityDescription(
        name: "Book",
        attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
        relationships: [
          one("shelf", "Shelf", "books"), one("cover", "Cover", "book"),
          many("sequels", "Book", "original"), one("original", "Book", "sequels", .noAction),
          many("tags", "Tag", "books"),
        ]),
      EntityDescription(
        name: "Cover", relationships: [one("book", "Book", "cover", .noAction)]),
      EntityDescription(
        name: "Node", relationships: [one("next", "Node", "previous"), one("previous", "Node", "next")]),
      EntityDescription(name: "Page", relationships: [many("pictures", "Picture", "pages")]),
      EntityDescription(name: "Picture", relationships: [many("pages", "Page", "pictures", .noAction)]),
      EntityDescription(name: "Note", relationships: [one("about", "Book", nil)]),
      EntityDescription(name: "Tag", relationships: [many("books", "Book", "tags")]),
      EntityDescription(name: "Spouse", relationships: [one("spouse", "Spouse", "spouse")]),
      EntityDescription(
        name: "Step",
        attributes: [AttributeDescription(name: "name", type: .string, isOptional: true)],
        relationships: [
          RelationshipDescription(
            name: "friends", destination: "Step", isToMany: true, inverse: "friends", isOrdered: true),
          RelationshipDescription(
            name: "parts", destination: "Step", isToMany: true, inverse: "whole", isOrdered: true),
          one("whole", "Step", "parts"),
        ]),
    ])
    context = container.newContext()
  }

  private func other() -> ManagedObjectContext {
    let other = container.newContext()
    held.contexts.append(other)
    return other
  }

  private func make(_ entity: String) throws -> ManagedObject { try context.insert(entityNamed: entity) }

  private func set(_ object: ManagedObject, _ key: String, _ other: ManagedObject?) throws {
    try object.setValue(.object(other), forKey: key)
  }

  private func one(_ object: ManagedObject, _ key: String) throws -> ManagedObjectID? {
    try object.value(forKey: key).object?.objectID
  }

  private func many(_ object: ManagedObject, _ key: String) throws -> [ManagedObjectID] {
    try object.value(forKey: key).objects.map(\.objectID)
  }

  private func deleteElsewhere(_ object: ManagedObject) throws {
    let theirs = other()
    try theirs.perform {
      theirs.delete(try theirs.object(with: object.objectID))
      try theirs.save()
    }
  }

  /// The shelves are new in a context between the one that changes them and the store.
  @Test func aGrandchildFetchesByWhatItsParentHasDerivedOfNewObjects() throws {
    let parent = ManagedObjectContext(parent: context)
    let (empty, full) = (
      try parent.insert(entityNamed: "Shelf"), try parent.insert(entityNamed: "Shelf")
    )
    let book = try parent.insert(entityNamed: "Book")
    let child = ManagedObjectContext(parent: parent)
    let grandchild = ManagedObjectContext(parent: child)
    _ = try grandchild.insert(entityNamed: "Shelf")
    try set(child.object(with: book.objectID), "shelf", child.object(with: full.objectID))
    let request = FetchRequest<ManagedObject>(
      entityName: "Shelf", where: try FetchPredicate(format: "size > 0"))
    #expect(try grandchild.fetch(request).map(\.objectID) == [full.objectID])
    var sorted = FetchRequest<ManagedObject>(entityName: "Shelf")
    sorted.sortKeys = [SortKey("size", ascending: false)]
    #expect(try grandchild.fetch(sorted).map(\.objectID).first == full.objectID)
    #expect(try child.fetch(sorted).map(\.objectID) == [full.objectID, empty.objectID])
  }

  /// The book's row refers to the shelf all the time.
  @Test(arguments: [MergePolicy.mergeByPropertyObjectTrump, .overwrite])
  func anObjectThatIsWrittenAnewHasWhatARuleOfNoActionHasLeft(_ policy: MergePolicy) throws {
    let (shelf, book, cover) = (try make("Shelf"), try make("Book"), try make("Cover"))
    try set(book, "shelf", shelf)
    try set(cover, "book", book)
    try context.save()
    context.mergePolicy = policy
    try shelf.setValue(.attribute(.string("Novels")), forKey: "name")
    try cover.setValue(.object(book), forKey: "book")
    try deleteElsewhere(shelf)
    try context.save()
    #expect(try many(shelf, "books") == [book.objectID])
    #expect(try one(book, "shelf") == shelf.objectID)
    let reader = other()
    #expect(try many(reader.object(with: shelf.objectID), "books") == [book.objectID])
  }

  @Test func aRelationshipDoesNotLeadToAnObjectThatAChildHasMetAfterItsEnd() throws {
    let (first, second, third) = (try make("Book"), try make("Book"), try make("Book"))
    try context.save()
    try set(second, "original", first)
    let child = ManagedObjectContext(parent: context)
    try set(child.object(with: third.objectID), "original", child.object(with: second.objectID))
    context.delete(second)
    try context.save()
    #expect(try many(first, "sequels") == [])
    try? child.save()
    #expect(try many(first, "sequels") == [])
    #expect(try one(third, "original") == nil)
  }

  @Test(arguments: [false, true])
  func whatAChildBringsBackIsInTheRelationshipsThatARuleOfNoActionHasLeft(_ isSavedBefore: Bool) throws {
    let (page, picture) = (try make("Page"), try make("Picture"))
    try context.save()
    try page.setValue(.objects([picture]), forKey: "pictures")
    let child = ManagedObjectContext(parent: context)
    child.undoManager = ContextUndoManager()
    child.delete(try child.object(with: picture.objectID))
    try child.save()
    #expect(try many(page, "pictures") == [])
    if isSavedBefore { try context.save() }
    child.undoManager?.undo()
    try child.save()
    #expect(try many(page, "pictures") == [picture.objectID])
    #expect(try many(context.object(with: picture.objectID), "pages") == [page.objectID])
  }

  /// The context keeps the node that it has deleted for an undo, and others write its row anew.
  @Test func aDeletionThatIsTakenBackFindsWhatOthersHaveWrittenAnew() throws {
    let (first, second) = (try make("Node"), try make("Node"))
    try set(second, "next", second)
    try context.save()
    let (mine, theirs) = (other(), other())
    mine.undoManager = ContextUndoManager()
    theirs.mergePolicy = .mergeByPropertyObjectTrump
    mine.delete(try mine.object(with: second.objectID))
    let first2 = try theirs.object(with: first.objectID)
    try set(first2, "next", theirs.object(with: second.objectID))
    try mine.save()
    mine.mergePolicy = .mergeByPropertyStoreTrump
    mine.delete(try mine.object(with: first.objectID))
    try theirs.save()
    try mine.save()
    let read = try mine.object(with: second.objectID)
    #expect(!read.isDeleted && !read.isInaccessible)
    #expect(try one(mine.object(with: first.objectID), "next") == second.objectID)
    try set(read, "next", read)
    try mine.save()
    #expect(try one(other().object(with: first.objectID), "next") == nil)
  }

  @Test func whatAChildBringsBackHasWhatStillRefersToItInTheParent() throws {
    let (shelf, book) = (try make("Shelf"), try make("Book"))
    let (cover, first) = (try make("Cover"), try make("Book"))
    try context.save()
    try set(book, "shelf", shelf)
    try set(first, "cover", cover)
    let child = ManagedObjectContext(parent: context)
    child.undoManager = ContextUndoManager()
    let (shelf2, cover2) = (try child.object(with: shelf.objectID), try child.object(with: cover.objectID))
    child.delete(shelf2)
    child.delete(cover2)
    try child.save()
    child.undoManager?.undo()
    #expect(try many(shelf2, "books") == [book.objectID])
    #expect(try one(child.object(with: book.objectID), "shelf") == shelf.objectID)
    #expect(try one(cover2, "book") == first.objectID)
    #expect(try one(child.object(with: first.objectID), "cover") == cover.objectID)
    try child.save()
    #expect(try many(shelf, "books") == [book.objectID])
    #expect(try one(cover, "book") == first.objectID)
    try context.save()
    #expect(try many(other().object(with: shelf.objectID), "books") == [book.objectID])
  }

  @Test func aPartnerForgetsAnObjectThatAPolicyGivesUp() throws {
    let (book, cover, tag) = (try make("Book"), try make("Cover"), try make("Tag"))
    try set(book, "cover", cover)
    try context.save()
    context.mergePolicy = .rollback
    #expect(try one(cover, "book") == book.objectID)
    try tag.setValue(.objects([book]), forKey: "books")
    try deleteElsewhere(book)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Cover")) == 1)
    try context.save()
    #expect(try one(cover, "book") == nil)
    #expect(try many(tag, "books") == [])
  }

  /// The sequel has changes, so that it is not read again and its reference makes a fault of the row that has gone.
  @Test func aReferenceWithoutAnInverseDoesNotLeadToAFaultOfARowThatHasGone() throws {
    let (book, sequel, note) = (try make("Book"), try make("Book"), try make("Note"))
    try set(sequel, "original", book)
    try set(note, "about", book)
    try context.save()
    let mine = other()
    let sequel2 = try mine.object(with: sequel.objectID)
    let note2 = try mine.object(with: note.objectID)
    #expect(try one(note2, "about") == book.objectID)
    try sequel2.setValue(.attribute(.string("Two")), forKey: "name")
    let theirs = other()
    try theirs.perform {
      try theirs.object(with: sequel.objectID).setValue(.object(nil), forKey: "original")
      theirs.delete(try theirs.object(with: book.objectID))
      try theirs.save()
    }
    _ = try mine.count(for: FetchRequest<ManagedObject>(entityName: "Note"))
    _ = try sequel2.value(forKey: "original")
    #expect(try one(note2, "about") == nil)
  }

  /// Of the second friend's relationship the context has read nothing: it knows only what it has added.
  @Test func friendsThatAreWrittenAnewAreThoseOfBothSides() throws {
    let mine = try make("Step")
    context.mergePolicy = .overwrite
    try context.save()
    let theirs = other()
    let (friend, third) = try theirs.perform {
      let both = (
        try theirs.insert(entityNamed: "Step").objectID, try theirs.insert(entityNamed: "Step").objectID
      )
      try theirs.save()
      return both
    }
    let (friend2, third2) = (try context.object(with: friend), try context.object(with: third))
    try mine.setValue(.objects([friend2, third2, mine]), forKey: "friends")
    try mine.setValue(.attribute(.string("Mine")), forKey: "name")
    try friend2.setValue(.attribute(.string("Friend")), forKey: "name")
    try theirs.perform {
      for id in [friend, third, mine.objectID] { theirs.delete(try theirs.object(with: id)) }
      try theirs.save()
    }
    try context.save()
    let reader = other()
    #expect(
      try Set(many(reader.object(with: mine.objectID), "friends")) == [mine.objectID, friend])
    #expect(try many(reader.object(with: friend), "friends") == [mine.objectID])
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  /// Others have written it anew after their deletion, and so another instance stands for it than the one in the list.
  @Test func anOrderedRelationshipLetsGoOfWhatOthersHaveWrittenAnew() throws {
    let (whole, part, last) = (try make("Step"), try make("Step"), try make("Step"))
    try whole.setValue(.objects([part, last]), forKey: "parts")
    try context.save()
    let mine = other()
    let whole2 = try mine.object(with: whole.objectID)
    let last2 = try mine.object(with: last.objectID)
    // A change of the context's own, for which the list is not read again before the save.
    mine.delete(last2)
    #expect(try many(whole2, "parts") == [part.objectID])
    let (eager, late) = (other(), other())
    late.mergePolicy = .overwrite
    let part3 = try late.object(with: part.objectID)
    try late.perform { try part3.setValue(.attribute(.string("Late")), forKey: "name") }
    try eager.perform {
      eager.delete(try eager.object(with: part.objectID))
      try eager.save()
    }
    try late.perform { try late.save() }
    _ = try mine.count(for: FetchRequest<ManagedObject>(entityName: "Tag"))
    try whole2.setValue(.objects([]), forKey: "parts")
    #expect(try one(mine.object(with: part.objectID), "whole") == nil)
    try mine.save()
    let reader = other()
    #expect(try many(reader.object(with: whole.objectID), "parts") == [])
    #expect(try one(reader.object(with: part.objectID), "whole") == nil)
  }

  /// A group of changes knows nothing of the partner that others have given to its object since.
  @Test func anUndoTakesAnObjectFromThePartnerThatOthersHaveGivenIt() throws {
    let (one, two) = (try make("Spouse"), try make("Spouse"))
    try context.save()
    let (mine, theirs) = (other(), other())
    theirs.mergePolicy = .overwrite
    let (one2, two2) = (try theirs.object(with: one.objectID), try theirs.object(with: two.objectID))
    try theirs.perform { try set(one2, "spouse", two2) }
    mine.undoManager = ContextUndoManager()
    let three = try mine.perform { try mine.insert(entityNamed: "Spouse") }
    try mine.perform { try set(three, "spouse", mine.object(with: one.objectID)) }
    try mine.perform { try mine.save() }
    try theirs.perform { try theirs.save() }
    let spouses = FetchRequest<ManagedObject>(entityName: "Spouse")
    let all = try mine.perform { try mine.fetch(spouses) }
    func spouse(of object: ManagedObject) throws -> ManagedObjectID? {
      try mine.perform { try self.one(mine.object(with: object.objectID), "spouse") }
    }
    #expect(try spouse(of: one) == two.objectID)
    mine.perform { mine.undo() }
    #expect(try spouse(of: one) == nil)
    #expect(try spouse(of: two) == nil)
    mine.perform { mine.redo() }
    #expect(try spouse(of: one) == two.objectID)
    #expect(try spouse(of: two) == one.objectID)
    mine.perform { mine.undo() }
    try mine.perform { try mine.save() }
    #expect(try container.persistentStoreCoordinator.verify() == [])
    withExtendedLifetime(all) {}
  }
}
