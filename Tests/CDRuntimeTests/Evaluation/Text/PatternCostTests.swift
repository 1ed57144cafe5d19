import CDModel
import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// What the patterns of a whole fetch may cost, and that a pattern which is prepared once means the same.
@Suite struct PatternCostTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  /// Backtracks for each value, and for none of them so long that the bound of a single match is reached.
  private static let pattern = "(a+)+$"

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
  }

  private func insert(_ count: Int) throws {
    for number in 0..<count {
      _ = Author(name: String(repeating: "a", count: 20) + "-\(number)", in: context)
    }
    try context.save()
  }

  private func request(_ pattern: String) throws -> FetchRequest<Author> {
    FetchRequest(where: try FetchPredicate(format: "name MATCHES %@", arguments: [pattern]))
  }

  @Test(.timeLimit(.minutes(10))) func aFetchHasOneBound() throws {
    try insert(60)
    let error = FetchError.patternTooCostly(pattern: Self.pattern)
    #expect(throws: error) { try context.fetch(request(Self.pattern)) }
    #expect("\(error)".contains("'(a+)+$'"))
    #expect(throws: error) { try context.count(for: request(Self.pattern)) }
    // The same in memory.
    for author in try Author.objects(in: context) { author.name += "-" }
    #expect(throws: error) { try context.fetch(request(Self.pattern)) }
    // Each of them is well within the bound of a match.
    let one = try FetchPredicate(
      format: "name ENDSWITH '-7-' AND name MATCHES %@", arguments: [Self.pattern])
    #expect(try context.fetch(FetchRequest<Author>(where: one)).isEmpty)
  }

  @Test func theBoundGrowsWithTheTexts() throws {
    // Some twenty steps for a character: as many rows as there are, in whatever number.
    for number in 0..<40 {
      _ = Author(name: String(repeating: "ab ", count: 20_000) + "\(number)", in: context)
    }
    try context.save()
    #expect(try context.count(for: request("(?:[a-z]+ )*[0-9]+")) == 40)
  }

  @Test func aCancelledTaskEndsTheMatching() async throws {
    let result = await Task { () -> Bool in
      withUnsafeCurrentTask { $0?.cancel() }
      do {
        let store = try TemporaryStore()
        let context = try store.freshContext()
        defer { withExtendedLifetime(store) {} }
        for number in 0..<60 {
          _ = Author(name: String(repeating: "a", count: 20) + "-\(number)", in: context)
        }
        try context.save()
        // What is quick is answered all the same.
        let quick = try context.fetch(
          FetchRequest<Author>(where: FetchPredicate(format: "name MATCHES 'a+-7'")))
        #expect(quick.count == 1)
        _ = try context.fetch(
          FetchRequest<Author>(
            where: try FetchPredicate(
              format: "name MATCHES %@", arguments: [Self.pattern])))
        return false
      } catch is CancellationError {
        return true
      } catch {
        Issue.record(error)
        return false
      }
    }.value
    #expect(result)
  }

  @Test func theRulesOfASaveHaveOneBoundToo() {
    var attribute = AttributeDescription(name: "code", type: .string)
    attribute.pattern = Self.pattern
    let graph = EntityGraph(ModelVersion(number: 1))
    func reasons() -> Set<ValidationError.Reason> {
      Set(
        (0..<60).compactMap { number in
          AttributeRules.mistake(
            .string(String(repeating: "a", count: 20) + "-\(number)"), attribute, .string, graph)
        })
    }
    #expect(MatchBudget.run(isCancellable: false) { reasons() } == [.patternMismatch, .patternTooCostly])
  }

  // MARK: Prepared patterns

  private static let alphabet = Array("aAbBßsSéE\u{301}-İiı 1*?\\")
  private static let options: [ComparisonOptions] = [
    [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized,
    .localeSensitive,
  ]

  private func text(_ random: inout SplitMix, _ most: Int) -> String {
    // Half of them are ASCII, which goes another way.
    let letters = Bool.random(using: &random) ? Array("aAbB-1*?") : Self.alphabet
    return String(
      (0..<Int.random(in: 0...most, using: &random)).map { _ in letters.randomElement(using: &random)! })
  }

  @Test func aPreparedSearchFindsWhatFoundationFinds() {
    var random = SplitMix(seed: 12)
    for _ in 0..<20_000 {
      let (whole, part) = (text(&random, 8), text(&random, 3))
      guard let options = Self.options.randomElement(using: &random),
        let place = [SearchAnchor.start, .end, .anywhere].randomElement(using: &random)
      else { continue }
      let expected =
        options.contains(.normalized)
        ? CodeUnits.contains(Array(whole.utf8), Array(part.utf8), place)
        : !whole.isEmpty && !part.isEmpty && FoundationText.contains(whole, part, at: place, options)
      #expect(
        TextSearch(part, options).isFound(in: whole, at: place) == expected,
        "\(whole) \(part) \(options) \(place)")
    }
  }

  @Test func patternsOfConstantsAndOfRowsAgree() throws {
    var random = SplitMix(seed: 14)
    for _ in 0..<60 {
      let tag = Tag(name: "\(text(&random, 6))\(UUID())", in: context)
      tag.name = String(tag.name.dropLast(30))
    }
    try context.save()
    let names = try Tag.objects(in: context).map(\.name)
    for comparison in [
      "LIKE", "LIKE[c]", "LIKE[cd]", "CONTAINS[cd]", "BEGINSWITH[c]", "CONTAINS", "ENDSWITH[d]",
    ] {
      for _ in 0..<20 {
        let pattern = text(&random, 2) + (comparison.hasPrefix("LIKE") ? "*" : "")
        let predicate = try FetchPredicate(
          format: "name \(comparison) %@", arguments: [pattern])
        let evaluator = PredicateEvaluator()
        let expected = try names.filter {
          // An evaluator of its own for each: nothing is prepared.
          try PredicateEvaluator().matches(predicate, .dictionary(["name": .value(.string($0))]))
        }
        #expect(
          try names.filter { try evaluator.matches(predicate, .dictionary(["name": .value(.string($0))])) }
            == expected)
        #expect(try context.fetch(FetchRequest<Tag>(where: predicate)).map(\.name) == expected)
      }
    }
    // More patterns than are kept, and from rows: each row is its own.
    #expect(
      try context.count(for: FetchRequest<Tag>(where: FetchPredicate(format: "name CONTAINS[cd] name"))) == 60
    )
    let evaluator = PredicateEvaluator()
    let own = try FetchPredicate(format: "SELF CONTAINS[c] SELF AND SELF ==[c] SELF")
    for name in names { #expect(try evaluator.matches(own, .value(.string(name)))) }
  }
}
