import CDModel

extension Evaluation {
  mutating func holds(_ comparison: Comparison) throws(EvaluationError) -> Bool {
    let comparisonOperator = comparison.operator
    let left = try value(comparison.left)
    if comparison.modifier == .direct, comparisonOperator == .in,
      case .constant(.array(let constants)) = comparison.right.kind
    {
      if constants.count > ConstantSets.minimumCount, comparison.options.isEmpty,
        case .value(let member) = left,
        let isMember = sets.contains(member, in: constants)
      {
        return isMember
      }
      // Long lists are not copied for every object.
      for constant in constants
      where Equality.areEqual(EvaluationValue(constant), left, comparison.options) { return true }
      return false
    }
    let right = try value(comparison.right)
    switch comparison.modifier {
    case .direct:
      return try Comparer.compare(left, comparisonOperator, right, comparison.options, sets.texts)
    case .any:
      for element in try Self.elements(of: left, for: "ANY")
      where try Comparer.compare(element, comparisonOperator, right, comparison.options, sets.texts) {
        return true
      }
      return false
    case .all:
      for element in try Self.elements(of: left, for: "ALL")
      where try !Comparer.compare(element, comparisonOperator, right, comparison.options, sets.texts) {
        return false
      }
      return true
    }
  }
}

/// Comparison of two values by an operator.
enum Comparer {
  static func compare(
    _ left: EvaluationValue, _ comparisonOperator: ComparisonOperator, _ right: EvaluationValue,
    _ options: ComparisonOptions, _ texts: PreparedTexts
  ) throws(EvaluationError) -> Bool {
    switch comparisonOperator {
    case .equalTo: return Equality.areEqual(left, right, options)
    case .notEqualTo: return !Equality.areEqual(left, right, options)
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      return try isOrdered(left, comparisonOperator, right, options)
    case .between:
      let bounds: [EvaluationValue]
      switch right {
      case .collection(let elements): bounds = elements
      case .value(.null): return false
      default: throw .wrongOperand(operation: "BETWEEN", found: right.kindName)
      }
      guard bounds.count == 2 else { throw .wrongBounds(count: bounds.count) }
      guard try isOrdered(bounds[0], .lessThanOrEqualTo, left, options) else { return false }
      return try isOrdered(left, .lessThanOrEqualTo, bounds[1], options)
    case .in: return try isMember(left, of: right, comparisonOperator, options, texts)
    case .contains: return try isMember(right, of: left, comparisonOperator, options, texts)
    case .beginsWith: return try isPart(right, of: left, .start, comparisonOperator, options, texts)
    case .endsWith: return try isPart(right, of: left, .end, comparisonOperator, options, texts)
    case .like:
      guard let (text, pattern) = try strings(left, right, comparisonOperator) else { return false }
      return texts.like(pattern, options).matches(text)
    case .matches:
      guard let (text, pattern) = try strings(left, right, comparisonOperator) else { return false }
      return try texts.expression(pattern, options).matches(text)
    case .utiConformsTo, .utiEquals, .tokenMatches: throw .unsupported(comparisonOperator.rawValue)
    }
  }

  // MARK: Order

  private static func isOrdered(
    _ left: EvaluationValue, _ comparisonOperator: ComparisonOperator, _ right: EvaluationValue,
    _ options: ComparisonOptions
  ) throws(EvaluationError) -> Bool {
    guard let order = try order(left, comparisonOperator, right, options) else { return false }
    return switch comparisonOperator {
    case .lessThan: order < 0
    case .lessThanOrEqualTo: order <= 0
    case .greaterThan: order > 0
    default: order >= 0
    }
  }

  /// The order of two values: 0 for nil and nil; nil, which no comparison is true of, where one of them is
  /// nil or NaN.
  private static func order(
    _ left: EvaluationValue, _ comparisonOperator: ComparisonOperator, _ right: EvaluationValue,
    _ options: ComparisonOptions
  ) throws(EvaluationError) -> Int? {
    switch (left, right) {
    case (.value(.null), .value(.null)): return 0
    case (.value(.null), _), (_, .value(.null)): return nil
    case (.value(.string(let left)), .value(.string(let right))):
      return TextComparison.order(left, right, options)
    case (.value(.date(let left)), .value(.date(let right))):
      return left < right ? -1 : left == right ? 0 : 1
    default:
      guard let first = Number(left), let second = Number(right) else {
        throw .incomparable(
          operator: comparisonOperator.rawValue, left: left.kindName, right: right.kindName)
      }
      return Number.order(first, second)
    }
  }

  // MARK: Membership and parts

  private static func isMember(
    _ member: EvaluationValue, of whole: EvaluationValue, _ comparisonOperator: ComparisonOperator,
    _ options: ComparisonOptions, _ texts: PreparedTexts
  ) throws(EvaluationError) -> Bool {
    switch whole {
    case .value(.null): return false
    case .collection(let elements): return elements.contains { Equality.areEqual($0, member, options) }
    case .dictionary(let elements):
      return elements.values.contains { Equality.areEqual($0, member, options) }
    case .value(.string(let text)):
      guard case .value(.string(let part)) = member else { return false }
      return texts.search(part, options).isFound(in: text, at: .anywhere)
    case .value(.data(let data)):
      guard case .value(.data(let part)) = member else { return false }
      return CodeUnits.contains(Array(data), Array(part), .anywhere)
    default: throw .wrongOperand(operation: comparisonOperator.rawValue, found: whole.kindName)
    }
  }

  private static func isPart(
    _ part: EvaluationValue, of whole: EvaluationValue, _ place: SearchPlace,
    _ comparisonOperator: ComparisonOperator, _ options: ComparisonOptions, _ texts: PreparedTexts
  ) throws(EvaluationError) -> Bool {
    switch (whole, part) {
    case (.value(.null), _), (_, .value(.null)): return false
    case (.value(.string(let text)), .value(.string(let part))):
      return texts.search(part, options).isFound(in: text, at: place)
    case (.value(.data(let data)), .value(.data(let part))):
      return CodeUnits.contains(Array(data), Array(part), place)
    default:
      throw .incomparable(operator: comparisonOperator.rawValue, left: whole.kindName, right: part.kindName)
    }
  }

  /// Two strings; nil where one of the values is nil.
  private static func strings(
    _ left: EvaluationValue, _ right: EvaluationValue, _ comparisonOperator: ComparisonOperator
  ) throws(EvaluationError) -> (String, String)? {
    switch (left, right) {
    case (.value(.null), _), (_, .value(.null)): return nil
    case (.value(.string(let left)), .value(.string(let right))): return (left, right)
    default:
      throw .incomparable(operator: comparisonOperator.rawValue, left: left.kindName, right: right.kindName)
    }
  }
}
