import CDRuntime
import Foundation
import PredicateCases
import Testing

/// The collected cases, evaluated in memory. The answers of disputed ones are ours to choose; those that the
/// material holds are the ones that we chose (see the article on the semantics of predicates).
@Suite(
  .enabled(if: PredicateCase.folder != nil, "needs the shared/ folder beside the checkout"),
  .onceForAllKinds)
struct SharedCaseTests {
  private func predicate(_ item: PredicateCase) throws -> FetchPredicate {
    if item.mode == "compound" { return .or([]) }
    return try FetchPredicate(format: item.format, arguments: item.arguments)
  }

  private func evaluator(_ item: PredicateCase) -> PredicateEvaluator {
    PredicateEvaluator(variables: item.variables.mapValues { EvaluationValue($0) })
  }

  @Test func valuesMeetPredicatesAsExpected() throws {
    var count = 0
    for item in try PredicateCase.all() where item.mode == "eval" || item.mode == "compound" {
      count += 1
      let evaluator = evaluator(item)
      let found: PredicateCase.Expectation
      do {
        let predicate = try predicate(item)
        if let objects = item.objects {
          var indices: [Int] = []
          for (index, object) in objects.map({ EvaluationValue($0) }).enumerated()
          where try evaluator.matches(predicate, object) {
            indices.append(index)
          }
          found = .indices(indices)
        } else {
          found = .holds(try evaluator.matches(predicate, EvaluationValue(item.object)))
        }
      } catch {
        #expect(item.expected == .error, "\(item.id): \(item.format.prefix(90)): \(error)")
        #expect((error is FormatError) == (item.errorStage == "parse"), "\(item.id): \(error)")
        continue
      }
      #expect(found == item.expected, "\(item.id): \(item.format.prefix(90)) \(item.arguments)")
    }
    #expect(count == 268)
  }

  @Test func rowsOfDatasetsMeetPredicatesAsExpected() throws {
    let datasets = try SharedDataset.all()
    var count = 0
    for item in try PredicateCase.all() where item.mode == "dataset" {
      count += 1
      let rows = try #require(datasets[item.dataset]?.rows[item.entity])
      let evaluator = evaluator(item)
      var found: Set<String> = []
      do {
        let predicate = try predicate(item)
        for row in rows where try evaluator.matches(predicate, row) { found.insert(row.id) }
      } catch {
        #expect(item.expected == .error, "\(item.id): \(item.format.prefix(90)): \(error)")
        continue
      }
      let expected: PredicateCase.Expectation = found.isEmpty ? .indices([]) : .rows(found)
      #expect(expected == item.expected, "\(item.id): \(item.format.prefix(90)) \(item.arguments)")
    }
    #expect(count == 339)
  }
}
