import CDRuntime
import Foundation
import Testing

/// What `#Predicate` asks of nothing has the answers of Foundation.
@Suite struct MacroPredicateNilTests {
  @Test(arguments: StorePlace.allCases) func whatIsAskedOfNothingIsNil(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(
      #Predicate { $0.sequel?.reviews.count == 0 }, "TERNARY(sequel == nil, nil, sequel.reviews.@count) == 0",
      isTrivial: true)
    try shelf.expect(
      #Predicate { ($0.sequel?.reviews.count ?? 9) == 9 },
      "TERNARY(sequel == nil, nil, sequel.reviews.@count) ?? 9 == 9")
    try shelf.expect(
      #Predicate { $0.sequel?.sequel?.reviews.count == nil },
      "TERNARY(sequel.sequel == nil, nil, sequel.sequel.reviews.@count) == nil", isTrivial: true)
    try shelf.expect(
      #Predicate { $0.publisher.flatMap { $0.name == "Ticknor" ? 1 : 2 } == 2 },
      #"TERNARY(publisher == nil, nil, TERNARY(publisher.name == "Ticknor", 1, 2)) == 2"#, isTrivial: true)
    try shelf.expect(
      #Predicate { $0.sequel.flatMap { $0.publisher?.name ?? "none" } == "none" },
      #"TERNARY(sequel == nil, nil, sequel.publisher.name ?? "none") == "none""#)
    // What is nil of itself is no more than it was.
    try shelf.expect(
      #Predicate { $0.salesRank.flatMap { $0 * 2 } == 4 }, "salesRank * 2 == 4")
    try shelf.expect(
      #Predicate { ($0.sequel?.salesRank ?? 9) == 1 }, "sequel.salesRank ?? 9 == 1")
    try shelf.expect(
      #Predicate { $0.publisher?.address.city == "Unknown" }, #"publisher.address.city == "Unknown""#)
  }

  @Test(arguments: StorePlace.allCases) func capturedOptionals(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    let (none, id): (ManagedObjectID?, ManagedObjectID?) = (nil, shelf.press.objectID)
    let object = #"OBJECT("Publisher", "\#(shelf.press.objectID.uriRepresentation.absoluteString)")"#
    try shelf.expect(#Predicate { $0.publisher?.objectID == none }, "publisher == nil")
    try shelf.expect(#Predicate { $0.publisher?.objectID != none }, "publisher != nil")
    try shelf.expect(#Predicate { $0.publisher?.objectID == id }, "publisher == \(object)")
    let ids = [id, none]
    try shelf.expect(
      #Predicate { ids.contains($0.publisher.flatMap { $0.objectID }) }, "publisher IN {\(object), nil}",
      isTrivial: true)
    let (name, rank): (String?, Int32?) = (nil, nil)
    try shelf.expect(#Predicate { $0.publisher?.name == name }, "publisher.name == nil")
    try shelf.expect(#Predicate { $0.salesRank != rank }, "salesRank != nil")
    let ranks: [Int32?] = [1, nil]
    try shelf.expect(#Predicate { ranks.contains($0.salesRank) }, "salesRank IN {1, nil}")
    let (titles, noTitles): ([String]?, [String]?) = (["Walden"], nil)
    try shelf.expect(
      #Predicate { book in titles.flatMap { $0.contains(book.title) } ?? false },
      #"title IN {"Walden"}"#)
    try shelf.expect(
      #Predicate { book in noTitles.flatMap { $0.contains(book.title) } ?? true }, "TRUEPREDICATE",
      isTrivial: true)
    let range: ClosedRange<Int64>? = 1...2
    try shelf.expect(
      #Predicate { book in range.flatMap { $0.contains(book.reviewCount) } == true },
      "TERNARY(reviewCount >= 1 AND reviewCount <= 2, YES, NO) == YES")
  }

  @Test(arguments: StorePlace.allCases) func nilOnOneSide(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { $0.publisher?.name == nil }, "publisher.name == nil")
    try shelf.expect(#Predicate { $0.publisher?.name != nil }, "publisher.name != nil")
    try shelf.expect(#Predicate { !($0.publisher?.name == "Ticknor") }, #"NOT publisher.name == "Ticknor""#)
    try shelf.expect(#Predicate { $0.sequel?.salesRank != $0.salesRank }, "sequel.salesRank != salesRank")
    try shelf.expect(
      #Predicate { $0.publisher?.publications.isEmpty == false },
      "TERNARY(publisher == nil, nil, TERNARY(publisher.publications.@count == 0, YES, NO)) == NO")
    try shelf.expect(
      #Predicate { $0.publisher?.publications.isEmpty != true },
      "TERNARY(publisher == nil, nil, TERNARY(publisher.publications.@count == 0, YES, NO)) != YES",
      isTrivial: true)
    try shelf.expect(
      #Predicate { ($0.salesRank != nil) == ($0.pages != nil) },
      "TERNARY(salesRank != nil, YES, NO) == TERNARY(pages != nil, YES, NO)")
    try shelf.expect(
      #Predicate { ($0.reviewCount > 1 ? $0.salesRank : nil) == nil },
      "TERNARY(reviewCount > 1, salesRank, nil) == nil")
    try shelf.expect(
      #Predicate { book in if let rank = book.salesRank { rank > 0 } else { true } },
      "TERNARY(salesRank == nil, nil, TERNARY(salesRank > 0, YES, NO)) ?? YES == YES")
    try shelf.expect(
      #Predicate { $0.salesRank == nil ? false : $0.salesRank! < 1 },
      "(salesRank == nil AND FALSEPREDICATE) OR (NOT salesRank == nil AND salesRank < 1)")
    let date = Date.distantPast
    try shelf.expect(
      #Predicate { ($0.published ?? date) <= date },
      #"published ?? CAST(-63114076800.0, "Date") <= CAST(-63114076800.0, "Date")"#, isTrivial: true)
  }

  @Test(arguments: StorePlace.allCases) func firstAndLast(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { $0.authors.first?.name == "Thoreau" }, #"authors[FIRST].name == "Thoreau""#)
    try shelf.expect(
      #Predicate { $0.authors.last?.name != "Ellery" }, #"authors[LAST].name != "Ellery""#, isTrivial: true)
    try shelf.expect(
      #Predicate { $0.reviews.first?.text == "Review 0" }, #"reviews[FIRST].text == "Review 0""#)
    try shelf.expect(
      #Predicate { ($0.reviews.last?.text ?? "none") == "none" }, #"reviews[LAST].text ?? "none" == "none""#)
    try shelf.expect(
      #Predicate { ($0.reviews.first?.text.isEmpty ?? true) },
      #"TERNARY(reviews[FIRST] == nil, nil, TERNARY(reviews[FIRST].text == "", YES, NO)) ?? YES == YES"#)
    try shelf.expect(
      #Predicate { $0.sequel?.reviews.last?.weight == 0.5 }, "sequel.reviews[LAST].weight == 0.5")
    try shelf.expect(
      #Predicate { $0.reviews.filter { $0.text.isEmpty }.first?.weight == 0.25 },
      #"SUBQUERY(reviews, $element1, $element1.text == "")[FIRST].weight == 0.25"#)
  }
}
