extension FetchRun {
  /// The order of insertion. SQLite has rows in it when it walks over the table, and prefers that to looking for a
  /// range in an index and sorting what it finds. A range is mostly a small part of a table: the `+` keeps it
  /// from seeing the chance. Where a limit is given, the walk may soon be over.
  var insertionOrder: String {
    guard limit == nil, let predicate, !plan.description.indexes.isEmpty || plan.lineage.count > 1 else {
      return "t0._pk"
    }
    return isIndexedRange(predicate) ? "+t0._pk" : "t0._pk"
  }

  /// Whether an index finds the range of a comparison that all wanted objects meet, and none their equality, whose
  /// rows an index has in the right order.
  private func isIndexedRange(_ predicate: FetchPredicate) -> Bool {
    let parts: [FetchPredicate] = if case .and(let parts) = predicate.kind { parts } else { [predicate] }
    var isRange = false
    for part in parts {
      guard case .comparison(let comparison) = part.kind, comparison.modifier == .direct,
        comparison.options.isEmpty, isIndexed(comparison.left) || isIndexed(comparison.right)
      else { continue }
      switch comparison.operator {
      case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .between, .beginsWith:
        isRange = true
      case .equalTo, .in: return false
      default: break
      }
    }
    return isRange
  }

  private func isIndexed(_ expression: ValueExpression) -> Bool {
    guard case .path(let base, let steps) = expression.kind, case .object = base.kind, steps.count == 1,
      case .key(let key) = steps[0]
    else { return false }
    return plan.lineage.contains { place in
      context.model.entities[place].description.indexes.contains { $0.elements.first?.keyPath == key }
    }
  }
}
