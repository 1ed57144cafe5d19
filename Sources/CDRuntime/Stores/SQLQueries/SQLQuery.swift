import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A ``StoreQuery`` as SQL: the parts that a database decides like the evaluator.
///
/// Each engine that speaks SQL makes its statements of these parts, so that a query has one meaning in all of them.
package struct SQLQuery {
  package let query: StoreQuery
  package let model: ModelPlan
  package let sql: ModelSQL
  /// Nil if all objects are wanted.
  package let condition: SQLPredicate?
  /// The terms of ORDER BY for the sort keys. Nil if SQL cannot sort by them, and if the condition is not exact.
  package let terms: String?

  private var entity: EntityPlan { query.entity }
  private var dialect: any SQLDialect { sql.dialect }

  /// Compiles a query.
  ///
  /// - Parameter key: Finds the keys of objects that are constants in the predicate.
  /// - Throws: An error that the evaluator would throw for every row.
  package init(
    _ query: StoreQuery, _ model: ModelPlan, _ sql: ModelSQL, key: @escaping SQLPredicate.KeyLookup
  ) throws(EvaluationError) {
    self.query = query
    self.model = model
    self.sql = sql
    var condition: SQLPredicate?
    if let predicate = query.predicate {
      condition =
        query.storeDecides
        ? try SQLPredicate.compile(
          predicate, entity: query.entity, plan: model, dialect: sql.dialect, variables: query.variables,
          now: query.now, key: key)
        : .unrestricted(in: sql.dialect)
    }
    var terms: String?
    if !query.sortKeys.isEmpty, query.storeDecides, condition?.isExact ?? true {
      terms = try SQLPredicate.order(
        by: query.sortKeys, entity: query.entity, plan: model, dialect: sql.dialect)
    }
    self.condition = condition
    self.terms = terms
  }

  package var isExact: Bool { condition?.isExact ?? true }

  package var isSorted: Bool { isExact && (query.sortKeys.isEmpty || terms != nil) }

  package var inexactParts: [String] { condition?.inexactParts ?? [] }

  /// The values of the parameters of ``restriction(excluding:)``.
  package var bindings: [AttributeValue] { condition?.bindings ?? [] }

  // MARK: Parts of statements

  /// The condition for the wanted entities and the predicate; nil for all rows of the table.
  ///
  /// - Parameter exclusion: One more condition, which leaves rows out.
  package func restriction(excluding exclusion: String? = nil) -> String? {
    var parts: [String] = []
    if query.includesSubentities || !entity.isPolymorphic {
      if let subtree = sql.selects[entity.index].condition { parts.append(subtree) }
    } else {
      parts.append("t0._entity = " + SQLText.literal(entity.name))
    }
    if let condition {
      parts.append(parts.isEmpty && exclusion == nil ? condition.sql : "(\(condition.sql))")
    }
    if let exclusion { parts.append(exclusion) }
    return parts.isEmpty ? nil : parts.joined(separator: " AND ")
  }

  /// The WHERE clause of ``restriction(excluding:)``; empty for all rows.
  package func whereClause(excluding exclusion: String? = nil) -> String {
    restriction(excluding: exclusion).map { " WHERE " + $0 } ?? ""
  }

  /// The clause that selects a window of the rows.
  package func clause(of window: StoreWindow) -> String {
    dialect.window(offset: window.offset, limit: window.limit)
  }

  // MARK: Objects with values that the store does not have

  /// Returns the terms of ORDER BY, and the parameters that sort other objects together with the rows: for each object
  /// its key, the name of its entity, and its values for the terms. Returns nil if the values have no form that SQL can
  /// sort.
  package func merging(
    _ others: [(key: FetchedKey, values: [EvaluationValue])]
  ) throws(EvaluationError) -> (terms: [SQLPredicate.OrderTerm], parameters: [AttributeValue])? {
    guard
      let terms = try SQLPredicate.terms(
        of: query.sortKeys, entity: entity, plan: model, dialect: dialect),
      others.count * (terms.count + 2) < 5000
    else { return nil }
    var values: [AttributeValue] = []
    for other in others {
      values += [.int(other.key.key), .string(model.entities[other.key.entity].name)]
      for (value, term) in zip(other.values, terms) {
        switch SQLConstant.form(value, as: term.value.kind, SQLPredicate.noKey, dialect) {
        case .null: values.append(.null)
        case .stored(let stored): values.append(stored)
        case .incomparable, .inexact: return nil
        }
      }
    }
    return (terms, values)
  }

  // MARK: Aggregates

  /// A statement that calculates aggregates.
  package struct AggregateStatement {
    package let text: String
    /// The types of the aggregates, which are the last columns.
    package let types: [StorageType]
  }

  /// Returns the statement that calculates aggregates for each group of rows. Returns nil if SQL has no exact form of one
  /// of them.
  ///
  /// - Parameters:
  ///   - aggregated: The types of the aggregates' key paths.
  ///   - groups: The columns of the groups' values.
  @_optimize(none)
  package func statement(
    for aggregates: [Aggregate], _ aggregated: [ExpressionType?], by groups: FetchedColumns
  ) throws(EvaluationError) -> AggregateStatement? {
    var terms: [String] = []
    var types: [StorageType] = []
    var compiler = SQLCompiler(
      entity: entity, model: model, variables: [:], now: Date(), key: SQLPredicate.noKey, dialect: dialect)
    for (aggregate, type) in zip(aggregates, aggregated) {
      guard let keyPath = aggregate.keyPath else {
        terms.append("count(*)")
        types.append(.int64)
        continue
      }
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(keyPath)),
        value.sql.bindings.isEmpty, dialect.acceptsTerm(value.sql),
        let (term, storageType) = term(aggregate.function, value, type)
      else { return nil }
      terms.append(term)
      types.append(storageType)
    }
    let all = ([groups.sql] + terms).filter { !$0.isEmpty }
    var text =
      "SELECT \(all.isEmpty ? "1" : all.joined(separator: ", ")) FROM \(dialect.table(entity.table)) AS t0"
      + whereClause()
    if groups.count > 0 {
      text +=
        " GROUP BY " + (1...groups.count).map(String.init).joined(separator: ", ") + " ORDER BY min(t0._pk)"
    } else if terms.isEmpty {
      return nil
    }
    return AggregateStatement(text: text, types: types)
  }

  /// Returns an aggregate in SQL, and the type of its result. Returns nil if the evaluator could have a different
  /// result.
  private func term(
    _ function: Aggregate.Function, _ value: SQLValue, _ type: ExpressionType?
  ) -> (String, StorageType)? {
    switch (function, value.kind) {
    case (.count, .opaque): return nil
    case (.count, _): return ("count(\(value.sql.text))", .int64)
    case (.sum, .int): return dialect.sum(value.sql).map { ($0.text, .int64) }
    case (.average, .int(let range)) where range.lowerBound > -(1 << 40) && range.upperBound < 1 << 40:
      return dialect.average(value.sql).map { ($0.text, .double) }
    case (.min, let kind) where kind.isOrdered && kind != .float,
      (.max, let kind) where kind.isOrdered && kind != .float:
      guard case .attribute(let type)? = type, let storageType = StorageType(type, in: model.graph) else {
        return nil
      }
      return (dialect.extreme(function.rawValue, of: value).text, storageType)
    default: return nil
    }
  }
}

extension SQLPredicate {
  /// Returns a lookup that finds the keys of objects of these stores.
  package static func keys(in model: ModelPlan, of stores: StoreSet) -> KeyLookup {
    keys(in: model) { root in stores.store(of: model.entities[root])?.storeID ?? EmptyValue.uuid }
  }
}
