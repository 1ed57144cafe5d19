public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Evaluates predicates and value expressions in memory.
///
/// The article <doc:PredicateSemantics> describes the meaning of each construct. The SQL of the runtime has the same
/// meaning. An evaluation never traps: if there is no value, it throws an ``EvaluationError``.
///
/// ```swift
/// let evaluator = PredicateEvaluator(variables: ["limit": .value(.int(300))])
/// let isShort = try evaluator.matches(FetchPredicate(format: "pages < $limit"), book)
/// ```
public struct PredicateEvaluator {
  let now: Date
  private let sets: ConstantSets
  var texts: PreparedTexts { sets.texts }

  /// Creates an evaluator for any number of predicates.
  ///
  /// - Parameters:
  ///   - variables: The values of `$name` variables, by name without the `$`.
  ///   - now: The result of `now()`. It is the same time for a whole fetch, save or migration step.
  public init(variables: [String: EvaluationValue] = [:], now: Date = Date()) {
    self.now = now
    sets = ConstantSets(variables: variables, model: nil)
  }

  /// Creates an evaluator that also knows which identifiers with different entities are one object.
  package init(variables: [String: EvaluationValue] = [:], now: Date = Date(), model: ModelPlan) {
    self.now = now
    sets = ConstantSets(variables: variables, model: model)
  }

  /// Returns whether a subject meets a predicate.
  public func matches(_ predicate: FetchPredicate, _ subject: some EvaluationSubject) throws(EvaluationError)
    -> Bool
  {
    try matches(predicate, .subject(subject))
  }

  /// Returns whether a value meets a predicate. The value is the predicate's `SELF`.
  public func matches(_ predicate: FetchPredicate, _ object: EvaluationValue) throws(EvaluationError) -> Bool
  {
    try Self.verify(depth: predicate.depth)
    var evaluation = Evaluation(object: object, variables: sets.variables, now: now, sets: sets)
    return try evaluation.holds(predicate)
  }

  /// Returns the value of an expression for a subject.
  public func value(
    of expression: ValueExpression, for subject: some EvaluationSubject
  ) throws(EvaluationError) -> EvaluationValue {
    try value(of: expression, for: .subject(subject))
  }

  /// Returns the value of an expression for a value, which is the expression's `SELF`.
  public func value(
    of expression: ValueExpression, for object: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    try Self.verify(depth: expression.depth)
    var evaluation = Evaluation(object: object, variables: sets.variables, now: now, sets: sets)
    return try evaluation.value(expression)
  }

  /// The evaluation is recursive, and the thread's stack may be small.
  private static func verify(depth: Int) throws(EvaluationError) {
    if depth > ValueExpression.maximumDepth { throw .tooDeep(depth: depth) }
  }
}

extension PredicateEvaluator {
  /// Returns whether a subject comes before another one in the order of sort keys. Returns false if they are equal.
  ///
  /// Nil comes before each value. Strings are ordered by their code units, unless the key has options. Data and UUIDs
  /// are ordered by their bytes. A descending key reverses all of this.
  public func areInIncreasingOrder<Subject: EvaluationSubject>(
    _ left: Subject, _ right: Subject, by keys: [SortKey]
  ) throws(EvaluationError) -> Bool {
    for key in keys {
      let path = ValueExpression.keyPath(key.keyPath)
      let order = try SortOrder.order(
        try value(of: path, for: left), try value(of: path, for: right), key.options)
      if order != 0 { return (order < 0) == key.isAscending }
    }
    return false
  }

  /// Returns subjects in the order of sort keys. Equal subjects keep their order. Each key is evaluated once for each
  /// subject.
  public func sorted<Subject: EvaluationSubject>(
    _ subjects: [Subject], by keys: [SortKey]
  ) throws(EvaluationError) -> [Subject] {
    if keys.isEmpty || subjects.count < 2 { return subjects }
    let paths = keys.map { ValueExpression.keyPath($0.keyPath) }
    var rows: [(values: [EvaluationValue], index: Int)] = []
    rows.reserveCapacity(subjects.count)
    for (index, subject) in subjects.enumerated() {
      var values: [EvaluationValue] = []
      for path in paths { values.append(try value(of: path, for: subject)) }
      rows.append((values, index))
    }
    do {
      try rows.sort { left, right in
        for (number, key) in keys.enumerated() {
          let order = try SortOrder.order(left.values[number], right.values[number], key.options)
          if order != 0 { return (order < 0) == key.isAscending }
        }
        return left.index < right.index
      }
    } catch let error as EvaluationError {
      throw error
    } catch {
      // The closure throws no other errors.
      return subjects
    }
    return rows.map { subjects[$0.index] }
  }
}

/// The order of values by a sort key, which is the same as SQL's ORDER BY.
enum SortOrder {
  static func order(
    _ left: EvaluationValue, _ right: EvaluationValue, _ options: ComparisonOptions = []
  ) throws(EvaluationError) -> Int {
    switch (left, right) {
    case (.value(.null), .value(.null)): return 0
    case (.value(.null), _): return -1
    case (_, .value(.null)): return 1
    case (.value(.string(let left)), .value(.string(let right))):
      return TextComparison.order(left, right, options)
    case (.value(.date(let left)), .value(.date(let right))):
      return left < right ? -1 : left > right ? 1 : 0
    default:
      if let first = Number(left), let second = Number(right) { return Number.order(first, second) ?? 0 }
      if case (.value(let first), .value(let second)) = (left, right),
        let order = ValueOrder.compare(first, second)
      {
        return order.rawValue
      }
      throw .incomparable(operator: "sorting", left: left.kindName, right: right.kindName)
    }
  }
}
