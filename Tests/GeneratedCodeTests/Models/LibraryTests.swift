import CDRuntime
import Foundation
import Testing

@Suite struct LibraryTests {
  @Test(arguments: StorePlace.allCases)
  func everyHelperFindsWhatItShould(place: StorePlace) throws {
    let library = try FilledLibrary(place)
    defer { library.store.remove() }
    let context = library.context
    #expect(try Book.objects(in: context).map(\.title) == ["Walden", "Excursions", "Cape Cod"])
    #expect(try Book.objects(matching: \.title, "Walden", in: context).map(\.isbn) == ["0000000000"])
    #expect(try Book.object(matching: \.isbn, "0000000001", in: context)?.title == "Excursions")
    #expect(try Book.object(isbn: "0000000002", in: context)?.title == "Cape Cod")
    #expect(try Book.object(isbn: "none", in: context) == nil)
    #expect(throws: FetchError.tooManyObjects(entity: "Book")) {
      try Book.object(matching: \.language, .english, in: context)
    }
    // One key twice: a dictionary literal would trap.
    let either = try Book.objects(
      matching: [.title: "Walden", .title: "Cape Cod"], using: .or, in: context)
    #expect(either.map(\.title) == ["Walden", "Cape Cod"])
    let keys: [AttributeKey<Book>: (any AttributeValueConvertible)?] = [.title: "Walden", .salesRank: 0]
    #expect(try Book.objects(matching: keys, in: context).map(\.title) == ["Walden"])
    #expect(
      try Book.fetch(
        where: \.publisher.name == "Ticknor" && \.salesRank > 0, sortedBy: \.title, limit: 1, in: context
      ).map(\.title) == ["Cape Cod"])
    #expect(try Book.bestsellers(rank: 1, in: context).map(\.title) == ["Walden", "Excursions"])
    #expect(try Book.writtenBy(name: "Ellery", in: context).count == 3)
    #expect(try Book.titled(beginning: "wAL", in: context).map(\.title) == ["Walden"])
  }

  @Test(arguments: StorePlace.allCases)
  func fetchesOfAParentGiveObjectsOfItsSubentities(place: StorePlace) throws {
    let library = try FilledLibrary(place)
    defer { library.store.remove() }
    let context = library.context
    let all = try Publication.fetch(sortedBy: \.title, in: context)
    #expect(all.map(\.title) == ["Cape Cod", "Excursions", "The Dial", "Walden"])
    #expect((all[2] as? Magazine)?.series == "Essays")
    #expect(try Magazine.inLanguage(language: .english, in: context).map(\.issue) == [4])
  }

  @Test(arguments: StorePlace.allCases)
  func aSecondContextReadsWhatTheFirstHasSaved(place: StorePlace) throws {
    let library = try FilledLibrary(place)
    defer { library.store.remove() }
    let context = library.context
    let walden = try #require(try Book.object(isbn: "0000000000", in: context))
    walden.shelve()
    try context.save()
    let other = try library.store.reopened().newContext()
    let copy = try #require(try Book.object(isbn: "0000000000", in: other))
    #expect(copy.objectID == walden.objectID && copy !== walden)
    #expect(copy.authors.map(\.name) == ["Thoreau", "Ellery"])
    #expect(copy.price == Decimal(string: "12.50") && copy.pages == 352 && copy.cover == Data([1, 2, 3]))
    #expect(copy.subjects == ["pond", "beans"] && copy.website == URL(string: "https://example.org/w"))
    #expect(copy.size == Dimensions(width: 1.5, height: 2, depth: 0) && copy.language == .norwegian)
    #expect(copy.added == walden.added && copy.uuid == walden.uuid)
    #expect(copy.reviews.map(\.rating) == [.great] && copy.reviewCount == 1)
    #expect(copy.publisher?.address.street == "Unknown")
    #expect(copy.publisher?.publications.count == 3)
  }

  @Test(arguments: StorePlace.allCases)
  func inversesFollowAndDeletionsCascade(place: StorePlace) throws {
    let library = try FilledLibrary(place)
    defer { library.store.remove() }
    let context = library.context
    let walden = try #require(try Book.object(isbn: "0000000000", in: context))
    let thoreau = try #require(try Author.object(matching: \.name, "Thoreau", in: context))
    walden.removeFromAuthors(thoreau)
    #expect(!thoreau.publications.contains(walden) && thoreau.publications.count == 3)
    walden.insertIntoAuthors(thoreau, at: 0)
    #expect(walden.authors.map(\.name) == ["Thoreau", "Ellery"])
    walden.addToReviews(Review(publication: walden, in: context))
    try context.save()
    context.delete(walden)
    try context.save()
    #expect(try Review.objects(in: library.store.container.newContext()).isEmpty)
    #expect(try Author.objects(in: library.store.container.newContext()).count == 2)
  }

  @Test(arguments: StorePlace.allCases)
  func fetchedPropertiesSeeTheirSource(place: StorePlace) throws {
    let library = try FilledLibrary(place)
    defer { library.store.remove() }
    let context = library.context
    let walden = try #require(try Book.object(isbn: "0000000000", in: context))
    let twin = Book(title: "Walden", isbn: "0000000009", in: context)
    #expect(walden.sameTitle == [twin])
  }

  @Test(arguments: StorePlace.allCases)
  func aDraftIsSavedOnceItHasWhatItMustHave(place: StorePlace) throws {
    let library = try FilledLibrary(place)
    defer { library.store.remove() }
    let context = library.context
    let draft = Book(in: context)
    draft.title = "Maine Woods"
    let missing = context.validationErrors(of: draft)
    #expect(missing.map(\.property) == ["isbn"] && missing.map(\.reason) == [.missingValue])
    #expect(throws: SaveError.self) { try context.save() }
    draft.isbn = "0000000008"
    try context.save()
    #expect(
      try Book.object(isbn: "0000000008", in: library.store.container.newContext())?.title == "Maine Woods")
    // Saved, it is an object like any other.
    draft.title = "The Maine Woods"
    try context.save()
    #expect(
      try Book.object(isbn: "0000000008", in: library.store.container.newContext())?.title
        == "The Maine Woods")
  }

  @Test(arguments: StorePlace.allCases)
  func whatBreaksARuleIsNotSaved(place: StorePlace) throws {
    let library = try FilledLibrary(place)
    defer { library.store.remove() }
    let context = library.context
    let book = try #require(try Book.object(isbn: "0000000000", in: context))
    book.title = ""
    book.price = -1
    book.isbn = "not an ISBN"
    #expect(throws: SaveError.self) { try context.save() }
    #expect(try Book.object(isbn: "0000000000", in: library.store.container.newContext())?.title == "Walden")
  }
}

