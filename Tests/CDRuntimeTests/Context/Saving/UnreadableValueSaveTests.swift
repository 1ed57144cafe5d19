import Foundation
import Testing

@testable import CDRuntime

/// Saves that derive values from those of a store that cannot be read for a moment.
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
}
