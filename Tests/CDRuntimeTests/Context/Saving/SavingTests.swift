import CDRuntime
import Foundation
import Testing

@Suite struct SavingTests {
  @Test func whatIsSavedIsThereInAnotherContext() throws {
    let store = try TemporaryStore()
    let container = try store.container()
    let context = container.newContext()
    let author = Author(name: "Thoreau", in: context)
    let book = Book(title: "Walden", isbn: "1", author: author, in: context)
    book.salesRank = 7
    book.priority = .high
    book.settings = BookSettings(fontSize: 12)
    book.shippedTo = Address(street: "Main", city: nil)
    book.price = try #require(Decimal(string: "-1.5")) * -1
    let added = book.added
    let uuid = book.uuid
    let magazine = Magazine(title: "Dial", issue: 3, author: author, in: context)
    #expect(context.hasChanges)
    #expect(author.publications == [book, magazine])
    try context.save()
    #expect(!context.hasChanges)
    #expect(!book.isInserted)

    let other = try store.freshContext()
    let read = try #require(try Book.objects(in: other).first)
    #expect(read !== book)
    #expect(read.objectID == book.objectID)
    #expect(read.title == "Walden")
    #expect(read.isbn == "1")
    #expect(read.salesRank == 7)
    #expect(read.priority == .high)
    #expect(read.settings == BookSettings(fontSize: 12))
    #expect(read.shippedTo == Address(street: "Main", city: nil))
    #expect(read.price == Decimal(string: "1.5"))
    #expect(read.added == added)
    #expect(read.uuid == uuid)
    #expect(read.author.name == "Thoreau")
    #expect(Set(read.author.publications.map(\.title)) == ["Walden", "Dial"])
    let publications = try Publication.objects(in: other)
    #expect(publications.map(\.title) == ["Walden", "Dial"])
    #expect(publications.last is Magazine)
    #expect((publications.last as? Magazine)?.issue == 3)
  }

  @Test func inMemoryStoresWork() throws {
    let container = try PersistentContainer(inMemoryFor: LibraryModel.self)
    let context = container.newContext()
    _ = Author(name: "A", in: context)
    try context.save()
    #expect(try Author.objects(in: container.newContext()).map(\.name) == ["A"])
  }
}
