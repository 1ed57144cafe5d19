import Foundation
import PredicateCases
import Testing

@testable import CDRuntime

/// The collected cases that a store has to answer, through SQL and, where that is not exact, the evaluator.
@Suite(
  .enabled(if: PredicateCase.folder != nil, "needs the shared/ folder beside the checkout"),
  .onceForAllKinds)
struct SharedCaseSQLTests {
  @Test func storesAnswerAsMemoryDoes() throws {
    var stores: [String: SharedStore] = [:]
    for (name, dataset) in try SharedDataset.all() { stores[name] = try SharedStore(dataset) }
    var count = 0
    var inexact: [String] = []
    for item in try PredicateCase.all() where item.isSQL {
      count += 1
      let store = try #require(stores[item.dataset])
      let variables = item.variables.mapValues { EvaluationValue($0) }
      let evaluator = PredicateEvaluator(variables: variables)
      var found: Set<String> = []
      do {
        let predicate = try FetchPredicate(format: item.format, arguments: item.arguments)
        let compiled = try store.compile(predicate, item.entity, variables: variables)
        if !compiled.isExact { inexact.append(item.id) }
        for row in try store.matches(compiled, item.entity) {
          if try compiled.isExact || evaluator.matches(predicate, row) { found.insert(row.id) }
        }
      } catch {
        #expect(item.expected == .error, "\(item.id): \(item.format.prefix(90)): \(error)")
        continue
      }
      let expected: PredicateCase.Expectation = found.isEmpty ? .indices([]) : .rows(found)
      #expect(expected == item.expected, "\(item.id): \(item.format.prefix(90)) \(item.arguments)")
    }
    #expect(count == 339)
    // Mistakes, which the evaluator reports; sums of fractions.
    #expect(
      inexact == [
        "rlm-424", "rlm-428", "rlm-432", "rqc-095", "rqc-096", "rqc-118", "rqc-128",
      ])
  }
}
