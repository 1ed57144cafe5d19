import CDModel

/// Decides whether the filters of several mappings together select every object of a source entity.
///
/// Filters are compared as they are written. They are known to be complete if one of them selects what the others leave
/// out, such as `kind == 1` and `kind != 1`, or `size > 5` and `NOT size > 5`. An order comparison is false for nil. So
/// `size > 5` and `size <= 5` are complete only if the size is never nil.
struct FilterCoverage {
  private let entity: String
  private let source: EntityGraph

  init(of entity: String, in source: EntityGraph) {
    self.entity = entity
    self.source = source
  }

  /// Whether each object meets at least one of the filters. A mapping without a filter selects all objects. Each mapping
  /// evaluates its own random numbers, so that a filter with one says nothing about the others.
  func isComplete(_ filters: [FetchPredicate?]) -> Bool {
    var known: Set<FetchPredicate> = []
    for filter in filters {
      guard let filter else { return true }
      if filter.isRandom { continue }
      known.insert(filter)
      if case .or(let parts) = filter.kind { known.formUnion(parts) }
    }
    return known.contains { selectOthers(than: $0, known) }
  }

  /// Whether filters select all objects that do not meet a predicate.
  private func selectOthers(than predicate: FetchPredicate, _ filters: Set<FetchPredicate>) -> Bool {
    if filters.contains(.not(predicate)) { return true }
    switch predicate.kind {
    case .constant(let holds): return holds
    case .and(let parts): return parts.allSatisfy { selectOthers(than: $0, filters) }
    case .or: return false
    case .not(let part):
      guard case .or(let parts) = part.kind else { return false }
      return parts.allSatisfy { filters.contains($0) }
    case .comparison(let comparison):
      return opposite(of: comparison).map { filters.contains($0) } ?? false
    }
  }

  /// Returns a comparison that is true exactly if another one is false; nil if no operator says so.
  private func opposite(of comparison: Comparison) -> FetchPredicate? {
    guard comparison.modifier == .direct else { return nil }
    let opposite: ComparisonOperator
    switch comparison.operator {
    case .equalTo: opposite = .notEqualTo
    case .notEqualTo: opposite = .equalTo
    case .lessThan: opposite = .greaterThanOrEqualTo
    case .lessThanOrEqualTo: opposite = .greaterThan
    case .greaterThan: opposite = .lessThanOrEqualTo
    case .greaterThanOrEqualTo: opposite = .lessThan
    default: return nil
    }
    let isEquality = opposite == .equalTo || opposite == .notEqualTo
    guard isEquality || haveOrder(comparison.left, comparison.right) else { return nil }
    return FetchPredicate(comparison.left, opposite, comparison.right, options: comparison.options)
  }

  /// Whether a value is an attribute that has an order with a constant in every object: it is never nil, and has no NaN.
  private func haveOrder(_ value: ValueExpression, _ bound: ValueExpression) -> Bool {
    guard let key = value.onlyKey, case .attribute(let attribute)? = source.property(key, of: entity),
      !attribute.isOptional
    else { return false }
    switch (TypeRules.rawType(attribute.type, in: source), bound.kind) {
    case (.int16, .constant(.value(.int))), (.int32, .constant(.value(.int))),
      (.int64, .constant(.value(.int))), (.string, .constant(.value(.string))):
      return true
    default: return false
    }
  }
}
