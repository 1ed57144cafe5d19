extension CheckerSession {
  mutating func check(_ predicate: FetchPredicate) -> FetchPredicate {
    switch predicate.kind {
    case .constant: return predicate
    case .comparison(let comparison): return check(comparison, predicate)
    case .and(let parts):
      guard let changed = check(parts) else { return predicate }
      return FetchPredicate(kind: .and(changed), span: predicate.span)
    case .or(let parts):
      guard let changed = check(parts) else { return predicate }
      return FetchPredicate(kind: .or(changed), span: predicate.span)
    case .not(let part):
      let checked = check(part)
      return checked == part ? predicate : FetchPredicate(kind: .not(checked), span: predicate.span)
    }
  }

  /// The parts, where one of them changed.
  private mutating func check(_ parts: [FetchPredicate]) -> [FetchPredicate]? {
    var changed: [FetchPredicate]?
    for (number, part) in parts.enumerated() {
      let checked = check(part)
      if changed != nil || checked != part {
        if changed == nil { changed = parts }
        changed?[number] = checked
      }
    }
    return changed
  }

  private mutating func check(_ comparison: Comparison, _ predicate: FetchPredicate) -> FetchPredicate {
    var (left, right) = checkSides(comparison)
    checkOperator(comparison, &left, &right, predicate.span)
    guard left.isChanged || right.isChanged else { return predicate }
    var changed = comparison
    changed.left = left.expression
    changed.right = right.expression
    return FetchPredicate(kind: .comparison(changed), span: predicate.span)
  }

  // MARK: Sides

  /// Checks the side that has a type of its own first; it tells the other, where that is a variable or a
  /// constant, what it is.
  private mutating func checkSides(_ comparison: Comparison) -> (CheckedValue, CheckedValue) {
    let equality = comparison.operator == .equalTo || comparison.operator == .notEqualTo
    if needsContext(comparison.left), !needsContext(comparison.right) || isString(comparison.right) {
      let right = check(comparison.right)
      let wanted = wantedLeft(comparison, right.type)
      let left = check(comparison.left, expecting: wanted, allowsNil: equality && right.isOptional)
      return (left, right)
    }
    let left = check(comparison.left)
    let wanted = wantedRight(comparison, left.type)
    let right = check(comparison.right, expecting: wanted, allowsNil: equality && left.isOptional)
    if left.type == .unknown, case .variable = comparison.left.kind {
      // The right side may have got its type from what it is made of.
      let wanted = wantedLeft(comparison, right.type)
      return (check(comparison.left, expecting: wanted, allowsNil: equality && right.isOptional), right)
    }
    return (left, right)
  }

  /// Whether an expression is a constant or a variable, or made of those alone.
  private func needsContext(_ expression: ValueExpression) -> Bool {
    switch expression.kind {
    case .constant: return true
    case .variable(let name): return scope[name] == nil && !(name == "FETCH_SOURCE" && fetchSource != nil)
    case .aggregate(let elements): return elements.allSatisfy { needsContext($0) }
    default: return false
    }
  }

  private func isString(_ expression: ValueExpression) -> Bool {
    if case .constant(.value(.string)) = expression.kind { true } else { false }
  }

  /// What the right side should be, the left one's type being known.
  private func wantedRight(_ comparison: Comparison, _ left: ExpressionType) -> ExpressionType? {
    let compared = comparison.modifier == .direct ? left : left.element ?? .unknown
    switch comparison.operator {
    case .equalTo, .notEqualTo, .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      return compared
    case .between, .in: return compared == .unknown ? nil : .collection(of: compared)
    case .contains: return compared.element ?? compared
    case .beginsWith, .endsWith: return compared == .attribute(.data) ? compared : .string
    case .like, .matches, .utiConformsTo, .utiEquals: return .string
    }
  }

  /// What the left side should be, the right one's type being known.
  private func wantedLeft(_ comparison: Comparison, _ right: ExpressionType) -> ExpressionType? {
    let compared: ExpressionType?
    switch comparison.operator {
    case .equalTo, .notEqualTo, .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      compared = right
    case .between, .in: compared = right.element ?? (right == .string ? right : nil)
    case .contains:
      compared =
        right == .string || right == .attribute(.data) || right == .unknown ? right : .collection(of: right)
    case .beginsWith, .endsWith: compared = right == .attribute(.data) ? right : .string
    case .like, .matches, .utiConformsTo, .utiEquals: compared = .string
    }
    guard let compared, comparison.modifier != .direct else { return compared }
    return .collection(of: compared)
  }
}
