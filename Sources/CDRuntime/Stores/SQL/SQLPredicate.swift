import CDModel

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A predicate as a condition in SQL.
///
/// The condition applies to the rows of the entity's table, with the alias `t0`. It does not restrict the rows to the
/// wanted entities of the table. A row for which the condition is NULL does not meet it.
package struct SQLPredicate: Equatable {
  /// The text after WHERE.
  package let sql: String
  /// The values of the parameters, as the dialect stores them.
  package let bindings: [AttributeValue]
  /// Whether the rows are exactly those that meet the predicate. Otherwise, other rows may be among them, and
  /// ``PredicateEvaluator`` must decide.
  package let isExact: Bool
  /// Whether the statement may fail for a row, because a calculation has no result, such as an overflow.
  package var mayFail = false
  /// The root entities of the rows that the condition reads in addition to the row itself.
  package var readRoots: Set<Int> = []
  /// The parts that the evaluator must decide, as texts without user data; empty for an exact condition.
  package var inexactParts: [String] = []

  /// A condition that leaves the whole predicate to the evaluator.
  package static func unrestricted(in dialect: any SQLDialect, inexactParts: [String] = []) -> SQLPredicate {
    SQLPredicate(sql: dialect.always, bindings: [], isExact: false, inexactParts: inexactParts)
  }

  /// Compiles a checked predicate.
  ///
  /// - Parameters:
  ///   - entity: The entity of the wanted objects.
  ///   - dialect: The SQL of the database that runs the statement.
  ///   - variables: The values of variables such as `$name`.
  ///   - now: The result of `now()`.
  ///   - key: Finds the keys of objects that are constants. If nil, all objects of the model's entities are found, of
  ///     any store.
  /// - Throws: An error that the evaluator would throw for every row: an unbound variable, an unknown key, or a
  ///   malformed regular expression.
  package static func compile(
    _ predicate: FetchPredicate, entity: EntityPlan, plan: ModelPlan, dialect: any SQLDialect,
    variables: [String: EvaluationValue] = [:], now: Date = Date(),
    key: KeyLookup? = nil
  ) throws(EvaluationError) -> SQLPredicate {
    guard predicate.depth <= FetchPredicate.maximumDepth else { throw .tooDeep(depth: predicate.depth) }
    // SQL evaluates the parts in an order of its own.
    if predicate.assignsVariables {
      return unrestricted(in: dialect, inexactParts: ["the assignment of a variable"])
    }
    var compiler = SQLCompiler(
      entity: entity, model: plan, variables: variables, now: now, key: key ?? keys(in: plan),
      dialect: dialect)
    let condition = try compiler.condition(predicate, isNegated: false)
    guard dialect.accepts(condition.sql) else {
      return unrestricted(in: dialect, inexactParts: ["a predicate beyond \(dialect.name)'s limits"])
    }
    return SQLPredicate(
      sql: condition.sql.text, bindings: condition.sql.bindings, isExact: condition.isExact,
      mayFail: compiler.mayFail, readRoots: compiler.readRoots,
      inexactParts: condition.isExact ? [] : compiler.inexactParts)
  }

  /// A term of ORDER BY: a value, and the text after it.
  package struct OrderTerm {
    package let value: SQLValue
    package let suffix: String
  }

  /// Returns the terms of ORDER BY for sort keys, with nil first as in memory. Returns nil if SQL cannot sort by these
  /// keys.
  package static func order(
    by keys: [SortKey], entity: EntityPlan, plan: ModelPlan, dialect: any SQLDialect
  ) throws(EvaluationError) -> String? {
    try terms(of: keys, entity: entity, plan: plan, dialect: dialect)?.map { $0.value.sql.text + $0.suffix }
      .joined(separator: ", ")
  }

  /// Returns the terms of ORDER BY for sort keys; nil if SQL cannot sort by these keys.
  package static func terms(
    of keys: [SortKey], entity: EntityPlan, plan: ModelPlan, dialect: any SQLDialect
  ) throws(EvaluationError) -> [OrderTerm]? {
    var terms: [OrderTerm] = []
    var compiler = SQLCompiler(
      entity: entity, model: plan, variables: [:], now: Date(), key: noKey, dialect: dialect)
    for key in keys {
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(key.keyPath)),
        value.sql.bindings.isEmpty, dialect.acceptsTerm(value.sql)
      else { return nil }
      switch value.kind {
      case .opaque, .object: return nil
      default: break
      }
      guard let suffix = dialect.direction(value.kind, key.options, isAscending: key.isAscending) else {
        return nil
      }
      terms.append(OrderTerm(value: value, suffix: suffix))
    }
    return terms
  }

  /// Finds the key of a constant object in the table of a root entity. Returns nil for an object of another root or
  /// another store, because each table counts its own keys.
  package typealias KeyLookup = (_ object: ObjectReference, _ root: Int) -> ObjectKey?

  /// A lookup that finds no object, for expressions without constants.
  package static func noKey(_ object: ObjectReference, _ root: Int) -> ObjectKey? { nil }

  /// Returns a lookup that finds keys by identifiers or their URIs.
  ///
  /// - Parameter storeID: Returns the store of a root entity; nil to accept any store.
  package static func keys(in model: ModelPlan, storeID: @escaping (Int) -> UUID? = { _ in nil }) -> KeyLookup
  {
    { reference, root in
      guard let id = ManagedObjectID(reference), model.entity(id.entityName)?.root == root,
        storeID(root).map({ $0 == id.storeID }) ?? true
      else { return nil }
      return id.key
    }
  }
}
