import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A predicate as a condition of SQL.
///
/// The rows are those of the entity's table under the alias `t0`; which entities of the table are wanted is
/// not a part of the condition. A row for which the condition is NULL does not meet it.
struct SQLPredicate: Equatable {
  /// The text that stands behind WHERE.
  let sql: String
  /// The values of its parameters: nil, integers, doubles, strings and data, to be bound as they are.
  let bindings: [AttributeValue]
  /// Whether the rows are those that meet the predicate. If not, they are those and others, from which
  /// ``PredicateEvaluator`` is to choose.
  let isExact: Bool
  /// Whether the statement may fail for a row that has no result, such as an integer without a place.
  var mayFail = false
  /// The roots of the entities whose rows the condition reads beside the row that it is about.
  var readRoots: Set<Int> = []
  /// What is left to the evaluator, in words that tell no data; empty for an exact condition.
  var inexactParts: [String] = []

  /// The condition that leaves all to the evaluator.
  static let unrestricted = SQLPredicate(sql: "1", bindings: [], isExact: false)

  /// SQLite's limits, with room for the statement around the condition: 32,766 parameters, a million bytes,
  /// and a parser whose stack takes 100 entries.
  private static let maximumBindings = 30_000
  private static let maximumLength = 900_000
  private static let maximumDepth = 80

  /// The most entries of the parser's stack that a value beside a condition may need.
  static let maximumTermDepth = 60

  /// Compiles a checked predicate.
  ///
  /// - Parameters:
  ///   - entity: The entity whose objects are wanted.
  ///   - variables: The values of `$name`.
  ///   - now: What `now()` gives.
  ///   - key: Finds the keys of objects that are constants; nil for the model's entities, of whatever store.
  /// - Throws: What the evaluator would throw whatever the row: an unbound variable, an unknown key, a
  ///   malformed regular expression.
  static func compile(
    _ predicate: FetchPredicate, entity: EntityPlan, plan: ModelPlan,
    variables: [String: EvaluationValue] = [:], now: Date = Date(),
    key: KeyLookup? = nil
  ) throws(EvaluationError) -> SQLPredicate {
    guard predicate.depth <= FetchPredicate.maximumDepth else { throw .tooDeep(depth: predicate.depth) }
    var compiler = SQLCompiler(
      entity: entity, model: plan, variables: variables, now: now, key: key ?? keys(in: plan))
    let condition = try compiler.condition(predicate, isNegated: false)
    guard condition.sql.bindings.count <= maximumBindings, condition.sql.text.utf8.count <= maximumLength,
      condition.sql.parserDepth <= maximumDepth
    else {
      var all = unrestricted
      all.inexactParts = ["a predicate beyond SQLite's limits"]
      return all
    }
    return SQLPredicate(
      sql: condition.sql.text, bindings: condition.sql.bindings, isExact: condition.isExact,
      mayFail: compiler.mayFail, readRoots: compiler.readRoots,
      inexactParts: condition.isExact ? [] : compiler.inexactParts)
  }

  /// A term of ORDER BY: a value, and what stands behind it.
  struct OrderTerm {
    let value: SQLValue
    let suffix: String
  }

  /// The terms of ORDER BY for sort keys, with nil first as in memory; nil where SQL cannot sort so.
  static func order(
    by keys: [SortKey], entity: EntityPlan, plan: ModelPlan
  ) throws(EvaluationError) -> String? {
    try terms(of: keys, entity: entity, plan: plan)?.map { $0.value.sql.text + $0.suffix }
      .joined(separator: ", ")
  }

  static func terms(
    of keys: [SortKey], entity: EntityPlan, plan: ModelPlan
  ) throws(EvaluationError) -> [OrderTerm]? {
    var terms: [OrderTerm] = []
    var compiler = SQLCompiler(entity: entity, model: plan, variables: [:], now: Date(), key: noKey)
    for key in keys {
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(key.keyPath)),
        value.sql.bindings.isEmpty, value.sql.parserDepth <= maximumTermDepth
      else { return nil }
      var suffix = ""
      switch value.kind {
      case .opaque, .object: return nil
      case .string: suffix = PredicateFunctions.collation(key.options).map { " COLLATE " + $0 } ?? ""
      default: break
      }
      terms.append(OrderTerm(value: value, suffix: suffix + (key.isAscending ? "" : " DESC")))
    }
    return terms
  }

  /// Finds the key of an object that is a constant among the objects of an inheritance root. Nil for an object of
  /// another root or of another store: keys are numbers that each table counts for itself.
  typealias KeyLookup = (_ object: ObjectReference, _ root: Int) -> ObjectKey?

  /// Finds no object, where there are no constants.
  static func noKey(_ object: ObjectReference, _ root: Int) -> ObjectKey? { nil }

  /// Finds keys by identifiers or their URIs.
  ///
  /// - Parameter storeID: The store of a root entity; nil for any store.
  static func keys(in model: ModelPlan, storeID: @escaping (Int) -> UUID? = { _ in nil }) -> KeyLookup {
    { reference, root in
      guard let id = ManagedObjectID(reference), model.entity(id.entityName)?.root == root,
        storeID(root).map({ $0 == id.storeID }) ?? true
      else { return nil }
      return id.key
    }
  }
}
