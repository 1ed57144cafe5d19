import CDModel

extension StepBuilder {
  /// Returns the paths of the stored values for which a filter selects only one value, as `kind == 1` does.
  func fixedPaths(_ filter: FetchPredicate, in entity: String) -> Set<String> {
    switch filter.kind {
    case .and(let parts):
      return parts.reduce(into: []) { $0.formUnion(fixedPaths($1, in: entity)) }
    case .comparison(let comparison):
      return fixedPath(comparison, by: .equalTo, .notEqualTo, in: entity).map { [$0] } ?? []
    case .not(let part):
      guard case .comparison(let comparison) = part.kind else { return [] }
      return fixedPath(comparison, by: .notEqualTo, .equalTo, in: entity).map { [$0] } ?? []
    case .constant, .or: return []
    }
  }

  /// Returns the path of the stored value that a comparison with a constant fixes. A mandatory Boolean has only one value
  /// beside each, so that an inequality fixes it too.
  private func fixedPath(
    _ comparison: Comparison, by equality: ComparisonOperator, _ inequality: ComparisonOperator,
    in entity: String
  ) -> String? {
    // With options, several texts are equal to one.
    guard comparison.modifier == .direct, comparison.options.isEmpty else { return nil }
    let path: ValueExpression
    let constant: ExpressionConstant
    switch (comparison.left.kind, comparison.right.kind) {
    case (.path, .constant(let value)): (path, constant) = (comparison.left, value)
    case (.constant(let value), .path): (path, constant) = (comparison.right, value)
    default: return nil
    }
    guard case .path(let base, let steps) = path.kind, case .object = base.kind,
      case .key(let name)? = steps.first, case .attribute(let attribute)? = source.property(name, of: entity)
    else { return nil }
    if comparison.operator == inequality {
      guard steps.count == 1, attribute.type == .bool, !attribute.isOptional, case .value(.bool) = constant
      else { return nil }
    } else if comparison.operator != equality {
      return nil
    }
    if steps.count == 1 { return name }
    guard steps.count == 2, case .composite = attribute.type, case .key(let field) = steps[1] else {
      return nil
    }
    return "\(name).\(field)"
  }
}
