import Foundation
import Testing

@testable import CDRuntime

@Suite struct DictionaryFetchTests {
  private let library: FetchLibrary
  private let context: ManagedObjectContext

  init() throws {
    library = try FetchLibrary(.file)
    context = library.container.newContext()
  }

  private func strings(_ rows: [[String: FetchedValue]], _ key: String) -> [String?] {
    rows.map { row in
      if case .attribute(.string(let text))? = row[key] { return text }
      return nil
    }
  }

  @Test(arguments: [false, true]) func distinctValuesComeOnceWhereTheirFirstObjectStood(hasChanges: Bool)
    throws
  {
    if hasChanges {
      // Comes to nothing, and makes objects the source of the values.
      for book in try Book.objects(in: context) { book.title = book.title }
    }
    var request = FetchRequest<Book>()
    request.propertiesToFetch = ["title"]
    request.returnsDistinctResults = true
    #expect(strings(try context.dictionaries(for: request), "title") == ["b", "A", "a", "Ä", "c", "B"])
    request.sortKeys = [SortKey("title", ascending: false)]
    #expect(strings(try context.dictionaries(for: request), "title") == ["Ä", "c", "b", "a", "B", "A"])
    request.limit = 2
    request.offset = 3
    #expect(strings(try context.dictionaries(for: request), "title") == ["a", "B"])
    // An order by what is not fetched.
    request.sortKeys = [SortKey("isbn", ascending: false)]
    #expect(strings(try context.dictionaries(for: request), "title") == ["b", "B"])
    request.returnsDistinctResults = false
    request.offset = 5
    #expect(strings(try context.dictionaries(for: request), "title") == ["c", "Ä"])
  }

  @Test(arguments: [false, true]) func everyKindOfValue(hasChanges: Bool) throws {
    let book = try #require(try Book.object(isbn: "3", in: context))
    book.shippedTo = Address(street: "S", city: nil)
    book.settings = BookSettings(fontSize: 9)
    book.price = try #require(Decimal(string: "1.5"))
    if !hasChanges { try context.save() }
    var request = FetchRequest<Book>(where: \.isbn == "3")
    request.propertiesToFetch = [
      "price", "uuid", "added", "priority", "author", "prequel", "sequel", "SELF", "shippedTo.street",
      "author.spouse.name", "reviews.@count", "reviews.@sum.stars", "settings", "salesRank",
    ]
    let row = try #require(try context.dictionaries(for: request).first)
    #expect(row["price"] == .attribute(.decimal(book.price)))
    #expect(row["uuid"] == .attribute(.uuid(book.uuid)))
    #expect(row["added"] == .attribute(.date(book.added)))
    #expect(row["priority"] == .attribute(.int(1)))
    #expect(row["author"] == .object(book.author.objectID))
    #expect(row["prequel"] == .object(try #require(try Book.object(isbn: "2", in: context)).objectID))
    #expect(row["sequel"] == .object(nil))
    #expect(row["SELF"]?.objectID == book.objectID)
    #expect(row["shippedTo.street"] == .attribute(.string("S")))
    #expect(row["author.spouse.name"] == .attribute(.string("Thoreau")))
    #expect(row["reviews.@count"] == .attribute(.int(3)))
    #expect(row["reviews.@sum.stars"] == .attribute(.int(6)))
    #expect(row["settings"] == .attribute(.string(#"{"fontSize":9}"#)))
    #expect(row["salesRank"] == .attribute(.null))
    request.propertiesToFetch = ["shippedTo"]
    #expect(
      try context.dictionaries(for: request) == [
        ["shippedTo": .attribute(.composite(["street": .string("S"), "city": .null]))]
      ])
  }

  @Test(.needs(.decisions)) func withoutNamesAllStoredAttributesCome() throws {
    let request = FetchRequest<Author>(where: \.name == "Melville")
    #expect(try context.dictionaries(for: request) == [["name": .attribute(.string("Melville"))]])
    #expect(context.registeredObjects.isEmpty)
    let row = try #require(try context.dictionaries(for: FetchRequest<Book>()).first)
    #expect(
      row.keys.sorted() == [
        "added", "isbn", "price", "priority", "reviewCount", "salesRank", "settings", "shippedTo", "title",
        "uuid",
      ])
  }

  @Test func referencesTellTheEntityOfTheirObject() throws {
    var request = FetchRequest<Author>(where: \.name == "Melville")
    request.propertiesToFetch = ["SELF"]
    #expect(try context.dictionaries(for: request).first?["SELF"]?.objectID?.entityName == "Author")
    var all = FetchRequest<Publication>()
    all.propertiesToFetch = ["SELF"]
    all.returnsDistinctResults = true
    #expect(
      try context.dictionaries(for: all).compactMap { $0["SELF"]?.objectID } == context.objectIDs(for: all))
  }

  @Test func whatIsNotOneValueIsRefused() throws {
    var request = FetchRequest<Book>()
    request.propertiesToFetch = ["reviews.stars"]
    #expect(throws: FetchError.notAValue(entity: "Book", key: "reviews.stars")) {
      try context.dictionaries(for: request)
    }
    request.propertiesToFetch = ["titel"]
    #expect(throws: FetchError.self) { try context.dictionaries(for: request) }
  }
}
