public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Evaluates predicates and value expressions in memory.
///
/// The article <doc:PredicateSemantics> says what each construct means; SQL made by the runtime means the
/// same. Nothing traps: what has no value throws an ``EvaluationError``.
///
/// ```swift
/// let evaluator = PredicateEvaluator(variables: ["limit": .value(.int(300))])
/// let isShort = try evaluator.matches(FetchPredicate(format: "pages < $limit"), book)
/// ```
public struct PredicateEvaluator {
  private let variables: [String: EvaluationValue]
  private let now: Date
  private let sets = ConstantSets()
  var texts: PreparedTexts { sets.texts }

  /// An evaluator for any number of predicates.
  ///
  /// - Parameters:
  ///   - variables: The values of `$name` variables, by name without the sigil.
  ///   - now: What `now()` gives: one time for a whole fetch, save or migration step.
  public init(variables: [String: EvaluationValue] = [:], now: Date = Date()) {
    self.variables = variables
    self.now = now
  }

  /// Whether a subject meets a predicate.
  public func matches(_ predicate: FetchPredicate, _ subject: some EvaluationSubject) throws(EvaluationError)
    -> Bool
  {
    try matches(predicate, .subject(subject))
  }

  /// Whether a value meets a predicate, whose `SELF` it is.
  public func matches(_ predicate: FetchPredicate, _ object: EvaluationValue) throws(EvaluationError) -> Bool
  {
    try Self.verify(depth: predicate.depth)
    var evaluation = Evaluation(object: object, variables: variables, now: now, sets: sets)
    return try evaluation.holds(predicate)
  }

  /// The value of an expression for a subject.
  public func value(
    of expression: ValueExpression, for subject: some EvaluationSubject
  ) throws(EvaluationError) -> EvaluationValue {
    try value(of: expression, for: .subject(subject))
  }

  /// The value of an expression for a value, whose `SELF` it is.
  public func value(
    of expression: ValueExpression, for object: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    try Self.verify(depth: expression.depth)
    var evaluation = Evaluation(object: object, variables: variables, now: now, sets: sets)
    return try evaluation.value(expression)
  }

  /// Trees are walked recursively, on stacks that may be small.
  private static func verify(depth: Int) throws(EvaluationError) {
    if depth > ValueExpression.maximumDepth { throw .tooDeep(depth: depth) }
  }
}
