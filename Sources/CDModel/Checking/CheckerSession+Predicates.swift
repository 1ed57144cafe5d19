extension CheckerSession {
  /// Checks a predicate. The result is nil where it stays as it is.
  @inline(never)
  mutating func check(_ predicate: FetchPredicate) -> FetchPredicate? {
    switch predicate.kind {
    case .constant: return nil
    case .comparison: return checkComparison(predicate)
    case .and, .or: return checkCompound(predicate)
    case .not(let part):
      return check(part).map { FetchPredicate(kind: .not($0), span: predicate.span) }
    }
  }

  @inline(never)
  private mutating func checkCompound(_ predicate: FetchPredicate) -> FetchPredicate? {
    switch predicate.kind {
    case .and(let parts):
      return checkAll(parts).map { FetchPredicate(kind: .and($0), span: predicate.span) }
    case .or(let parts):
      return checkAll(parts).map { FetchPredicate(kind: .or($0), span: predicate.span) }
    default: return nil
    }
  }

  @inline(never)
  private mutating func checkAll(_ parts: [FetchPredicate]) -> [FetchPredicate]? {
    var changed: [FetchPredicate]?
    for (number, part) in parts.enumerated() {
      guard let new = check(part) else { continue }
      if changed == nil { changed = parts }
      changed?[number] = new
    }
    return changed
  }

  @inline(never)
  private mutating func checkComparison(_ predicate: FetchPredicate) -> FetchPredicate? {
    guard case .comparison(let comparison) = predicate.kind else { return nil }
    var (left, right) = checkSides(comparison)
    checkOperator(comparison, &left, &right, predicate.span)
    guard left.isChanged || right.isChanged else { return nil }
    var changed = comparison
    changed.left = left.expression
    changed.right = right.expression
    return FetchPredicate(kind: .comparison(changed), span: predicate.span)
  }

  // MARK: Sides

  /// Checks the side that has a type of its own first; it tells the other, where that is a variable or a
  /// constant, what it is.
  @inline(never)
  private mutating func checkSides(_ comparison: Comparison) -> (CheckedValue, CheckedValue) {
    if needsContext(comparison.left), !needsContext(comparison.right) || isString(comparison.right) {
      let right = check(comparison.right)
      return (checkLeft(comparison, right), right)
    }
    let left = check(comparison.left)
    let right = checkRight(comparison, left)
    // The right side may have got its type from what it is made of.
    if left.type == .unknown, case .variable = comparison.left.kind {
      return (checkLeft(comparison, right), right)
    }
    return (left, right)
  }

  @inline(never)
  private mutating func checkLeft(_ comparison: Comparison, _ right: CheckedValue) -> CheckedValue {
    check(
      comparison.left, expecting: wantedLeft(comparison, right.type),
      allowsNil: comparison.isEquality && right.isOptional)
  }

  @inline(never)
  private mutating func checkRight(_ comparison: Comparison, _ left: CheckedValue) -> CheckedValue {
    check(
      comparison.right, expecting: wantedRight(comparison, left.type),
      allowsNil: comparison.isEquality && left.isOptional)
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
    case .like, .matches, .utiConformsTo, .utiEquals, .tokenMatches: return .string
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
    case .like, .matches, .utiConformsTo, .utiEquals, .tokenMatches: compared = .string
    }
    guard let compared, comparison.modifier != .direct else { return compared }
    return .collection(of: compared)
  }
}

extension Comparison {
  /// Whether nil is equal to nil here: the comparison is `==` or `!=`.
  fileprivate var isEquality: Bool { self.operator == .equalTo || self.operator == .notEqualTo }
}
