import CDRuntime
import Foundation
import Testing

/// Deleted objects and the relationships that they were in: gone at once, and back after a rollback.
@Suite struct DeletingTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let author: Author
  private let books: [Book]

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    let author = Author(name: "A", in: context)
    books = (1...3).map { Book(title: "B", isbn: "\($0)", author: author, in: context) }
    (self.context, self.author) = (context, author)
  }

  @Test func aLoadedOneSidedRelationshipLosesThemAtOnce() throws {
    let shelf = Shelf(in: context)
    shelf.books = books
    try context.save()
    #expect(shelf.books == books)
    context.delete(books[0])
    #expect(shelf.books == [books[1], books[2]])
    context.rollback()
    #expect(shelf.books == books)
    context.delete(books[0])
    try context.save()
    #expect(shelf.books == [books[1], books[2]])
  }

  // The others are not in memory when the object is deleted, and are not told.
  @Test func whatIsLoadedMeanwhileHasThemAfterARollback() throws {
    books[0].sequel = books[1]
    books[0].addToReviews(Review(stars: 1, in: context))
    try context.save()
    let other = try store.freshContext()
    let review = try #require(try Review.objects(in: other).first)
    let sequel = try #require(try Book.object(isbn: "2", in: other))
    other.delete(review)
    other.delete(sequel)
    let book = try #require(try Book.object(isbn: "1", in: other))
    #expect(book.reviews.isEmpty)
    #expect(book.sequel == nil)
    other.rollback()
    #expect(book.reviews == [review])
    #expect(book.sequel === sequel)
  }

  @Test func anObjectThatWasAddedAndDeletedIsNotSaved() throws {
    let shelf = Shelf(in: context)
    try context.save()
    shelf.addToBooks(books[0])
    context.delete(books[0])
    try context.save()
    #expect(try Shelf.objects(in: store.freshContext()).first?.books.isEmpty == true)
  }

  @Test func anAdditionThatWentWithTheObjectStaysAwayWhenAPolicyTakesTheDeletionBack() throws {
    let shelf = Shelf(in: context)
    try context.save()
    context.mergePolicy = .rollback
    let other = try store.freshContext()
    try #require(try Book.object(isbn: "1", in: other)).title = "theirs"
    shelf.addToBooks(books[0])
    context.delete(books[0])
    try other.save()
    try context.save()
    let saved = try store.freshContext()
    #expect(try Book.object(isbn: "1", in: saved)?.title == "theirs")
    #expect(try Shelf.objects(in: saved).first?.books.isEmpty == true)
  }

  @Test func whatHasMovedAwayDoesNotDenyADeletion() throws {
    try context.save()
    context.delete(author)
    #expect(throws: SaveError.self) { try context.save() }
    let heir = Author(name: "H", in: context)
    for book in books { book.author = heir }
    try context.save()
    #expect(try Author.objects(in: store.freshContext()).map(\.name) == ["H"])
  }

  @Test func aSymmetricPartnerIsFreedThatIsNotInMemory() throws {
    author.spouse = Author(name: "S", in: context)
    for book in books { context.delete(book) }
    try context.save()
    let other = try store.freshContext()
    other.delete(try other.existingObject(with: author.objectID))
    try other.save()
    let left = try Author.objects(in: store.freshContext())
    #expect(left.map(\.name) == ["S"])
    #expect(left.first?.spouse == nil)
  }

  /// Another context moves an order to another shop. The deletion's own first read tells of that: it reads another
  /// relationship, or the order.
  @Test(arguments: [false, true]) func anObjectThatHasAnotherOwnerByNowStays(isFault: Bool) throws {
    let store = ScratchStore(.ofEnvironment)
    let container = try PersistentContainer(
      scratchOf: [
        EntityDescription(
          name: "Shop",
          relationships: [
            RelationshipDescription(
              name: "assistants", destination: "Assistant", isToMany: true, inverse: "shop"),
            RelationshipDescription(
              name: "orders", destination: "Order", isToMany: true, inverse: "shop", deleteRule: .cascade),
          ]),
        EntityDescription(
          name: "Assistant",
          relationships: [RelationshipDescription(name: "shop", destination: "Shop", inverse: "assistants")]),
        EntityDescription(
          name: "Order",
          relationships: [RelationshipDescription(name: "shop", destination: "Shop", inverse: "orders")]),
      ], store)
    let (context, other) = (container.newContext(), container.newContext())
    let shops = try (0..<2).map { _ in try other.insert(entityNamed: "Shop") }
    let orders = try (0..<2).map { _ in try other.insert(entityNamed: "Order") }
    for order in orders { try order.setValue(shops[0], forKey: "shop") }
    try other.save()
    let shop = try context.existingObject(with: shops[0].objectID)
    let moved = try context.existingObject(with: orders[0].objectID)
    let count = try context.perform {
      if isFault { _ = try shop.value(forKey: "assistants") }
      return try shop.value(forKey: "orders").objects.count
    }
    #expect(count == 2)
    if isFault { context.refresh(moved, mergeChanges: false) }
    try orders[0].setValue(shops[1], forKey: "shop")
    try other.save()
    try context.perform {
      // Stores in memory have no snapshots: only a fetch tells of saves.
      if ![.sqlite, .postgresql].contains(store.kind) {
        _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "Assistant"))
      }
      context.delete(shop)
      try context.save()
    }
    #expect(shop.isDeleted && !moved.isDeleted)
    let fresh = container.newContext()
    let left = try fresh.fetch(FetchRequest<ManagedObject>(entityName: "Order"))
    #expect(left.map(\.objectID) == [moved.objectID])
    #expect(try left.first?.value(forKey: "shop").object?.objectID == shops[1].objectID)
  }

  /// The other owner is deleted too. The deletion learns of it when it reads the object as one of the former owner's.
  @Test func anObjectIsDeletedWithTheOwnerThatItHasByNow() throws {
    let store = ScratchStore(.ofEnvironment)
    let container = try PersistentContainer(scratchFor: ComponentsModel.self, store)
    let (context, other) = (container.newContext(), container.newContext())
    let top = Component(name: "top", whole: nil, in: other)
    let parts = ["a", "b"].map { Component(name: $0, whole: top, in: other) }
    let moving = Component(name: "moving", whole: parts[1], in: other)
    try other.save()
    let doomed = try context.localInstance(of: top)
    let moved = try context.localInstance(of: moving)
    let owners = context.perform { doomed.parts }
    let counts = context.perform { owners.map { $0.parts.count } }
    // The deletion begins at the end of the list.
    #expect(counts == [0, 1])
    context.refresh(moved, mergeChanges: false)
    moving.whole = parts[0]
    try other.save()
    try context.perform {
      // Stores in memory have no snapshots: only a fetch tells of saves.
      if ![.sqlite, .postgresql].contains(store.kind) { _ = try Component.objects(in: context) }
      context.delete(doomed)
      try context.save()
    }
    #expect(moved.isDeleted && owners.allSatisfy { $0.isDeleted })
    #expect(try Component.objects(in: container.newContext()).isEmpty)
  }

  // The destination has no entity below it, so that its objects may be made without a look at the store.
  @Test func aOneSidedReferenceGivesNoObjectThatIsGone() throws {
    let model = ManagedObjectModel(
      name: "Pins", id: UUID(),
      versions: [
        ModelVersion(
          number: 1,
          entities: [
            EntityDescription(
              name: "Pin", relationships: [RelationshipDescription(name: "place", destination: "Place")]),
            EntityDescription(name: "Place"),
          ])
      ], currentVersionNumber: 1)
    let container = try PersistentContainer(scratchModel: model)
    let context = container.newContext()
    let (pin, place) = (try context.insert(entityNamed: "Pin"), try context.insert(entityNamed: "Place"))
    try pin.setValue(place, forKey: "place")
    try context.save()
    context.delete(place)
    try context.save()
    #expect(try pin.value(forKey: "place").object == nil)
  }

  // The undo manager keeps the deleted object, and the reference still leads to it.
  @Test(arguments: [true, false]) func whatIsGoneIsNoChangedObject(isToMany: Bool) throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Node",
        relationships: [
          RelationshipDescription(name: "above", destination: "Node", inverse: "below"),
          RelationshipDescription(
            name: "below", destination: "Node", isToMany: isToMany, inverse: "above", deleteRule: .noAction),
        ])
    ])
    let context = container.newContext()
    let undoManager = ContextUndoManager()
    context.undoManager = undoManager
    let nodes = try (0..<3).map { _ in try context.insert(entityNamed: "Node") }
    try nodes[1].setValue(nodes[0], forKey: "above")
    try nodes[2].setValue(nodes[1], forKey: "above")
    try context.save()
    context.delete(nodes[0])
    try context.save()
    try nodes[1].setValue(.object(nil), forKey: "above")
    #expect(context.updatedObjects == [nodes[1]])
    try context.save()
    context.undo()
    #expect(nodes[0].isDeleted && !context.updatedObjects.contains(nodes[0]))
    try context.save()
    context.undo()
    #expect(!nodes[0].isDeleted)
    // Neither is what its partner's deletion meets.
    context.redo()
    try context.save()
    try nodes[1].setValue(.object(nil), forKey: "above")
    try context.save()
    context.delete(nodes[1])
    #expect(context.deletedObjects == [nodes[1]] && !context.updatedObjects.contains(nodes[0]))
    try context.save()
    #expect(nodes[1].isDeleted)
  }
}
