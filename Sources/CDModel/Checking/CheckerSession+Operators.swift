extension CheckerSession {
  /// Whether an operator has an answer for the types of its sides.
  @inline(never)
  mutating func checkOperator(
    _ comparison: Comparison, _ left: inout CheckedValue, _ right: inout CheckedValue, _ span: SourceSpan?
  ) {
    var compared = left.type
    if comparison.modifier != .direct {
      let word = comparison.modifier == .any ? "ANY" : "ALL"
      switch left.type {
      case .collection(let element): compared = element
      case .unknown, .null: return
      default:
        return error(
          left.expression.span,
          "\(word) is for many values, and '\(left.expression)' is one \(left.type)")
      }
    }
    let comparisonOperator = comparison.operator
    switch comparisonOperator {
    case .equalTo, .notEqualTo: checkEquality(compared, left, right, span)
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      checkOrder(comparisonOperator, compared, right.type, left, right, span)
    case .between: checkBetween(compared, left, right, span)
    case .in: checkMembership(compared, left, in: right.type, right, comparisonOperator)
    case .contains: checkMembership(right.type, right, in: compared, left, comparisonOperator)
    case .beginsWith, .endsWith: checkSubstring(comparisonOperator, compared, left, right)
    case .like, .matches: checkPattern(comparisonOperator, compared, left, right)
    case .utiConformsTo, .utiEquals:
      error(span, "\(comparisonOperator.rawValue) needs a table of type identifiers, which cdgen has not")
    case .tokenMatches:
      error(span, "TOKENMATCHES needs a search index, which cdgen has not: write CONTAINS or MATCHES")
    }
  }

  private func category(_ type: ExpressionType) -> TypeRules.Category {
    TypeRules.category(type, in: graph)
  }

  /// A value in words: a literal as it is written, others with their type.
  private func words(_ value: CheckedValue, _ type: ExpressionType) -> String {
    if case .constant = value.expression.kind {
      let text = value.expression.canonicalText
      return text.utf8.count <= 40 ? text : "a \(type) constant"
    }
    return "'\(value.expression)' (\(type))"
  }

  /// A to-many relationship where one value is wanted. True if it was one, and reported.
  private mutating func refuseCollection(_ type: ExpressionType, _ value: CheckedValue, isLeft: Bool = true)
    -> Bool
  {
    guard case .collection = type else { return false }
    let remedy =
      isLeft
      ? "write ANY, ALL or NONE before it, or @count and the like behind it"
      : "write @count and the like behind it"
    error(value.expression.span, "'\(value.expression)' is many values, where one is compared: \(remedy)")
    return true
  }

  // MARK: Equality and order

  @inline(never)
  private mutating func checkEquality(
    _ compared: ExpressionType, _ left: CheckedValue, _ right: CheckedValue, _ span: SourceSpan?
  ) {
    let (first, second) = (category(compared), category(right.type))
    switch (first, second) {
    case (.collection, .collection): return
    case (.any, .any): return
    case (.codable, .any), (.any, .codable):
      if compared == .null || right.type == .null || compared == .unknown || right.type == .unknown { return }
    case (.codable, _), (_, .codable):
      let (value, type) = first == .codable ? (left, compared) : (right, right.type)
      return error(
        value.expression.span,
        "\(words(value, type)) is a codable value, which can be compared with nil alone")
    default: break
    }
    if compared == .unknown || right.type == .unknown { return }
    if refuseCollection(compared, left) || refuseCollection(right.type, right, isLeft: false) { return }
    if first == .any || second == .any { return }
    var isSame = first == second
    if case (.object(let one), .object(let other)) = (compared, right.type) {
      isSame = graph.isKind(one, of: other) || graph.isKind(other, of: one)
    }
    // A composite constant has no name to compare.
    if case (.composite, .composite) = (first, second) { isSame = true }
    if !isSame {
      mistake(span, "\(words(left, compared)) is never equal to \(words(right, right.type))")
    }
  }

  @inline(never)
  private mutating func checkOrder(
    _ comparisonOperator: ComparisonOperator, _ compared: ExpressionType, _ other: ExpressionType,
    _ left: CheckedValue, _ right: CheckedValue, _ span: SourceSpan?
  ) {
    if compared == .unknown || other == .unknown { return }
    if refuseCollection(compared, left) || refuseCollection(other, right, isLeft: false) { return }
    let (first, second) = (category(compared), category(other))
    for (category, value, type) in [(first, left, compared), (second, right, other)]
    where !TypeRules.isOrdered(category) {
      return error(
        value.expression.span, "\(words(value, type)) has no order for \(comparisonOperator.rawValue)")
    }
    if first != second, first != .any, second != .any {
      error(span, "\(words(left, compared)) cannot be ordered against \(words(right, other))")
    }
  }

  @inline(never)
  private mutating func checkBetween(
    _ compared: ExpressionType, _ left: CheckedValue, _ right: CheckedValue, _ span: SourceSpan?
  ) {
    switch right.expression.kind {
    case .constant(.array(let bounds)) where bounds.count != 2:
      return error(right.expression.span, "BETWEEN takes two bounds, not \(bounds.count)")
    case .aggregate(let bounds) where bounds.count != 2:
      return error(right.expression.span, "BETWEEN takes two bounds, not \(bounds.count)")
    default: break
    }
    switch right.type {
    case .collection(let bound): checkOrder(.between, compared, bound, left, right, span)
    case .unknown, .null: return
    default:
      error(
        right.expression.span, "BETWEEN takes an array of two bounds, and \(words(right, right.type)) is none"
      )
    }
  }

  // MARK: Membership

  @inline(never)
  private mutating func checkMembership(
    _ member: ExpressionType, _ memberValue: CheckedValue, in whole: ExpressionType,
    _ wholeValue: CheckedValue,
    _ comparisonOperator: ComparisonOperator
  ) {
    let word = comparisonOperator.rawValue
    switch whole {
    case .collection(let element):
      // A collection in a collection of collections is rare and right; in one of values it is a slip.
      if case .collection = member, !element.isCollection, element != .unknown {
        return error(
          memberValue.expression.span,
          "'\(memberValue.expression)' is many values, where \(word) looks for one: write ANY, ALL or NONE before it"
        )
      }
      checkElements(member, memberValue, wholeValue, element, word)
    case .unknown, .null, .dictionary: return
    default:
      let (first, second) = (category(member), category(whole))
      if second == .string || second == .data {
        if first == second || first == .any { return }
        return mistake(
          memberValue.expression.span,
          "\(words(memberValue, member)) is never a part of \(words(wholeValue, whole))")
      }
      error(
        wholeValue.expression.span,
        "\(word) looks in many values or in a string, and \(words(wholeValue, whole)) is neither")
    }
  }

  /// Elements that the member can never be equal to.
  @inline(never)
  private mutating func checkElements(
    _ member: ExpressionType, _ memberValue: CheckedValue, _ whole: CheckedValue, _ element: ExpressionType,
    _ word: String
  ) {
    let wanted = category(member)
    guard wanted != .any, element != member || wanted == .codable else { return }
    if wanted == .codable {
      return error(
        memberValue.expression.span,
        "\(words(memberValue, member)) is a codable value, which can be compared with nil alone")
    }
    if case .constant(.array(let constants)) = whole.expression.kind {
      for constant in constants {
        let category = category(ConstantTypes.type(of: constant))
        if category != .any, category != wanted {
          mistake(whole.expression.span, "\(words(memberValue, member)) is never equal to \(constant)")
        }
      }
      return
    }
    let found = category(element)
    var isSame = found == wanted || found == .any
    if case (.object(let one), .object(let other)) = (member, element) {
      isSame = graph.isKind(one, of: other) || graph.isKind(other, of: one)
    }
    if !isSame {
      mistake(
        memberValue.expression.span,
        "\(words(memberValue, member)) is never one of \(words(whole, .collection(of: element)))")
    }
  }

  // MARK: Strings

  @inline(never)
  private mutating func checkSubstring(
    _ comparisonOperator: ComparisonOperator, _ compared: ExpressionType, _ left: CheckedValue,
    _ right: CheckedValue
  ) {
    if refuseCollection(compared, left) || refuseCollection(right.type, right, isLeft: false) { return }
    let (first, second) = (category(compared), category(right.type))
    for (category, value, type) in [(first, left, compared), (second, right, right.type)]
    where category != .string && category != .data && category != .any {
      error(
        value.expression.span,
        "\(comparisonOperator.rawValue) is for strings and data, and \(words(value, type)) is neither")
      return
    }
    if first != second, first != .any, second != .any {
      error(
        left.expression.span, "\(words(left, compared)) cannot begin or end with \(words(right, right.type))")
    }
  }

  @inline(never)
  private mutating func checkPattern(
    _ comparisonOperator: ComparisonOperator, _ compared: ExpressionType, _ left: CheckedValue,
    _ right: CheckedValue
  ) {
    if refuseCollection(compared, left) || refuseCollection(right.type, right, isLeft: false) { return }
    for (value, type) in [(left, compared), (right, right.type)] {
      let category = category(type)
      if category != .string, category != .any {
        error(
          value.expression.span,
          "\(comparisonOperator.rawValue) is for strings, and \(words(value, type)) is none")
      }
    }
    if comparisonOperator == .matches, case .constant(.value(.string(let pattern))) = right.expression.kind,
      let problem = PatternSyntax.problem(in: pattern)
    {
      error(right.expression.span, "bad regular expression \(right.expression): \(problem)")
    }
  }
}
