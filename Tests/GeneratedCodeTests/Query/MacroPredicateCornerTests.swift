import CDRuntime
import Foundation
import Testing

/// The corners of `#Predicate`: empty texts, negative numbers, collections of collections.
@Suite struct MacroPredicateCornerTests {
  @Test(arguments: StorePlace.allCases) func emptyTexts(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    let empty = ""
    try shelf.expect(#Predicate { $0.title.contains(empty) }, "title != nil", isTrivial: true)
    try shelf.expect(#Predicate { $0.title.starts(with: empty) }, "title != nil", isTrivial: true)
    try shelf.expect(
      #Predicate { $0.publisher?.name.contains(empty) == true },
      "TERNARY(publisher == nil, nil, TERNARY(publisher.name != nil, YES, NO)) == YES")
    try shelf.expect(
      #Predicate { $0.reviews.contains { empty.contains($0.text) } },
      #"NOT SUBQUERY(reviews, $element1, "" CONTAINS $element1.text OR $element1.text == "").@count == 0"#)
    try shelf.expect(
      #Predicate { book in book.reviews.contains { "Review 1".starts(with: $0.text) } },
      #"NOT SUBQUERY(reviews, $element1, "Review 1" BEGINSWITH $element1.text OR $element1.text == "").@count == 0"#
    )
    try shelf.expect(
      #Predicate { book in book.reviews.contains { book.title.contains($0.text) } },
      #"NOT SUBQUERY(reviews, $element1, title CONTAINS $element1.text OR $element1.text == "").@count == 0"#)
    let (some, none) = ("Wal", "")
    try shelf.expect(
      #Predicate { some.isEmpty || $0.title.contains(some) }, #""Wal" == "" OR title CONTAINS "Wal""#)
    try shelf.expect(
      #Predicate { none.isEmpty || $0.title.contains(none) }, #""" == "" OR title != nil"#, isTrivial: true)
  }

  @Test(arguments: StorePlace.allCases) func ordersOfTexts(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { $0.title < "Walden" }, #"title < "Walden""#)
    try shelf.expect(#Predicate { $0.title >= "walden" }, #"title >= "walden""#)
    let range = "D"..."W"
    try shelf.expect(#Predicate { range.contains($0.title) }, #"title >= "D" AND title <= "W""#)
    try shelf.expect(
      #Predicate { ("E"..<"Walden").contains($0.title) }, #"title >= "E" AND title < "Walden""#)
    try shelf.expect(#Predicate { $0.title.contains("ALDEN") }, #"title CONTAINS "ALDEN""#, isTrivial: true)
    try shelf.expect(
      #Predicate { $0.title.contains(#/^W|d$/#) }, #"title MATCHES "[\\s\\S]*?(?:^W|d$)[\\s\\S]*""#)
    try shelf.expect(
      #Predicate { $0.title.contains(#/(?i)WAL/#) }, #"title MATCHES "[\\s\\S]*?(?:(?i)WAL)[\\s\\S]*""#)
  }

  /// Foundation compares characters: CR LF is one, and a decomposed one has the place of the composed one in the order.
  @Test(arguments: StorePlace.allCases) func textsWithOtherResultsThanFoundations(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    let lines = Book(title: "Cape\r\nCod", isbn: "0000000008", in: shelf.context)
    let decomposed = Book(title: "e\u{301}tude", isbn: "0000000009", in: shelf.context)
    try shelf.context.save()
    let (feed, letter) = ("\n", "f")
    let cases: [(book: Book, predicate: Predicate<Book>)] = [
      (lines, #Predicate<Book> { $0.title.contains(feed) }),
      (decomposed, #Predicate<Book> { $0.title < letter && $0.title > "a" }),
    ]
    for (book, predicate) in cases {
      #expect(try !predicate.evaluate(book))
      let found = try Book.fetch(where: predicate, in: shelf.store.container.newContext())
      #expect(found.map(\.isbn) == [book.isbn], "from the store")
      // With a pending change, the rows of the store are no answer.
      book.website = URL(string: "https://example.org")
      #expect(try Book.fetch(where: predicate, in: shelf.context).map(\.isbn) == [book.isbn])
      shelf.context.rollback()
    }
  }

  @Test(arguments: StorePlace.allCases) func numbers(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { ($0.reviewCount - 3) / 2 == -1 }, "(reviewCount - 3) / 2 == -1")
    try shelf.expect(#Predicate { $0.reviewCount / -2 == -1 }, "reviewCount / -2 == -1")
    try shelf.expect(#Predicate { ($0.reviewCount - 3) % 2 == -1 }, "modulus:by:(reviewCount - 3, 2) == -1")
    try shelf.expect(#Predicate { $0.reviewCount % -2 == 1 }, "modulus:by:(reviewCount, -2) == 1")
    try shelf.expect(
      #Predicate { ($0.salesRank ?? 0) / 2 * 2 != ($0.salesRank ?? 0) },
      "((salesRank ?? 0) / 2) * 2 != salesRank ?? 0")
    try shelf.expect(#Predicate { $0.reviewCount - (2 - 1) > 1 }, "reviewCount - (2 - 1) > 1")
    try shelf.expect(
      #Predicate { ($0.size?.width ?? 0) * 0.1 == 0.3 },
      "(size.width ?? 0.0) * 0.10000000149011612 == 0.30000001192092896")
    try shelf.expect(#Predicate { ($0.size?.width ?? 0) / 2 > 1 }, "(size.width ?? 0.0) / 2.0 > 1.0")
    try shelf.expect(
      #Predicate { $0.reviews.contains { $0.weight * 3 == 0.75 } },
      "NOT SUBQUERY(reviews, $element1, $element1.weight * 3.0 == 0.75).@count == 0")
    let prices = Decimal(5)...Decimal(10)
    try shelf.expect(
      #Predicate { prices.contains($0.price) },
      #"price >= CAST("5", "Decimal") AND price <= CAST("10", "Decimal")"#)
    let counts: [Int64] = [4, 2]
    try shelf.expect(#Predicate { (counts.min() ?? 0) == $0.reviewCount }, "min({4, 2}) ?? 0 == reviewCount")
    let noCounts: [Int64] = []
    try shelf.expect(#Predicate { (noCounts.max() ?? 3) == $0.reviewCount }, "max({}) ?? 3 == reviewCount")
    let now = Date(timeIntervalSinceReferenceDate: 4e9)
    try shelf.expect(
      #Predicate { $0.added <= now && $0.published == nil },
      #"added <= CAST(4000000000.0, "Date") AND published == nil"#, isTrivial: true)
    try shelf.expect(#Predicate { ($0.reviewCount > 1) == true }, "TERNARY(reviewCount > 1, YES, NO) == YES")
    try shelf.expect(
      #Predicate { $0.reviewCount > 1 ? $0.title == "walden" : $0.salesRank == nil },
      #"(reviewCount > 1 AND title == "walden") OR (NOT reviewCount > 1 AND salesRank == nil)"#)
  }

  @Test(arguments: StorePlace.allCases) func collectionsOfCollections(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(
      #Predicate { $0.authors.contains { $0.publications.contains { $0.title == "Walden" } } },
      #"NOT SUBQUERY(authors, $element1, NOT SUBQUERY($element1.publications, $element2, $element2.title == "Walden").@count == 0).@count == 0"#,
      isTrivial: true)
    try shelf.expect(
      #Predicate { book in
        book.authors.contains {
          $0.publications.filter { $0.title == book.title }.count == $0.publications.count - 4
        }
      },
      "NOT SUBQUERY(authors, $element1, SUBQUERY($element1.publications, $element2, $element2.title == title).@count == $element1.publications.@count - 4).@count == 0",
      isTrivial: true)
    try shelf.expect(
      #Predicate { $0.reviews.filter { $0.weight > 0 }.filter { $0.text.isEmpty }.count == 1 },
      #"SUBQUERY(SUBQUERY(reviews, $element1, $element1.weight > 0.0), $element2, $element2.text == "").@count == 1"#
    )
    try shelf.expect(
      #Predicate { $0.reviews.filter { $0.weight > 0 }.allSatisfy { $0.text.isEmpty } },
      #"SUBQUERY(SUBQUERY(reviews, $element1, $element1.weight > 0.0), $element2, NOT $element2.text == "").@count == 0"#
    )
    let rating = Rating.great
    try shelf.expect(
      #Predicate { $0.reviews.filter { $0.rating == rating }.isEmpty },
      "SUBQUERY(reviews, $element1, $element1.rating == 4).@count == 0")
    try shelf.expect(
      #Predicate { $0.reviews.contains { $0.rating.rawValue > 2 } },
      "NOT SUBQUERY(reviews, $element1, $element1.rating > 2).@count == 0")
    try shelf.expect(
      #Predicate { $0.reviews.contains { $0.reader?.default == true } },
      "NOT SUBQUERY(reviews, $element1, $element1.reader.default == YES).@count == 0", isTrivial: true)
    try shelf.expect(
      #Predicate { $0.reviews.allSatisfy { ($0.reader?.name ?? "") == "" } },
      #"SUBQUERY(reviews, $element1, NOT $element1.reader.name ?? "" == "").@count == 0"#, isTrivial: true)
    try shelf.expect(
      #Predicate { $0.sequel?.reviews.contains { $0.text.isEmpty } == true },
      #"TERNARY(sequel == nil, nil, TERNARY(NOT SUBQUERY(sequel.reviews, $element1, $element1.text == "").@count == 0, YES, NO)) == YES"#
    )
    try shelf.expect(
      #Predicate { $0.sequel?.reviews.filter { $0.text.isEmpty }.count == 1 },
      #"TERNARY(sequel == nil, nil, SUBQUERY(sequel.reviews, $element1, $element1.text == "").@count) == 1"#)
    let (none, some): ([String], [String]) = ([], ["Walden", "Ωδή"])
    try shelf.expect(
      #Predicate { none.isEmpty || none.contains($0.title) }, #"0 == 0 OR title IN {}"#, isTrivial: true)
    try shelf.expect(
      #Predicate { some.isEmpty || some.contains($0.title) }, #"2 == 0 OR title IN {"Walden", "Ωδή"}"#)
    let nowhere: Set<Language> = []
    try shelf.expect(#Predicate { !nowhere.contains($0.language) }, "NOT language IN {}", isTrivial: true)
  }

  @Test(arguments: StorePlace.allCases) func capturedCollections(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    let words = ["alden", "Cape"]
    try shelf.expect(
      #Predicate { book in words.contains { book.title.contains($0) } },
      #"NOT SUBQUERY({"alden", "Cape"}, $element1, title CONTAINS $element1 OR $element1 == "").@count == 0"#)
    try shelf.expect(
      #Predicate { book in words.allSatisfy { !book.title.contains($0) } },
      #"SUBQUERY({"alden", "Cape"}, $element1, title CONTAINS $element1 OR $element1 == "").@count == 0"#
    )
    let texts = ["Review 2", ""]
    try shelf.expect(
      #Predicate { $0.reviews.contains { texts.contains($0.text) } },
      #"NOT SUBQUERY(reviews, $element1, $element1.text IN {"Review 2", ""}).@count == 0"#)
    let ids =
      try [shelf.press.objectID]
      + Book.objects(matching: \.title, "Walden", in: shelf.context).map(\.objectID)
    let list = ids.map { #"OBJECT("\#($0.entityName)", "\#($0.uriRepresentation.absoluteString)")"# }
    try shelf.expect(
      #Predicate { ids.contains($0.objectID) }, "SELF IN {\(list.joined(separator: ", "))}")
    try shelf.expect(
      #Predicate { $0.publisher?.objectID == $0.sequel?.publisher?.objectID },
      "publisher == sequel.publisher")
    let dates = Date.distantPast...Date.distantFuture
    try shelf.expect(
      #Predicate { dates.contains($0.added) },
      #"added >= CAST(-63114076800.0, "Date") AND added <= CAST(63113904000.0, "Date")"#, isTrivial: true)
  }
}
