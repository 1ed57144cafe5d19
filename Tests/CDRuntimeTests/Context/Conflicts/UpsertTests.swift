import CDRuntime
import Foundation
import Testing

/// New objects whose unique values there are already.
@Suite struct UpsertTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
  }

  /// A book of the store, and a new one with its number, saved under a policy.
  private func upsert(_ policy: MergePolicy) throws -> (old: Book, new: Book) {
    let author = Author(name: "A", in: context)
    let old = Book(title: "old", isbn: "1", author: author, in: context)
    (old.salesRank, old.price) = (4, 5)
    old.reviews = [Review(stars: 1, in: context)]
    try context.save()
    let new = Book(title: "new", isbn: "1", author: Author(name: "B", in: context), in: context)
    new.priority = .high
    new.reviews = [Review(stars: 2, in: context)]
    new.tags = [Tag(name: "t", in: context)]
    let shelf = Shelf(in: context)
    shelf.favourite = new
    shelf.books = [new]
    context.mergePolicy = policy
    try context.save()
    #expect(!context.hasChanges)
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
    return (old, new)
  }

  private func expectUnited(_ old: Book, _ new: Book) throws -> Book {
    #expect(new.isDeleted && new.isInaccessible && new.managedObjectContext === context)
    #expect(try context.survivor(of: new) === old)
    #expect(try context.survivor(of: old) == nil)
    let read = try store.freshContext()
    let books = try Book.objects(in: read)
    #expect(books.map(\.objectID.uriRepresentation) == [old.objectID.uriRepresentation])
    let book = try #require(books.first)
    #expect(book.reviews.map(\.stars) == [1, 2] && book.tags.map(\.name) == ["t"])
    let shelf = try #require(try Shelf.objects(in: read).first)
    #expect(shelf.favourite === book && shelf.books == [book])
    #expect(old.reviews.map(\.stars) == [1, 2] && old.title == book.title)
    return book
  }

  @Test func theExistingObjectTakesTheValuesThatTheNewOneWasGiven() throws {
    let (old, new) = try upsert(.mergeByPropertyObjectTrump)
    let uuid = old.uuid
    let book = try expectUnited(old, new)
    #expect(book.title == "new" && book.author.name == "B" && book.priority == .high)
    #expect(book.salesRank == 4 && book.price == 5 && book.uuid == uuid && book.uuid != new.uuid)
  }

  @Test func overwritingTakesAllValues() throws {
    let (old, new) = try upsert(.overwrite)
    let book = try expectUnited(old, new)
    #expect(book.title == "new" && book.salesRank == nil && book.price == Decimal(string: "9.99"))
    #expect(book.uuid == new.uuid)
  }

  @Test func theExistingObjectKeepsItsValuesWhereTheStoreWins() throws {
    let (old, new) = try upsert(.mergeByPropertyStoreTrump)
    let book = try expectUnited(old, new)
    #expect(book.title == "old" && book.author.name == "A" && book.salesRank == 4)
  }

  @Test func rollingBackLeavesTheNewOneOut() throws {
    let (old, new) = try upsert(.rollback)
    #expect(new.isDeleted && old.title == "old" && old.tags.isEmpty)
    let read = try store.freshContext()
    #expect(try Book.objects(in: read).map(\.title) == ["old"])
    #expect(try Shelf.objects(in: read).map { $0.favourite == nil && $0.books.isEmpty } == [true])
  }

  @Test func aPolicyOfOnesOwnIsAskedWithBothObjects() throws {
    let policy = MergePolicy { conflict in
      #expect(conflict.reason == .notUnique && conflict.keys == ["isbn"] && conflict.otherID != nil)
      let title = conflict.value(forKey: "title")
      #expect(title?.object == .attribute(.string("new")) && title?.store == .attribute(.string("old")))
      return .values(["title": .attribute(.string("both"))])
    }
    let (old, new) = try upsert(policy)
    #expect(try expectUnited(old, new).title == "both")
  }

  @Test func manyNewObjectsOfOneValueBecomeOne() throws {
    context.mergePolicy = .mergeByPropertyObjectTrump
    let author = Author(name: "A", in: context)
    for number in 0..<20 {
      let book = Book(title: "T", isbn: "\(number)", author: author, in: context)
      book.tags = [Tag(name: "t\(number % 3)", in: context)]
    }
    try context.save()
    let read = try store.freshContext()
    #expect(try Tag.objects(in: read).map(\.name).sorted() == ["t0", "t1", "t2"])
    #expect(try Tag.objects(in: read).map { $0.books.count }.reduce(0, +) == 20)
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func aChangedObjectCannotBecomeAnotherOne() throws {
    let (one, two) = (Tag(name: "one", in: context), Tag(name: "two", in: context))
    try context.save()
    two.name = "one"
    for policy in [MergePolicy.error, .mergeByPropertyObjectTrump, .overwrite] {
      context.mergePolicy = policy
      #expect(
        throws: SaveError.notUnique([
          UniquenessConflict(entity: "Tag", properties: ["name"], objectIDs: [two.objectID, one.objectID])
        ])
      ) { try context.save() }
    }
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(one.name == "one" && two.name == "two" && !context.hasChanges)
    two.name = "one"
    context.mergePolicy = .rollback
    try context.save()
    #expect(two.name == "two")
  }

  @Test func aPolicysObjectIsTakenByAChangedObject() throws {
    let author = Author(name: "A", in: context)
    _ = Book(title: "a", isbn: "1", author: author, in: context)
    let changed = Book(title: "b", isbn: "2", author: author, in: context)
    let third = Book(title: "c", isbn: "3", author: author, in: context)
    try context.save()
    let id = third.objectID
    context.mergePolicy = MergePolicy { _ in
      .values(["isbn": .attribute(.string("4")), "sequel": .object(id)])
    }
    changed.isbn = "1"
    try context.save()
    #expect(changed.isbn == "4" && changed.sequel === third)
  }
}
