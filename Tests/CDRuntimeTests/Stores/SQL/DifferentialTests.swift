import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Random predicates over random rows: SQL and the evaluator choose the same.
@Suite(.onceForAllKinds) struct DifferentialTests {
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func sqlAgreesWithMemory(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let library = try RandomLibrary(&random)
    let plan = library.rows.plan
    var exact = 0
    var failed = 0
    for _ in 0..<600 {
      let entity = Bool.random(using: &random) ? "Book" : "Author"
      var maker = RandomPredicates(random: random)
      let predicate = maker.predicate(entity, depth: 3)
      random = maker.random
      let compiled: SQLPredicate
      do {
        compiled = try SQLPredicate.compile(
          predicate, entity: try #require(plan.entity(entity)), plan: plan, dialect: .sqlite,
          key: { object, _ in Int64(object.uri) })
      } catch {
        Issue.record("\(predicate): \(error)")
        continue
      }
      if compiled.isExact { exact += 1 }
      let evaluator = PredicateEvaluator()
      let found: Set<Int64>
      do {
        found = Set(try library.rows.keys(of: entity, where: compiled))
      } catch let error as StoreError where error.isOfStatement && predicate.canonicalText.contains("sold") {
        // An integer without a place: the evaluator answers alone.
        failed += 1
        continue
      }
      for object in library.objects where object.entity == entity {
        let expected: Bool
        do {
          expected = try evaluator.matches(predicate, object)
        } catch {
          // What fails in memory is never settled by SQL, except where another part settles it first.
          let isOfNumbers =
            switch error {
            case .divisionByZero, .overflow: true
            default: false
            }
          #expect(!compiled.isExact || isOfNumbers, "\(predicate): \(error)")
          continue
        }
        if compiled.isExact {
          #expect(found.contains(object.key) == expected, "\(predicate)\n\(compiled.sql)\n\(object.values)")
        } else if expected {
          #expect(found.contains(object.key), "\(predicate)\n\(compiled.sql)\n\(object.values)")
        }
      }
    }
    // Otherwise there would be little that is compared.
    #expect(exact > 400 && failed < 60)
  }

  /// SQLite binds NaN as NULL, which would find the rows without a date.
  @Test(arguments: [
    ("added == %@", false), ("added != %@", true), ("NOT added == %@", true), ("added < %@", false),
    ("added <= %@", false), ("added > %@", false), ("added >= %@", false), ("%@ < added", false),
    ("%@ > added", false), ("added IN {%@}", false), ("NOT added IN {%@}", true),
    ("added BETWEEN {%@, %@}", false), ("added IN {%@, %@}", false),
  ])
  func aDateWithoutATimeIsNotNull(format: String, expected: Bool) throws {
    var random = SplitMix(seed: 7)
    let library = try RandomLibrary(&random)
    let date = Date(timeIntervalSinceReferenceDate: .nan)
    let predicate = try FetchPredicate(format: format, arguments: [date, date])
    let compiled = try SQLPredicate.compile(
      predicate, entity: try #require(library.rows.plan.entity("Book")), plan: library.rows.plan,
      dialect: .sqlite, key: { object, _ in Int64(object.uri) })
    let found = Set(try library.rows.keys(of: "Book", where: compiled))
    for object in library.objects where object.entity == "Book" {
      #expect(try PredicateEvaluator().matches(predicate, object) == expected)
      if compiled.isExact || expected { #expect(found.contains(object.key) == expected) }
    }
  }

  @Test(arguments: [5, 6] as [UInt64])
  func ordersAgree(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let library = try RandomLibrary(&random)
    let book = try #require(library.rows.plan.entity("Book"))
    let books = library.objects.filter { $0.entity == "Book" }.sorted { $0.key < $1.key }
    for name in RandomLibrary.bookTypes.keys.sorted() + ["author.name", "author.age", "place.city"] {
      for isAscending in [true, false] {
        let keys = [SortKey(name, ascending: isAscending)]
        let order = try #require(
          try SQLPredicate.order(by: keys, entity: book, plan: library.rows.plan, dialect: .sqlite), "\(name)"
        )
        let all = SQLPredicate(sql: "1", bindings: [], isExact: true)
        let found = try library.rows.keys(of: "Book", where: all, orderedBy: order + ", t0._pk")
        #expect(found == (try PredicateEvaluator().sorted(books, by: keys).map(\.key)), "\(name)")
      }
    }
  }
}
