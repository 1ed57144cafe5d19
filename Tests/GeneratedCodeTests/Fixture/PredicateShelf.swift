import CDRuntime
import Foundation
import Testing

/// The shelf of a library: books with and without a rank, pages, a publisher, a size and reviews.
struct PredicateShelf {
  let store: TestStore
  let context: ManagedObjectContext
  let press: Publisher

  init(_ place: StorePlace) throws {
    store = try TestStore(place, LibraryModel.self)
    context = store.container.newContext()
    press = Publisher(name: "Ticknor", in: context)
    let thoreau = Author(name: "Thoreau", in: context)
    let ellery = Author(name: "Ellery", in: context)
    for (number, title) in ["Walden", "Excursions", "Cape Cod", "walden", "Ωδή"].enumerated() {
      let book = Book(title: title, isbn: "000000000\(number)", in: context)
      book.language = number % 2 == 0 ? .english : .german
      book.price = Decimal(number * 5)
      if number != 1 { book.salesRank = Int32(number) - 2 }
      if number > 1 { book.pages = Int16(number * 100) }
      if number < 3 { book.publisher = press }
      if number > 0 { book.size = Dimensions(width: Float(number), height: 20) }
      if number == 4 { book.sequel = try Book.object(isbn: "0000000003", in: context) }
      if number < 2 { book.addToAuthors([thoreau, ellery]) } else { book.addToAuthors(ellery) }
      for weight in 0..<number {
        let review = Review(publication: book, in: context)
        review.text = weight == 1 ? "" : "Review \(weight)"
        review.weight = Double(weight) / 4
        review.rating = weight == 2 ? .great : .fair
      }
    }
    try context.save()
  }

  /// Expects that a condition has the answers of Foundation, is the text, and is met by some and not by all.
  func expect(
    _ predicate: Predicate<Book>, _ text: String, isTrivial: Bool = false,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let all = try Book.objects(in: context)
    let wanted = try all.filter { try predicate.evaluate($0) }.map(\.isbn).sorted()
    let tree = try FetchPredicate(predicate)
    #expect(tree.canonicalText == text, sourceLocation: location)
    let found = try Book.fetch(where: predicate, in: store.container.newContext())
    #expect(found.map(\.isbn).sorted() == wanted, "from the store", sourceLocation: location)
    // With a pending change the rows of the store are no answer.
    let book = try #require(all.first)
    book.website = URL(string: "https://example.org/\(text.count)")
    #expect(
      try Book.fetch(where: predicate, in: context).map(\.isbn).sorted() == wanted, sourceLocation: location
    )
    context.rollback()
    #expect(isTrivial || (!wanted.isEmpty && wanted.count < all.count), sourceLocation: location)
  }
}
