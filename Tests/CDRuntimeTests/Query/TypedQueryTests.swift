@_spi(Generated) import CDRuntime
import Foundation
import Testing

extension Fields where Root: Book {
  /// The library has no stored attribute of type Bool. Generated code has none for a transient one.
  fileprivate var draft: Attribute<Bool> { Attribute("draft") }
}

extension Fields where Root: Review {
  /// The test library has no attributes of these types.
  fileprivate var weight: Attribute<Float> { Attribute("weight") }
  fileprivate var length: Attribute<Float?> { Attribute("length") }
}

/// What the typed query language makes is the tree that the parser makes of the same in a format string.
@Suite struct TypedQueryTests {
  private func expect(
    _ typed: TypedPredicate<Book>, _ format: String, _ arguments: [(any FormatArgument)?] = [],
    location: SourceLocation = #_sourceLocation
  ) throws {
    let predicate = try FetchPredicate(format: format, arguments: arguments)
    #expect(typed.predicate == predicate, sourceLocation: location)
  }

  private func expect(
    _ format: String, _ arguments: [(any FormatArgument)?] = [], location: SourceLocation = #_sourceLocation,
    _ condition: (Fields<Book>) -> FetchPredicate
  ) throws {
    try expect(TypedPredicate(condition), format, arguments, location: location)
  }

  @Test func comparisonsByKeyPaths() throws {
    try expect(\.title == "Walden", "title == 'Walden'")
    try expect(\.salesRank != 3, "salesRank != 3")
    try expect(\.salesRank < 3 && \.salesRank >= 1, "salesRank < 3 AND salesRank >= 1")
    try expect(!(\.salesRank > 3) || \.salesRank <= 2, "NOT salesRank > 3 OR salesRank <= 2")
    try expect(\.salesRank == nil, "salesRank == nil")
    try expect(\.salesRank != nil, "salesRank != nil")
    try expect(\.author.name == "Thoreau", "author.name == 'Thoreau'")
    try expect(\.author.spouse == nil, "author.spouse == nil")
    try expect(\.author.spouse.name != "x", "author.spouse.name != 'x'")
    try expect(\.priority == .high, "priority == 2")
    try expect(\.title == \.isbn, "title == isbn")
    try expect(\.salesRank < \.price, "salesRank < price")
    try expect(\.author.name >= \.title, "author.name >= title")
    try expect(\.reviews.count > 2, "reviews.@count > 2")
  }

  @Test func manyObjectsByKeyPaths() throws {
    try expect(\.reviews.stars.any == 5, "ANY reviews.stars == 5")
    try expect(\.reviews.stars.all >= 4, "ALL reviews.stars >= 4")
    try expect(\.tags.name.none == "old", "NONE tags.name == 'old'")
    try expect(\.reviews.text.any == nil, "ANY reviews.text == nil")
    try expect(\.author.friends.name.any != "x", "ANY author.friends.name != 'x'")
    try expect(\.reviews.stars.sum > 9, "reviews.@sum.stars > 9")
    try expect(\.reviews.stars.average >= 4.5, "reviews.@avg.stars >= 4.5")
    try expect(\.reviews.stars.min == nil, "reviews.@min.stars == nil")
    try expect(\.author.friends.friends.name.max < "m", "author.friends.friends.@max.name < 'm'")
  }

  /// The constant keeps its digits: a Float would be another double than 0.3. The sum of small integers may be a large one.
  @Test func sumsHaveTheWidestType() throws {
    try expect(\.reviews.weight.sum == 0.3, "reviews.@sum.weight == 0.3")
    try expect("reviews.@sum.weight <= 0.3") { $0.reviews.weight.sum <= 0.3 }
    try expect("reviews.@sum.length != 0.1") { $0.reviews.length.sum != 0.1 }
    try expect("reviews.@sum.weight * 2.0 > 0.7") { $0.reviews.weight.sum * 2.0 > 0.7 }
    try expect(\.reviews.stars.sum > 40_000, "reviews.@sum.stars > 40000")
    try expect("reviews.@sum.stars > 40000") { $0.reviews.stars.sum > 40_000 }
  }

