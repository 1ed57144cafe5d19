import CDRuntime
import Foundation
import Testing

/// `#Predicate` has the answers of Foundation, in a store and in memory.
@Suite struct MacroPredicateTests {
  @Test(arguments: StorePlace.allCases) func comparisonsAndLogic(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    let title = "Walden"
    try shelf.expect(#Predicate { $0.title == title }, #"title == "Walden""#)
    try shelf.expect(#Predicate { $0.title != title }, #"title != "Walden""#)
    try shelf.expect(#Predicate { $0.reviewCount > 1 }, "reviewCount > 1")
    try shelf.expect(
      #Predicate { $0.reviewCount >= 1 && $0.reviewCount < 3 }, "reviewCount >= 1 AND reviewCount < 3")
    try shelf.expect(
      #Predicate { $0.reviewCount <= 1 || $0.title == "walden" }, #"reviewCount <= 1 OR title == "walden""#)
    try shelf.expect(#Predicate { !($0.title == title) }, #"NOT title == "Walden""#)
    try shelf.expect(#Predicate { _ in true }, "TRUEPREDICATE", isTrivial: true)
    let cheap = Decimal(10)
    try shelf.expect(#Predicate { $0.price < cheap }, #"price < CAST("10", "Decimal")"#)
    let german = Language.german
    try shelf.expect(#Predicate { $0.language == german }, #"language == "de""#)
    try shelf.expect(#Predicate { $0.language.rawValue == "de" }, #"language == "de""#)
  }

  @Test(arguments: StorePlace.allCases) func whatMayBeNil(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { $0.salesRank == nil }, "salesRank == nil")
    try shelf.expect(#Predicate { $0.salesRank != nil }, "salesRank != nil")
    try shelf.expect(#Predicate { $0.salesRank != 1 }, "salesRank != 1")
    try shelf.expect(#Predicate { ($0.salesRank ?? 5) > 0 }, "salesRank ?? 5 > 0")
    try shelf.expect(
      #Predicate { $0.salesRank.flatMap { $0 > 0 } ?? false },
      "TERNARY(salesRank == nil, nil, TERNARY(salesRank > 0, YES, NO)) ?? NO == YES")
    try shelf.expect(#Predicate { $0.publisher?.name == "Ticknor" }, #"publisher.name == "Ticknor""#)
    try shelf.expect(#Predicate { $0.publisher?.name != "Ticknor" }, #"publisher.name != "Ticknor""#)
    try shelf.expect(#Predicate { $0.publisher == nil }, "publisher == nil")
    try shelf.expect(#Predicate { $0.size?.width == 2 }, "size.width == 2.0")
    try shelf.expect(#Predicate { $0.sequel?.title == "walden" }, #"sequel.title == "walden""#)
    let id = shelf.press.objectID
    try shelf.expect(
      #Predicate { $0.publisher?.objectID == id },
      #"publisher == OBJECT("Publisher", "\#(id.uriRepresentation.absoluteString)")"#)
  }

  @Test(arguments: StorePlace.allCases) func arithmetic(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { $0.reviewCount * 2 + 1 > 5 }, "(reviewCount * 2) + 1 > 5")
    try shelf.expect(#Predicate { -$0.reviewCount < -2 }, "-reviewCount < -2")
    try shelf.expect(#Predicate { $0.reviewCount / 2 == 1 }, "reviewCount / 2 == 1")
    try shelf.expect(#Predicate { $0.reviewCount % 2 == 1 }, "modulus:by:(reviewCount, 2) == 1")
    try shelf.expect(
      #Predicate { ($0.reviewCount > 2 ? $0.title : "none") == "none" },
      #"TERNARY(reviewCount > 2, title, "none") == "none""#)
  }

  @Test(arguments: StorePlace.allCases) func ranges(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { (1...2).contains($0.reviewCount) }, "reviewCount >= 1 AND reviewCount <= 2")
    try shelf.expect(#Predicate { (1..<2).contains($0.reviewCount) }, "reviewCount >= 1 AND reviewCount < 2")
    let some: ClosedRange<Int64> = 2...3
    try shelf.expect(#Predicate { some.contains($0.reviewCount) }, "reviewCount >= 2 AND reviewCount <= 3")
    let from: PartialRangeFrom<Int64> = 2...
    try shelf.expect(#Predicate { from.contains($0.reviewCount) }, "reviewCount >= 2")
    let upTo: PartialRangeUpTo<Int64> = ..<2
    try shelf.expect(#Predicate { upTo.contains($0.reviewCount) }, "reviewCount < 2")
    let through: PartialRangeThrough<Int64> = ...2
    try shelf.expect(#Predicate { through.contains($0.reviewCount) }, "reviewCount <= 2")
  }

  @Test(arguments: StorePlace.allCases) func strings(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { $0.title.contains("alden") }, #"title CONTAINS "alden""#)
    try shelf.expect(#Predicate { $0.title.starts(with: "Wal") }, #"title BEGINSWITH "Wal""#)
    try shelf.expect(#Predicate { $0.title.isEmpty }, #"title == """#, isTrivial: true)
    try shelf.expect(
      #Predicate { $0.title.contains(#/[Ww]al|C.d/#) }, #"title MATCHES "[\\s\\S]*?(?:[Ww]al|C.d)[\\s\\S]*""#)
    let titles = ["Walden", "Cape Cod"]
    try shelf.expect(#Predicate { titles.contains($0.title) }, #"title IN {"Walden", "Cape Cod"}"#)
    let languages: Set<Language> = [.german]
    try shelf.expect(#Predicate { languages.contains($0.language) }, #"language IN {"de"}"#)
  }

  @Test(arguments: StorePlace.allCases) func relatedObjects(place: StorePlace) throws {
    let shelf = try PredicateShelf(place)
    defer { shelf.store.remove() }
    try shelf.expect(#Predicate { $0.reviews.count > 1 }, "reviews.@count > 1")
    try shelf.expect(#Predicate { $0.reviews.isEmpty }, "reviews.@count == 0")
    try shelf.expect(
      #Predicate { $0.reviews.contains { $0.weight > 0.5 } },
      "NOT SUBQUERY(reviews, $element1, $element1.weight > 0.5).@count == 0")
    try shelf.expect(
      #Predicate { $0.reviews.allSatisfy { $0.weight < 0.5 } },
      "SUBQUERY(reviews, $element1, NOT $element1.weight < 0.5).@count == 0")
    try shelf.expect(
      #Predicate { $0.reviews.filter { $0.text.isEmpty }.count == 1 },
      #"SUBQUERY(reviews, $element1, $element1.text == "").@count == 1"#)
    try shelf.expect(
      #Predicate { book in book.reviews.contains { $0.text == "Review 2" && book.title != "walden" } },
      #"NOT SUBQUERY(reviews, $element1, $element1.text == "Review 2" AND title != "walden").@count == 0"#)
    try shelf.expect(
      #Predicate { $0.authors.contains { $0.name == "Thoreau" } },
      #"NOT SUBQUERY(authors, $element1, $element1.name == "Thoreau").@count == 0"#)
  }

  @Test func whatCannotBeTranslatedIsNamed() throws {
    #expect {
      try FetchPredicate(#Predicate<Book> { $0.title.count > 3 })
    } throws: { error in
      "\(error)".contains("the count of a string's characters")
    }
    #expect(throws: PredicateTranslationError.unsupported(construct: "TypeCheck", remedy: nil)) {
      try FetchPredicate(#Predicate<Publication> { $0 is Book })
    }
    #expect {
      try FetchPredicate(#Predicate<Book> { $0.shortTitle == "W" })
    } throws: { error in
      guard
        case PredicateTranslationError.unknownKeyPath(type: "Book", _)? = error as? PredicateTranslationError
      else { return false }
      return true
    }
    #expect(throws: PredicateTranslationError.noKeyPaths(type: "ToDo")) {
      try FetchPredicate(#Predicate<ToDo> { $0.name == "" })
    }
  }

  @Test func identifiersAreCoded() throws {
    let shelf = try PredicateShelf(.memory)
    let data = try JSONEncoder().encode([shelf.press.objectID])
    #expect(try JSONDecoder().decode([ManagedObjectID].self, from: data) == [shelf.press.objectID])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([ManagedObjectID].self, from: Data(#"["cdgen://nothing"]"#.utf8))
    }
  }
}

extension Book {
  /// No property of the model.
  fileprivate var shortTitle: String { String(title.prefix(1)) }
}
