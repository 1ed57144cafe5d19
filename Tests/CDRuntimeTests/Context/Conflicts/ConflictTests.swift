import CDRuntime
import Foundation
import Testing

@Suite struct ConflictTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
  }

  @Test func aRowChangedBySomebodyElseIsAConflict() throws {
    let author = Author(name: "A", in: context)
    try context.save()
    let other = try store.freshContext()
    try #require(try Author.objects(in: other).first).name = "B"
    try other.save()
    author.name = "C"
    let conflict = SaveConflict(reason: .changed, objectID: author.objectID, keys: ["name"])
    #expect(throws: SaveError.conflict([conflict])) {
      try context.save()
    }
    context.refresh(author, mergeChanges: true)
    #expect(author.name == "C")
    try context.save()
    #expect(try Author.objects(in: store.freshContext()).map(\.name) == ["C"])
  }

  @Test func aDeletionOfWhatSomebodyElseHasChangedCanBeSavedAfterARefresh() throws {
    let author = Author(name: "A", in: context)
    try context.save()
    let other = try store.freshContext()
    try #require(try Author.objects(in: other).first).name = "B"
    try other.save()
    context.delete(author)
    #expect(throws: SaveError.self) { try context.save() }
    context.refresh(author, mergeChanges: true)
    #expect(author.isDeleted)
    try context.save()
    #expect(try Author.objects(in: store.freshContext()).isEmpty)
  }

  @Test func whatSomebodyElseHasDeletedCanBeDeleted() throws {
    let author = Author(name: "A", in: context)
    try context.save()
    let other = try store.freshContext()
    other.delete(try #require(try Author.objects(in: other).first))
    try other.save()
    author.name = "B"
    #expect(throws: SaveError.conflict([SaveConflict(reason: .deleted, objectID: author.objectID)])) {
      try context.save()
    }
    context.delete(author)
    try context.save()
    #expect(author.isDeleted && !context.hasChanges)
  }

  /// The conflict stays until the object is deleted, or given up with its changes.
  @Test(.onceForAllKinds, arguments: [false, true])
  func aRefreshKeepsAnObjectWithChangesWhoseRowIsGone(isDeleted: Bool) throws {
    let author = Author(name: "A", in: context)
    try context.save()
    let other = try store.freshContext()
    other.delete(try #require(try Author.objects(in: other).first))
    try other.save()
    author.name = "B"
    let conflict = SaveError.conflict([SaveConflict(reason: .deleted, objectID: author.objectID)])
    #expect(throws: conflict) { try context.save() }
    context.refresh(author, mergeChanges: true)
    #expect(author.name == "B" && !author.isInaccessible)
    #expect(throws: conflict) { try context.save() }
    if isDeleted { context.delete(author) } else { context.refresh(author, mergeChanges: false) }
    #expect(author.isDeleted == isDeleted)
    try context.save()
    #expect(author.isInaccessible && !context.hasChanges)
  }

  @Test func aRefreshTakesRelationshipsBackOnBothSides() throws {
    let (a, b) = (Author(name: "A", in: context), Author(name: "B", in: context))
    let book = Book(title: "T", isbn: "1", author: a, in: context)
    let (one, two) = (Tag(name: "one", in: context), Tag(name: "two", in: context))
    book.tags = [one]
    try context.save()
    book.author = b
    book.tags = [two]
    context.refresh(book, mergeChanges: false)
    #expect(book.author === a && book.tags == [one])
    #expect(a.publications == [book] && b.publications.isEmpty)
    #expect(one.books == [book] && two.books.isEmpty)
    try context.save()
    let read = try store.freshContext()
    #expect(try Tag.objects(in: read).map { $0.books.map(\.isbn) } == [["1"], []])
    #expect(try Author.objects(in: read).map { $0.publications.count } == [1, 0])
  }

  // Settled 7: swapping two unique values in one save works.
  @Test func settled7UniqueValuesCanBeSwapped() throws {
    let (one, two) = (Tag(name: "one", in: context), Tag(name: "two", in: context))
    try context.save()
    (one.name, two.name) = ("two", "one")
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).map(\.name) == ["two", "one"])
    let third = Tag(name: "one", in: context)
    let conflict = UniquenessConflict(
      entity: "Tag", properties: ["name"], objectIDs: [third.objectID, two.objectID])
    #expect(throws: SaveError.notUnique([conflict])) { try context.save() }
    third.name = "three"
    try context.save()
  }

  @Test func everyObjectOfAUniquenessConflictIsNamed() throws {
    let stored = Tag(name: "stored", in: context)
    let changed = Tag(name: "changed", in: context)
    try context.save()
    let other = try store.freshContext()
    let author = Author(name: "A", in: context)
    let books = (1...2).map { _ in Book(title: "T", isbn: "1", author: author, in: context) }
    let new = [
      Tag(name: "stored", in: context), Tag(name: "new", in: context), Tag(name: "new", in: context),
    ]
    changed.name = "stored"
    func conflict(_ entity: String, _ property: String, _ objects: [ManagedObject]) -> UniquenessConflict {
      UniquenessConflict(entity: entity, properties: [property], objectIDs: objects.map(\.objectID))
    }
    let expected = [
      conflict("Tag", "name", [changed, new[0], stored]), conflict("Book", "isbn", books),
      conflict("Tag", "name", [new[1], new[2]]),
    ]
    do {
      try context.save()
      Issue.record("saved")
    } catch SaveError.notUnique(let conflicts) {
      #expect(Set(conflicts) == Set(expected) && conflicts.count == 3)
    }
    // The row of the store may be one that the context has never seen.
    _ = Tag(name: "stored", in: other)
    do {
      try other.save()
      Issue.record("saved")
    } catch SaveError.notUnique(let conflicts) {
      #expect(conflicts.map { $0.objectIDs.last } == [stored.objectID])
    }
  }

  @Test func everyMistakeIsReported() throws {
    let author = Author(name: "A", in: context)
    let book = Book(title: "T", isbn: "letters", author: author, in: context)
    book.price = -1
    let review = Review(stars: 9, in: context)
    review.text = String(repeating: "x", count: 101)
    let orphan = Book(in: context)
    #expect(
      throws: SaveError.validation([
        .init(reason: .patternMismatch, entity: "Book", property: "isbn", objectID: book.objectID),
        .init(reason: .outOfRange, entity: "Book", property: "price", objectID: book.objectID),
        .init(reason: .outOfRange, entity: "Review", property: "stars", objectID: review.objectID),
        .init(reason: .wrongLength, entity: "Review", property: "text", objectID: review.objectID),
        .init(reason: .missingValue, entity: "Book", property: "title", objectID: orphan.objectID),
        .init(reason: .missingValue, entity: "Book", property: "author", objectID: orphan.objectID),
        .init(reason: .missingValue, entity: "Book", property: "isbn", objectID: orphan.objectID),
      ])
    ) { try context.save() }
  }

  // Settled 1: getters never trap, whatever has become of the row.
  @Test func settled1AnObjectWhoseRowIsGoneKeepsItsValues() throws {
    let author = Author(name: "A", in: context)
    try context.save()
    let other = try store.freshContext()
    other.delete(try #require(try Author.objects(in: other).first))
    try other.save()
    context.refresh(author, mergeChanges: false)
    #expect(author.isFault)
    #expect(author.name == "A")
    #expect(author.isInaccessible)
    #expect(context.recentErrors.map(\.reason) == [.objectGone])
  }

  @Test func rollbackUndoesEverything() throws {
    let author = Author(name: "A", in: context)
    let book = Book(title: "T", isbn: "1", author: author, in: context)
    try context.save()
    author.name = "B"
    let tag = Tag(name: "t", in: context)
    book.addToTags(tag)
    context.delete(book)
    context.rollback()
    #expect(!context.hasChanges)
    #expect(author.name == "A")
    #expect(book.tags.isEmpty)
    #expect(!book.isDeleted)
    #expect(tag.isInaccessible)
    #expect(author.publications == [book])
  }

  @Test func objectsWithoutClassesHaveTheirValuesByKey() throws {
    let container = try PersistentContainer(scratchModel: LibraryDescription.model)
    let context = container.newContext()
    let author = try context.insert(entityNamed: "Author")
    try author.setValue("A", forKey: "name")
    let book = try context.insert(entityNamed: "Book")
    try book.setValue("T", forKey: "title")
    try book.setValue("1", forKey: "isbn")
    try book.setValue(author, forKey: "author")
    try book.setValue(
      .attribute(.composite(["street": .string("S"), "city": .null])), forKey: "shippedTo")
    #expect(throws: PropertyError.unknownKey(entity: "Book", key: "nothing")) {
      try book.setValue(1, forKey: "nothing")
    }
    #expect(
      throws: PropertyError.wrongType(
        entity: "Book", key: "title", expected: "String", given: "Int")
    ) { try book.setValue(1, forKey: "title") }
    #expect(throws: PropertyError.readOnly(entity: "Book", key: "reviewCount")) {
      try book.setValue(1, forKey: "reviewCount")
    }
    try context.save()
    let other = container.newContext()
    let read = try #require(try other.object(forEntityNamed: "Book", matching: ["isbn": "1"]))
    #expect(
      try read.value(forKey: "shippedTo")
        == .attribute(.composite(["street": .string("S"), "city": .null])))
    #expect(try read.value(forKey: "price").attribute == .decimal(Decimal(string: "9.99") ?? 0))
    #expect(try read.value(forKey: "author").object?.value(forKey: "name").attribute == .string("A"))
    try read.setValue("U", forKey: "title")
    #expect(read.changedValues == ["title": .attribute(.string("U"))])
    #expect(read.committedValues["title"] == .attribute(.string("T")))
  }
}
