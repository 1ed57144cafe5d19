import CDRuntime
import Foundation
import Testing

/// Objects of generated classes in contexts of other models: they belong to no context, nothing they are asked traps,
/// and the save says that they are not there.
@Suite struct MisfitTests {
  private func use(_ context: ManagedObjectContext) throws {
    let book = Book(title: "T", isbn: "1", author: Author(name: "A", in: context), in: context)
    let tag = Tag(name: "t", in: context)
    tag.name = "u"
    tag.addToBooks(book)
    tag.insertIntoBooks(book, at: 3)
    tag.books = [book]
    #expect(tag.books.isEmpty && tag.isInaccessible && tag.name == "u" && !tag.isInserted)
    book.sequel = book
    #expect(book.sequel == nil && book.reviews.isEmpty && book.author.name.isEmpty && book.others.isEmpty)
    #expect(throws: PropertyError.self) { try tag.value(forKey: "name") }
    #expect(throws: PropertyError.self) { try tag.setValue("x", forKey: "name") }
    #expect(tag.changedValues.isEmpty && tag.committedValues.isEmpty)
    context.delete(tag)
    #expect(context.insertedObjects.isEmpty)
    #expect(throws: ObservedError.self) { try context.save() }
    #expect(context.recentErrors.contains { $0.reason == .uninsertableEntity && $0.entity == "Tag" })
  }

  @Test func anEntityThatTheModelHasNot() throws {
    let model = ManagedObjectModel(
      name: "Other", id: UUID(),
      versions: [ModelVersion(number: 1, entities: [EntityDescription(name: "Thing")])],
      currentVersionNumber: 1)
    try use(PersistentContainer(scratchModel: model).newContext())
  }

  @Test func anEntityOfTheSameNameAndAnotherShape() throws {
    let entities = ["Tag", "Book", "Author"].map { EntityDescription(name: $0) }
    let model = ManagedObjectModel(
      name: "Other", id: UUID(), versions: [ModelVersion(number: 1, entities: entities)],
      currentVersionNumber: 1)
    try use(PersistentContainer(scratchModel: model).newContext())
  }

  @Test func theSameModelWithoutItsClasses() throws {
    try use(PersistentContainer(scratchModel: LibraryDescription.model).newContext())
  }
}
