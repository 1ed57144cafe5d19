import CDRuntime
import Foundation
import Testing

/// A class with an attribute named `id`, as many models have: it compiles, and the attribute is what `id` means.
private final class Badge: ManagedObject {
  var id: String { "own" }

  static func own(_ badge: Badge) -> String { badge.id }
}

/// An object in words, as an identifiable value, and its values as Swift types.
@Suite struct ObjectDescriptionTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(scratchFor: LibraryModel.self)
    context = container.newContext()
  }

  @Test func aDescriptionShowsTheValues() throws {
    let author = Author(name: "Henry", in: context)
    let book = Book(
      title: String(repeating: "long ", count: 20), isbn: "1", author: author, in: context)
    book.added = Date(timeIntervalSince1970: 0)
    book.price = 3
    let key = book.objectID.uriRepresentation.lastPathComponent
    let long = String(repeating: "long ", count: 8)
    #expect("\(book)".hasPrefix("<Book \(key) inserted title: \"\(long)…\" uuid: \(book.uuid.uuidString)"))
    #expect("\(book)".contains(" isbn: \"1\" salesRank: nil priority: 1 settings: nil added: \(book.added)"))
    #expect("\(book)".hasSuffix(" price: 3 draft: false reviewCount: nil>"))
    try context.save()
    // A description reads nothing from the store.
    context.refreshAllObjects()
    #expect(book.isFault)
    #expect("\(book)" == "<Book \(key) fault>")
    #expect(book.isFault)
    #expect(book.isbn == "1")
    #expect("\(book)".hasPrefix("<Book \(key) title: "))
    context.delete(book)
    #expect("\(book)".hasPrefix("<Book \(key) deleted title: "))
    context.reset()
    #expect("\(book)".hasPrefix("<Book \(key)"))
  }

  private func identifier<Value: Identifiable>(_ value: Value) -> Value.ID { value.id }

  @Test func anObjectIsIdentifiable() throws {
    let author = Author(name: "Henry", in: context)
    #expect(identifier(author) == author.objectID)
    #expect(author.id == author.objectID)
    try context.save()
    #expect(identifier(author) == author.objectID)
  }

  @Test func valuesHaveTheTypeThatIsAskedFor() throws {
    let book = Book(title: "Walden", isbn: "1", author: Author(name: "Henry", in: context), in: context)
    book.salesRank = 7
    #expect(try book.value(forKey: "title", as: String.self) == "Walden")
    #expect(try book.value(forKey: "salesRank", as: Int64?.self) == 7)
    #expect(try book.value(forKey: "salesRank", as: Int.self) == 7)
    #expect(try book.value(forKey: "priority", as: Priority.self) == .normal)
    #expect(try book.value(forKey: "price", as: Decimal.self) == book.price)
    book.salesRank = nil
    #expect(try book.value(forKey: "salesRank", as: Int64?.self) == nil)
    #expect(
      throws: PropertyError.wrongType(entity: "Book", key: "salesRank", expected: "Int64", given: "nil")
    ) {
      try book.value(forKey: "salesRank", as: Int64.self)
    }
    #expect(throws: PropertyError.wrongType(entity: "Book", key: "title", expected: "Int", given: "String")) {
      try book.value(forKey: "title", as: Int.self)
    }
    #expect(throws: PropertyError.unknownKey(entity: "Book", key: "titel", suggestion: "title")) {
      try book.value(forKey: "titel", as: String.self)
    }
  }
}