  @Test func stringsInClosures() throws {
    try expect("title BEGINSWITH 'W'") { $0.title.hasPrefix("W") }
    try expect("title ENDSWITH[c] 'n'") { $0.title.hasSuffix("n", options: .caseInsensitive) }
    try expect("title CONTAINS[cd] 'l'") {
      $0.title.contains("l", options: [.caseInsensitive, .diacriticInsensitive])
    }
    try expect("title LIKE[c] 'w*'") { $0.title.like("w*", options: .caseInsensitive) }
    try expect("title MATCHES 'W.*n'") { $0.title.matches("W.*n") }
    try expect("title ==[c] 'walden'") { $0.title.equals("walden", options: .caseInsensitive) }
    try expect("title IN[c] {'a', 'b'}") { $0.title.isIn(["a", "b"], options: .caseInsensitive) }
    try expect("ANY reviews.text CONTAINS 'good'") { $0.reviews.text.any.contains("good") }
    try expect("NONE tags.name BEGINSWITH 'x'") { $0.tags.name.none.hasPrefix("x") }
    try expect((\Keys<Book>.title).hasPrefix("W") && \.isbn == "1", "title BEGINSWITH 'W' AND isbn == '1'")
  }

  @Test func membershipInClosures() throws {
    try expect("salesRank IN {1, 2, nil}") { $0.salesRank.isIn([1, 2, nil]) }
    try expect("salesRank BETWEEN {1, 5}") { $0.salesRank.isBetween(1, 5) }
    try expect("salesRank BETWEEN {1, 5}") { $0.salesRank.isIn(1...5) }
    try expect("ANY reviews.stars BETWEEN {1, 2}") { $0.reviews.stars.any.isIn(1...2) }
    try expect("reviews.@count == 0") { $0.reviews.isEmpty }
  }

  @Test func rangesAndListsContainValues() throws {
    try expect("salesRank >= 1 AND salesRank < 5") { $0.salesRank.isIn(1..<5) }
    try expect("salesRank >= 1 AND salesRank < 5") { (1..<5).contains($0.salesRank) }
    try expect("salesRank BETWEEN {1, 5}") { (1...5).contains($0.salesRank) }
    try expect("title IN {'a', 'b'}") { ["a", "b"].contains($0.title) }
    try expect("salesRank IN {1, nil}") { [1, nil].contains($0.salesRank) }
    try expect("NOT ANY reviews.stars BETWEEN {1, 2}") { !(1...2).contains($0.reviews.stars.any) }
  }

  /// A value that counts is between both bounds. Two values, one above the lower and one below the upper bound, are not
  /// enough.
  @Test func rangesOfManyValues() throws {
    let some = "SUBQUERY(reviews, $element1, $element1.stars >= 1 AND $element1.stars < 3).@count > 0"
    try expect(some) { $0.reviews.stars.any.isIn(1..<3) }
    try expect(some) { (1..<3).contains($0.reviews.stars.any) }
    try expect("NOT \(some)") { $0.reviews.stars.none.isIn(1..<3) }
    try expect("ALL reviews.stars >= 1 AND ALL reviews.stars < 3") { $0.reviews.stars.all.isIn(1..<3) }
    try expect(
      """
      SUBQUERY(author.friends, $element1, NOT SUBQUERY($element1.friends.publications, $element2, \
      $element2.title >= 'a' AND $element2.title < 'b').@count > 0).@count > 0
      """
    ) { book in
      book.author.friends.contains { ("a"..<"b").contains($0.friends.publications.title.none) }
    }
  }