/// Three books by the same two authors, and a magazine by one of them, saved.
private struct FilledLibrary {
  let store: TestStore
  let context: ManagedObjectContext

  init(_ place: StorePlace) throws {
    store = try TestStore(place, LibraryModel.self)
    context = store.container.newContext()
    let press = Publisher(name: "Ticknor", in: context)
    let thoreau = Author(name: "Thoreau", in: context)
    let ellery = Author(name: "Ellery", in: context)
    for (number, title) in ["Walden", "Excursions", "Cape Cod"].enumerated() {
      let book = Book(title: title, isbn: "000000000\(number)", in: context)
      book.salesRank = Int32(number)
      book.publisher = press
      book.addToAuthors([thoreau, ellery])
    }
    let magazine = Magazine(title: "The Dial", issue: 4, in: context)
    magazine.series = "Essays"
    magazine.addToAuthors(thoreau)
    try context.save()
  }
}

extension Book {
  /// Gives the book a value of every kind.
  fileprivate func shelve() {
    guard let context = managedObjectContext else { return }
    price = Decimal(string: "12.50") ?? 0
    pages = 352
    cover = Data([1, 2, 3])
    subjects = ["pond", "beans"]
    website = URL(string: "https://example.org/w")
    size = Dimensions(width: 1.5, height: 2)
    language = .norwegian
    let review = Review(publication: self, in: context)
    review.rating = .great
  }
}
