import Foundation
import Testing

@testable import CDRuntime

/// Saves that need what a store has while it cannot be read for a moment: to derive values, and to check rules.
@Suite(.onceForAllKinds) struct UnreadableValueSaveTests {
  private let container: PersistentContainer
  private let engine: UnreadableEngine
  private let book: ManagedObjectID

  init() throws {
    (container, engine) = UnreadableEngine.container(
      of: try PersistentContainer(scratchFor: LibraryModel.self, ScratchStore(.memory))
        .persistentStoreCoordinator)
    let context = container.newContext()
    let book = Book(title: "a", isbn: "1", author: Author(name: "Ann", in: context), in: context)
    for stars in [Int16(1), 2] { book.addToReviews(Review(stars: stars, in: context)) }
    try context.save()
    self.book = book.objectID
  }

  /// The value that is written would be wrong, and no error would tell it.
  @Test func noAttributeIsDerivedFromWhatCannotBeRead() throws {
    let context = container.newContext()
    let book = try #require(try context.existingObject(with: book) as? Book)
    let review = Review(stars: 3, in: context)
    engine.whileUnreadable {
      review.book = book
      #expect(throws: StoreError.self) { try context.save() }
    }
    try context.save()
    let read = try #require(try container.newContext().existingObject(with: book.objectID) as? Book)
    #expect(read.reviewCount == 3)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  /// No object of the relationship is in memory, so a save that ignored the failed read would find it empty.
  @Test func noObjectsAreCountedThatCannotBeRead() throws {
    let (container, engine) = UnreadableEngine.container(
      of: try PersistentContainer(
        scratchOf: [
          EntityDescription(
            name: "Node",
            relationships: [
              RelationshipDescription(
                name: "parts", destination: "Node", isToMany: true, inverse: "whole", maximumCount: 3),
              RelationshipDescription(name: "whole", destination: "Node", inverse: "parts"),
            ])
        ], ScratchStore(.memory)
      ).persistentStoreCoordinator)
    let first = container.newContext()
    let whole = try first.insert(entityNamed: "Node")
    for _ in 1...3 { try first.insert(entityNamed: "Node").setValue(whole, forKey: "whole") }
    try first.save()
    let context = container.newContext()
    let mine = try context.existingObject(with: whole.objectID)
    try context.insert(entityNamed: "Node").setValue(mine, forKey: "whole")
    engine.whileUnreadable {
      #expect(throws: StoreError.self) { try context.save() }
    }
    #expect(throws: SaveError.self) { try context.save() }
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func noDeletionIsAllowedWhoseRuleCannotBeRead() throws {
    let context = container.newContext()
    let author = try #require(try Author.objects(in: context).first)
    context.delete(author)
    engine.whileUnreadable {
      #expect(throws: StoreError.self) { try context.save() }
    }
    #expect(throws: SaveError.self) { try context.save() }
    context.rollback()
    #expect(!author.isDeleted)
  }
}