  @Test func rangesFindTheSameInMemoryAndInTheStore() throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    let author = Author(name: "Thoreau", in: context)
    let given: [[Int16]] = [[1, 5], [2], [], [4, 5]]
    for (number, all) in given.enumerated() {
      let book = Book(title: "T", isbn: "\(number)", author: author, in: context)
      for stars in all { book.addToReviews(Review(stars: stars, in: context)) }
    }
    func found(_ condition: (Fields<Book>) -> FetchPredicate) throws -> [String] {
      try Book.fetch(where: condition, sortedBy: \.isbn, in: context).map(\.isbn)
    }
    // First the evaluator answers, then the store.
    for _ in 0..<2 {
      let some = try found { $0.reviews.stars.any.isIn(2..<5) }
      #expect(some == ["1", "3"])
      let none = try found { $0.reviews.stars.none.isIn(2..<5) }
      #expect(none == ["0", "2"])
      let all = try found { $0.reviews.stars.all.isIn(2..<5) }
      #expect(all == ["1", "2"])
      try context.save()
    }
  }

  @Test func caseOfStrings() throws {
    try expect("lowercase(title) == 'walden'") { $0.title.lowercased() == "walden" }
    try expect("uppercase(author.name) BEGINSWITH 'T'") { $0.author.name.uppercased().hasPrefix("T") }
  }

  /// A Bool attribute stands for itself as a condition.
  @Test func boolAttributesAreConditions() throws {
    try expect(TypedPredicate(\.draft), "draft == YES")
    try expect(!\.draft, "NOT draft == YES")
    try expect(\.draft && \.title == "a", "draft == YES AND title == 'a'")
    try expect(\.title == "a" || \.draft, "title == 'a' OR draft == YES")
    try expect(\.title == "a" && !\.draft, "title == 'a' AND NOT draft == YES")
    try expect(\.draft || \.draft, "draft == YES OR draft == YES")
    try expect("NOT draft == YES AND title == 'a'") { !$0.draft && $0.title == "a" }
    try expect("title == 'a' OR draft == YES") { $0.title == "a" || $0.draft }
    try expect("draft == YES AND draft == YES") { $0.draft && $0.draft }
    try expect("draft == YES") { $0.draft.isTrue }
  }

  @Test func ordersOfSeveralKeys() throws {
    let one: TypedSort<Book> = .descending(\.salesRank)
    #expect(one.keys == [SortKey("salesRank", ascending: false)])
    let several: TypedSort<Book> = [one, .ascending(\.title, options: .caseInsensitive), []]
    #expect(several.keys == one.keys + [SortKey("title", options: .caseInsensitive)])
    let request = FetchRequest<Book>(where: \.salesRank > 2, sortedBy: several, limit: 3, offset: 1)
    #expect(request.predicate == (try FetchPredicate(format: "salesRank > 2")))
    #expect(request.sortKeys == several.keys && request.limit == 3 && request.offset == 1)
    #expect(FetchRequest<Book>(sortedBy: one).predicate == nil)
    #expect(FetchRequest<Book>(where: \.draft).predicate == TypedPredicate<Book>(\.draft).predicate)
    #expect(FetchRequest<Book>().sortKeys.isEmpty)
  }

  @Test func objectsInClosures() throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    let author = Author(name: "Thoreau", in: context)
    let tag = Tag(name: "new", in: context)
    try expect("author == %@", [author.objectID]) { $0.author == author }
    try expect("author != %@", [author.objectID]) { $0.author != author }
    try expect("author IN %@", [[author.objectID]]) { $0.author.isIn([author]) }
    try expect("tags CONTAINS %@", [tag.objectID]) { $0.tags.contains(tag) }
    try expect("author.friends CONTAINS %@", [author.objectID]) { $0.author.friends.contains(author) }
    try expect(\.author == author, "author == %@", [author.objectID])
  }

  @Test func conditionsOnOneOfManyObjects() throws {
    try expect("SUBQUERY(reviews, $element1, $element1.stars == 5 AND $element1.text != nil).@count > 0") {
      $0.reviews.contains { $0.stars == 5 && $0.text != nil }
    }
    try expect("SUBQUERY(reviews, $element1, $element1.stars > 3).@count >= 2") {
      $0.reviews.count(where: { $0.stars > 3 }) >= 2
    }
    try expect(
      """
      SUBQUERY(author.friends, $element1, SUBQUERY($element1.friends, $element2, $element2.name == 'x').@count > 0\
      ).@count > 0
      """
    ) { book in
      book.author.friends.contains { friend in friend.friends.contains { $0.name == "x" } }
    }
  }

  /// A closure on elements names the objects of the closures around it as well as its own.
  @Test func elementsAreComparedWithTheObjectsAround() throws {
    try expect("SUBQUERY(reviews, $element1, $element1.text == title).@count > 0") { book in
      book.reviews.contains { $0.text == book.title }
    }
    try expect(
      """
      SUBQUERY(author.friends, $element1, SUBQUERY($element1.friends, $element2, \
      SUBQUERY(tags, $element3, $element3.name == $element2.name OR $element3.name == $element1.name\
      ).@count > 0).@count > 0).@count > 0
      """
    ) { book in
      book.author.friends.contains { friend in
        friend.friends.contains { other in
          book.tags.contains { $0.name == other.name || $0.name == friend.name }
        }
      }
    }
    // Neither of two conditions beside each other is within the other.
    try expect(
      """
      SUBQUERY(reviews, $element1, $element1.stars > 3).@count > 0 \
      AND SUBQUERY(tags, $element1, $element1.name == title).@count == 2
      """
    ) { book in
      book.reviews.contains { $0.stars > 3 } && book.tags.count(where: { $0.name == book.title }) == 2
    }
  }

  /// Authors and their friends are of the same entity, so only the variables keep them apart.
  @Test func elementsOfTheirOwnEntityAreKeptApart() throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    let authors = ["a", "b", "a", "c"].map { Author(name: $0, in: context) }
    authors[0].addToFriends(authors[1])
    authors[1].addToFriends(authors[2])
    authors[2].addToFriends(authors[0])
    authors[3].addToFriends(authors[1])
    func found(_ condition: (Fields<Author>) -> FetchPredicate) throws -> [Int] {
      try Author.fetch(where: condition, in: context).compactMap { authors.firstIndex(of: $0) }
    }
    // First the evaluator answers, then the store.
    for _ in 0..<2 {
      let namesakes = try found { one in one.friends.contains { $0.name == one.name } }
      #expect(namesakes == [0, 2])
      let three = try found { one in
        one.friends.contains { friend in
          friend.friends.contains { $0.name != one.name && friend.name == one.name }
        }
      }
      #expect(three == [0, 2])
      let four = try found { one in
        one.friends.contains { friend in
          friend.friends.contains { other in other.friends.contains { $0.name == one.name } }
        }
      }
      #expect(four == [0, 1, 2])
      let friends = try found { one in one.friends.contains { $0 == authors[1] } }
      #expect(friends == [0, 2, 3])
      try context.save()
    }
  }

  /// A condition that a closure made has a variable of its own, which must not hide the one of the elements.
  @Test func elementsOfAnExistingConditionAreKeptApart() throws {
    let shares = TypedPredicate<Author> { one in one.friends.contains { $0.name == one.name } }.predicate
    try expect(
      """
      SUBQUERY(author.friends, $element2, SUBQUERY($element2.friends, $element1, \
      $element1.name == $element2.name).@count > 0).@count > 0
      """
    ) { $0.author.friends.contains(where: shares) }
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    let authors = ["a", "b", "c"].map { Author(name: $0, in: context) }
    authors[0].addToFriends(authors[1])
    authors[1].addToFriends(authors[2])
    func found() throws -> [Author] {
      try Author.fetch(where: { $0.friends.contains(where: shares) }, in: context)
    }
    #expect(try found() == [])
    authors[2].name = "b"
    #expect(try Set(found().map(\.name)) == ["a", "b"])
  }

  @Test func arithmeticInClosures() throws {
    try expect("salesRank + 1 == 3") { $0.salesRank + 1 == 3 }
    try expect("salesRank * 2 - 1 > price") { $0.salesRank * 2 - 1 > $0.price }
    try expect("price / salesRank <= %@", [Decimal(2)]) { $0.price / $0.salesRank <= 2 }
    try expect("title + '!' == isbn") { $0.title + "!" == $0.isbn }
    try expect("salesRank ?? 0 > 3") { ($0.salesRank ?? 0) > 3 }
    try expect("reviews.@count > salesRank") { $0.reviews.count > $0.salesRank }
  }

  @Test func bothFormsCombine() throws {
    try expect(
      \.isbn == "1" && TypedPredicate { $0.title.hasPrefix("W") || $0.salesRank == nil },
      "isbn == '1' AND (title BEGINSWITH 'W' OR salesRank == nil)")
    let request = FetchRequest<Book>(where: { !$0.title.hasPrefix("W") })
    #expect(try request.predicate == FetchPredicate(format: "NOT title BEGINSWITH 'W'"))
    #expect(try FetchRequest<Book>(where: \.isbn == "1").predicate == FetchPredicate(format: "isbn == '1'"))
    #expect(FetchRequest<Book>(where: nil).predicate == nil)
  }
}
