import CDRuntime
import Foundation
import Testing

/// Counts, sums and the like, by SQL and, where something is unsaved, in memory: the same.
@Suite struct AggregateTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
    let authors = ["Thoreau", "Ellery"].map { Author(name: $0, in: context) }
    for number in 0..<10 {
      let book = Book(
        title: "T\(number % 4)", isbn: "\(number)", author: authors[number % 3 == 0 ? 1 : 0], in: context)
      book.salesRank = number < 6 ? Int64(number * number) : nil
      book.price = Decimal(number)
      book.priority = number % 2 == 0 ? .low : .high
    }
    try context.save()
  }

  /// The answers with nothing unsaved, and with something that changes none of them.
  private func bothWays<Answer: Equatable>(_ answer: () throws -> Answer) throws -> Answer {
    let stored = try answer()
    let books = try Book.objects(in: context)
    books[0].shippedTo = Address(street: "Main", city: nil)
    let pending = try answer()
    #expect(context.hasChanges && stored == pending)
    context.rollback()
    return stored
  }

  @Test func typedTuplesHaveTheirValues() throws {
    let (count, ranked, sum, average) = try Book.aggregate(
      .count, .count(\.salesRank), .sum(\.salesRank), .average(\.salesRank), in: context)
    #expect(count == 10 && ranked == 6 && sum == 55 && average == 55.0 / 6)
    let (least, greatest, total) = try Book.aggregate(
      .min(\.title), .max(\.price), .sum(\.price), where: \.price < 8, in: context)
    #expect(least == "T0" && greatest == 7 && total == 28)
    let (none, nothing, mean) = try Book.aggregate(
      .count, .max(\.salesRank), .average(\.price), where: \.title == "none", in: context)
    #expect(none == 0 && nothing == nil && mean == nil)
  }

  @Test func groupsComeInTheOrderOfTheirFirstObjects() throws {
    let groups = try bothWays {
      try Book.aggregate(by: \.priority, .count, .max(\.salesRank), in: context).map {
        "\($0.key) \($0.values.0) \($0.values.1 ?? -1)"
      }
    }
    #expect(groups == ["low 5 16", "high 5 25"])
    let ranks = try Book.aggregate(by: \.salesRank, .count, in: context)
    #expect(ranks.map(\.key) == [0, 1, 4, 9, 16, 25, nil] && ranks.map(\.values) == [1, 1, 1, 1, 1, 1, 4])
  }

  @Test func dictionariesHaveNamesAndMeetTheirCondition() throws {
    var request = AggregateRequest<Book>([
      .count(), .sum(of: "salesRank"), .average(of: "price", as: "usual"),
    ])
    request.groupBy = ["author.name", "title"]
    let all = try bothWays { try context.aggregates(for: request) }
    #expect(all.count == 8 && all.allSatisfy { $0.count == 5 })
    request.having = try FetchPredicate(format: "author.name == $name AND count > 1 AND sum_salesRank >= 4")
    request.variables["name"] = "Thoreau"
    let some = try bothWays { try context.aggregates(for: request) }
    #expect(some.map { $0["title"] } == ["T1", "T0"])
    #expect(some.map { $0["sum_salesRank"] } == [26, 16])
    #expect(some[0]["usual"] == .value(Decimal(3)))
  }

  @Test func conditionsOfGroupsAreChecked() throws {
    var request = AggregateRequest<Book>([.count(), .sum(of: "salesRank")])
    request.groupBy = ["author", "author.name", "priority"]
    let unknown: [(format: String, key: String, suggestion: String?)] = [
      ("auther.name == 'Thoreau'", "auther.name", "author.name"),
      ("count > 0 OR NOT coumt > 1", "coumt", "count"),
      ("author.friends.@count > 0", "author.friends", nil),
      ("title == 'T1'", "title", nil),
    ]
    for (format, key, suggestion) in unknown {
      request.having = try FetchPredicate(format: format)
      do {
        _ = try context.aggregates(for: request)
        Issue.record("\(format) is accepted")
      } catch FetchError.unknownKey(let entity, let found, let closest) {
        #expect(entity == "Book" && found == key)
        if suggestion != nil { #expect(closest == suggestion) }
      }
    }
    // The enumeration lacks the case.
    request.having = try FetchPredicate(format: "priority == 'lowest'")
    #expect(throws: FetchError.self) { try context.aggregates(for: request) }
    request.having = try FetchPredicate(format: "count > $least AND author.name != $name")
    request.variables["least"] = 1
    #expect(throws: FetchError.missingVariable("name")) { try context.aggregates(for: request) }
  }

  @Test func conditionsOfGroupsNameCases() throws {
    var request = AggregateRequest<Book>([.count()])
    request.groupBy = ["priority"]
    let conditions: [(format: String, priorities: [Priority])] = [
      ("priority == 'low'", [.low]), ("count > 4 AND NOT priority == 'low'", [.high]),
      ("priority == 'low' OR count == 5", [.low, .high]),
    ]
    for (format, priorities) in conditions {
      request.having = try FetchPredicate(format: format)
      let groups = try bothWays { try context.aggregates(for: request) }
      let expected = priorities.map { FetchedValue.value($0) }
      #expect(groups.compactMap { $0["priority"] } == expected, "\(format)")
    }
  }

  @Test func leastAndGreatestValuesOfGroupsNameCases() throws {
    var request = AggregateRequest<Book>([.count(), .max(of: "priority"), .min(of: "priority", as: "least")])
    request.groupBy = ["priority"]
    let conditions: [(format: String, priorities: [Priority])] = [
      ("max_priority == 'high'", [.high]), ("least == 'low' AND count > 0", [.low]),
      ("max_priority == priority AND least IN {'low', 'high'}", [.low, .high]),
      ("max_priority > least", []),
    ]
    for (format, priorities) in conditions {
      request.having = try FetchPredicate(format: format)
      let groups = try bothWays { try context.aggregates(for: request) }
      let expected = priorities.map { FetchedValue.value($0) }
      #expect(groups.compactMap { $0["priority"] } == expected, "\(format)")
    }
    request.having = try FetchPredicate(format: "max_priority == 'lowest'")
    #expect(throws: FetchError.self) { try context.aggregates(for: request) }
  }

  /// A group has a relationship, an attribute of its object, and a composite, with the same first keys.
  @Test func conditionsOfGroupsNameValuesByTheirWholePaths() throws {
    let books = try Book.fetch(sortedBy: \.isbn, in: context)
    books[1].prequel = books[0]
    books[2].shippedTo = Address(street: "Main", city: "Concord")
    try context.save()
    var request = AggregateRequest<Book>([.count()])
    request.groupBy = ["prequel", "prequel.title", "shippedTo", "shippedTo.city"]
    let conditions: [(format: String, counts: [Int64])] = [
      ("prequel == nil", [8, 1]), ("prequel != nil", [1]), ("prequel.title == 'T0'", [1]),
      ("prequel == nil AND shippedTo.street == 'Main'", [1]),
      ("shippedTo.city == nil AND prequel.title == nil", [8]),
    ]
    for (format, counts) in conditions {
      request.having = try FetchPredicate(format: format)
      let groups = try context.aggregates(for: request)
      let expected = counts.map { FetchedValue.value($0) }
      #expect(groups.compactMap { $0["count"] } == expected, "\(format)")
    }
  }

  /// The double 0.1 is another number than the Float 0.1.
  @Test func conditionsOfGroupsCompareFloats() throws {
    let container = try PersistentContainer(
      scratchOf: [
        EntityDescription(
          name: "Parcel",
          attributes: [
            AttributeDescription(name: "weight", type: .float, isOptional: true),
            AttributeDescription(name: "place", type: .composite("Place"), isOptional: true),
          ])
      ],
      composites: [
        CompositeDescription(
          name: "Place",
          fields: [
            AttributeDescription(name: "height", type: .float, isOptional: true),
            AttributeDescription(name: "floor", type: .int32, isOptional: true),
          ])
      ])
    let context = container.newContext()
    for weight in [0.1, 0.1, 0.3] {
      let parcel = try context.insert(entityNamed: "Parcel")
      try parcel.setValue(weight, forKey: "weight")
      try parcel.setValue(
        PropertyValue.attribute(.composite(["height": .double(weight), "floor": .int(1)])), forKey: "place")
    }
    var request = AggregateRequest<ManagedObject>(
      entityName: "Parcel",
      [
        .count(), .max(of: "weight"), .min(of: "place.height"), .sum(of: "weight", as: "total"),
        .average(of: "weight", as: "mean"),
      ])
    request.groupBy = ["weight", "place"]
    let conditions: [(format: String, counts: [Int64])] = [
      ("weight == 0.1", [2]), ("weight IN {0.1, 0.3}", [2, 1]), ("max_weight <= 0.1", [2]),
      ("min_place_height == 0.3", [1]), ("place.height == 0.3 AND place.floor == 1", [1]),
      // A sum and a mean are doubles.
      ("total > 0.3", [1]), ("total == 0.3", []), ("mean == 0.1", []), ("mean > weight", []),
    ]
    // First the evaluator answers, then the store.
    for _ in 0..<2 {
      for (format, counts) in conditions {
        request.having = try FetchPredicate(format: format)
        let groups = try context.aggregates(for: request)
        #expect(groups.compactMap { $0["count"] } == counts.map { FetchedValue.value($0) }, "\(format)")
      }
      request.having = try FetchPredicate(format: "place.size > count")
      #expect(throws: FetchError.self) { try context.aggregates(for: request) }
      try context.save()
    }
  }

  @Test func unsavedChangesCount() throws {
    let books = try Book.objects(in: context)
    books[5].salesRank = 1000
    context.delete(books[4])
    let author = try #require(try Author.objects(in: context).first)
    _ = Book(title: "New", isbn: "new", author: author, in: context)
    let (count, sum, last) = try Book.aggregate(.count, .sum(\.salesRank), .max(\.title), in: context)
    #expect(count == 10 && sum == 1014 && last == "T3")
    var stored = AggregateRequest<Book>([.count(), .sum(of: "salesRank")])
    stored.includesPendingChanges = false
    #expect(try context.aggregates(for: stored) == [["count": 10, "sum_salesRank": 55]])
  }

  @Test func aSumBeyondInt64Throws() throws {
    let books = try Book.objects(in: context)
    books[0].salesRank = .max
    for _ in 0..<2 {
      #expect(throws: FetchError.self) { try Book.aggregate(.sum(\.salesRank), in: context) }
      try context.save()
    }
  }

  /// In whatever order the objects come: what is added so far may be beyond Int64 where the sum is not.
  @Test func aSumThatFitsDoesNotDependOnTheOrder() throws {
    let books = try Book.fetch(sortedBy: \.isbn, in: context)
    for book in books { book.salesRank = nil }
    let low = books.filter { $0.priority == .low }
    let cases: [(ranks: [Int64], sum: Int64)] = [
      ([.max, 1, -1], .max), ([1, .max, -1], .max), ([-1, 1, .max], .max),
      ([.min, -1, 1], .min), ([.max, .max, .min], .max - 1), ([.min, .max, .max], .max - 1),
    ]
    for (ranks, sum) in cases {
      for (book, rank) in zip(low, ranks) { book.salesRank = rank }
      // First the evaluator answers, then the store, which has the groups in an index.
      for _ in 0..<2 {
        let (count, whole) = try Book.aggregate(.count, .sum(\.salesRank), in: context)
        #expect(count == 10 && whole == sum)
        let groups = try Book.aggregate(by: \.priority, .sum(\.salesRank), in: context)
        #expect(groups.map(\.values) == [sum, 0])
        try context.save()
      }
    }
  }

  @Test func whatHasNoAnswerIsRefused() throws {
    #expect(throws: FetchError.notAValue(entity: "Book", key: "reviews")) {
      try context.aggregates(for: AggregateRequest<Book>([.count(of: "reviews")]))
    }
    #expect(throws: FetchError.self) {
      try context.aggregates(for: AggregateRequest<Book>([.sum(of: "title")]))
    }
    #expect(throws: FetchError.self) {
      try context.aggregates(for: AggregateRequest<Book>([.sum(of: "nothing")]))
    }
  }
}
