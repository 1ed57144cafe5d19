import Foundation
import SeededRandom
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Random requests over random stores with random unsaved changes: what a fetch gives is what the evaluator
/// chooses and sorts from all objects in memory.
///
/// The suite runs a part with a fixed seed. `CDGEN_DIFFERENTIAL_COMPARISONS` asks for as many requests, and
/// `CDGEN_DIFFERENTIAL_SEED` for others.
@Suite struct StoreDifferentialTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["CDGEN_DIFFERENTIAL_COMPARISONS"].flatMap { Int($0) } ?? 1500
  private static let seed = environment["CDGEN_DIFFERENTIAL_SEED"].flatMap { UInt64($0) } ?? 1
  private static let requestsAStore = 250

  @Test func fetchesAgreeWithTheEvaluator() throws {
    var tally = DifferentialTally()
    var random = SplitMix(seed: Self.seed)
    while tally.compared < Self.count, tally.differences < 20 {
      var graph = try RandomGraph(random: random)
      for hasChanges in [false, true] {
        let context = graph.container.newContext()
        try withExtendedLifetime(context) {
          if hasChanges { try graph.change(context) }
          try compare(&graph, context, &tally)
        }
      }
      random = graph.random
    }
    // Otherwise there would be little that is compared.
    #expect(tally.answered * 3 > tally.compared, "\(tally)")
    if Self.environment["CDGEN_DIFFERENTIAL_COMPARISONS"] != nil { print(tally) }
  }

  private func compare(
    _ graph: inout RandomGraph, _ context: ManagedObjectContext, _ tally: inout DifferentialTally
  ) throws {
    var maker = RandomRequest(
      random: graph.random, graph: graph.graph, objects: try graph.objects(in: context))
    for _ in 0..<Self.requestsAStore {
      let request = maker.request()
      let checker = ExpressionChecker(graph: graph.graph)
      let checked = request.predicate.map { checker.check($0, on: request.entityName) }
      let areSortKeysFit = request.sortKeys.allSatisfy {
        !checker.check(ValueExpression.keyPath($0.keyPath), on: request.entityName).hasErrors
      }
      guard checked?.hasErrors != true, areSortKeysFit else { continue }
      tally.compared += 1
      try compare(request, checked?.predicate, context, &tally)
    }
    graph.random = maker.random
  }

  private func compare(
    _ request: FetchRequest<ManagedObject>, _ predicate: FetchPredicate?, _ context: ManagedObjectContext,
    _ tally: inout DifferentialTally
  ) throws {
    var everything = FetchRequest<ManagedObject>(entityName: request.entityName)
    everything.includesSubentities = request.includesSubentities
    let all = try context.fetch(everything)
    let evaluator = PredicateEvaluator(
      variables: request.variables.mapValues { EvaluationValue($0.expressionConstant) })
    var matching: [ManagedObject] = []
    var failing: Set<ManagedObject> = []
    for object in all {
      do {
        if try predicate.map({ try evaluator.matches($0, object) }) ?? true { matching.append(object) }
      } catch {
        failing.insert(object)
      }
    }
    let what: Comment =
      "\(request.entityName) \(predicate.map(\.canonicalText) ?? "all") \(request.sortKeys) "
    func differ(_ problem: String) {
      tally.differences += 1
      Issue.record("\(problem): \(what) \(request.variables) changes: \(context.hasChanges)")
    }
    let found: [ManagedObject]
    do {
      found = try context.fetch(request)
    } catch {
      if failing.isEmpty, (try? evaluator.sorted(matching, by: request.sortKeys)) != nil {
        differ("only the fetch fails, with \(error)")
      }
      return
    }
    // Rows that fail in memory may be left out by SQL; the others are the same.
    guard failing.isEmpty else {
      if request.limit == nil, request.offset == 0 {
        let others = Set(found).subtracting(failing)
        if others != Set(matching) { differ("\(others.count) objects, not \(matching.count)") }
      }
      return
    }
    tally.answered += 1
    tally.note(predicate, request, context, isEmpty: matching.isEmpty)
    // An order that fails in memory may be one that a limit of 0 never comes to.
    guard let sorted = try? evaluator.sorted(matching, by: request.sortKeys) else { return }
    let rest = sorted.dropFirst(request.offset)
    let expected = Array(request.limit.map { rest.prefix($0) } ?? rest)
    if found != expected { differ("\(found), not \(expected)") }
    switch tally.compared % 4 {
    case 0:
      if try context.objectIDs(for: request) != expected.map(\.objectID) { differ("identifiers") }
    case 1:
      if try context.count(for: request) != expected.count { differ("count") }
    default: break
    }
  }
}

/// What was compared.
private struct DifferentialTally: CustomStringConvertible {
  /// Requests that the checker accepts.
  var compared = 0
  /// Those that have an answer in memory.
  var answered = 0
  /// Those of them whose predicate SQL answers alone, and those that some objects meet.
  var exact = 0
  var filled = 0
  var differences = 0

  mutating func note(
    _ predicate: FetchPredicate?, _ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext,
    isEmpty: Bool
  ) {
    if !isEmpty { filled += 1 }
    guard let predicate, let plan = context.model.entity(request.entityName) else { return }
    let compiled = try? SQLPredicate.compile(
      predicate, entity: plan, plan: context.model, dialect: Self.dialect,
      variables: request.variables.mapValues { EvaluationValue($0.expressionConstant) })
    if compiled?.isExact == true { exact += 1 }
  }

  /// The SQL of the stores that are asked.
  private static let dialect: any SQLDialect =
    StoreKind.ofScratch == .postgresql ? PostgresDialect() : SQLiteDialect()

  var description: String {
    "\(compared) requests, \(answered) with an answer, \(exact) by SQL alone, \(filled) not empty; "
      + "\(differences) differences"
  }
}
