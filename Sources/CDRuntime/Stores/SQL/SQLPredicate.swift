import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A predicate as a condition in SQL.
///
/// The condition applies to the rows of the entity's table, with the alias `t0`. It does not restrict the rows to the
/// wanted entities of the table. A row for which the condition is NULL does not meet it.
struct SQLPredicate: Equatable {
  /// The text after WHERE.
  let sql: String
  /// The values of the parameters, in a form that SQLite can bind: nil, integers, doubles, strings and data.
  let bindings: [AttributeValue]
  /// Whether the rows are exactly those that meet the predicate. Otherwise, other rows may be among them, and
  /// ``PredicateEvaluator`` must decide.
  let isExact: Bool
  /// Whether the statement may fail for a row, because a calculation has no result, such as an overflow.
  var mayFail = false
  /// The root entities of the rows that the condition reads in addition to the row itself.
  var readRoots: Set<Int> = []
  /// The parts that the evaluator must decide, as texts without user data; empty for an exact condition.
  var inexactParts: [String] = []

  /// A condition that leaves the whole predicate to the evaluator.
  static let unrestricted = SQLPredicate(sql: "1", bindings: [], isExact: false)

  /// SQLite's limits are 32,766 parameters, a million bytes, and a parser stack of 100 entries. These limits are lower,
  /// to leave room for the rest of the statement.
  private static let maximumBindings = 30_000
  private static let maximumLength = 900_000
  private static let maximumDepth = 80

  /// The maximum depth of the parser stack for a value outside the condition.
  static let maximumTermDepth = 60

  /// Compiles a checked predicate.
  ///
  /// - Parameters:
  ///   - entity: The entity of the wanted objects.
  ///   - variables: The values of variables such as `$name`.
  ///   - now: The result of `now()`.
  ///   - key: Finds the keys of objects that are constants. If nil, all objects of the model's entities are found, of
  ///     any store.
  /// - Throws: An error that the evaluator would throw for every row: an unbound variable, an unknown key, or a
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

  /// A term of ORDER BY: a value, and the text after it.
  struct OrderTerm {
    let value: SQLValue
    let suffix: String
  }

  /// Returns the terms of ORDER BY for sort keys, with nil first as in memory. Returns nil if SQL cannot sort by these
  /// keys.
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

  /// Finds the key of a constant object in the table of a root entity. Returns nil for an object of another root or
  /// another store, because each table counts its own keys.
  typealias KeyLookup = (_ object: ObjectReference, _ root: Int) -> ObjectKey?

  /// A lookup that finds no object, for expressions without constants.
  static func noKey(_ object: ObjectReference, _ root: Int) -> ObjectKey? { nil }

  /// Returns a lookup that finds keys by identifiers or their URIs.
  ///
  /// - Parameter storeID: Returns the store of a root entity; nil to accept any store.
  static func keys(in model: ModelPlan, storeID: @escaping (Int) -> UUID? = { _ in nil }) -> KeyLookup {
    { reference, root in
      guard let id = ManagedObjectID(reference), model.entity(id.entityName)?.root == root,
        storeID(root).map({ $0 == id.storeID }) ?? true
      else { return nil }
      return id.key
    }
  }
}
