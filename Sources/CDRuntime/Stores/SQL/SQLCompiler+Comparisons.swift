import CDModel

extension SQLCompiler {
  /// A comparison; nil where SQL has no exact form of it.
  mutating func comparison(
    _ comparison: Comparison, isNegated: Bool
  ) throws(EvaluationError) -> SQLCondition? {
    // A pattern may take too many steps.
    if comparison.operator == .matches { mayFail = true }
    if comparison.operator == .matches, case .constant(.value(.string(let pattern))) = comparison.right.kind {
      _ = try RegularExpression.compiled(pattern, comparison.options)
    }
    guard let left = try operand(comparison.left) else { return nil }
    let test = SQLTest(
      operator: comparison.operator, right: comparison.right, options: comparison.options)
    if comparison.modifier == .direct { return try compare(left, test, isNegated: isNegated) }
    // ALL is true when there is no element of which the comparison is not.
    let isAll = comparison.modifier == .all
    switch left {
    case .constant(let value):
      guard let elements = try? Evaluation.elements(of: value, for: "ANY") else { return nil }
      return try quantified(elements, test, isAll: isAll, isNegated: isNegated)
    case .collection(let collection):
      guard
        let inner = try compare(
          .value(collection.value ?? object(collection.element)), test, isNegated: isAll)
      else { return nil }
      let rows = collection.exists(inner)
      return SQLCondition(sql: isAll != isNegated ? "NOT \(rows)" : rows, isExact: true)
    case .value: return nil
    }
  }

  private mutating func quantified(
    _ elements: [EvaluationValue], _ test: SQLTest, isAll: Bool, isNegated: Bool
  ) throws(EvaluationError) -> SQLCondition? {
    var conditions: [SQLCondition] = []
    for element in elements {
      guard let condition = try compare(.constant(element), test, isNegated: isNegated) else { return nil }
      conditions.append(condition)
    }
    return Self.join(conditions, isAll != isNegated ? .and : .or)
  }

  static func join(_ conditions: [SQLCondition], _ level: SQLCondition.Level) -> SQLCondition {
    switch conditions.count {
    case 0: return .constant(level == .and)
    case 1: return conditions[0]
    default:
      let texts = conditions.map { $0.operand(of: level) }
      return SQLCondition(
        sql: SQLText.joined(texts, level == .and ? " AND " : " OR "), isExact: true, level: level)
    }
  }

  /// A comparison of one value with the right side.
  private mutating func compare(
    _ left: SQLOperand, _ test: SQLTest, isNegated: Bool
  ) throws(EvaluationError) -> SQLCondition? {
    switch test.operator {
    case .between:
      guard let (lower, upper) = try bounds(test.right) else { return nil }
      guard
        let first = compare(lower, .lessThanOrEqualTo, left, test.options, isNegated: isNegated),
        let second = compare(left, .lessThanOrEqualTo, upper, test.options, isNegated: isNegated)
      else { return nil }
      return Self.join([first, second], isNegated ? .or : .and)
    case .in:
      if case .aggregate(let elements) = test.right.kind {
        var conditions: [SQLCondition] = []
        for element in elements {
          guard let right = try operand(element),
            let condition = compare(right, .equalTo, left, test.options, isNegated: isNegated)
          else { return nil }
          conditions.append(condition)
        }
        return Self.join(conditions, isNegated ? .and : .or)
      }
      guard let right = try operand(test.right) else { return nil }
      return member(left, of: right, test.options, isNegated: isNegated)
    case .contains:
      guard let right = try operand(test.right) else { return nil }
      return member(right, of: left, test.options, isNegated: isNegated)
    default:
      guard let right = try operand(test.right) else { return nil }
      return compare(left, test.operator, right, test.options, isNegated: isNegated)
    }
  }

  private mutating func bounds(
    _ expression: ValueExpression
  ) throws(EvaluationError) -> (SQLOperand, SQLOperand)? {
    if case .aggregate(let elements) = expression.kind, elements.count == 2 {
      guard let lower = try operand(elements[0]), let upper = try operand(elements[1]) else { return nil }
      return (lower, upper)
    }
    guard case .constant(.collection(let elements))? = try operand(expression), elements.count == 2 else {
      return nil
    }
    return (.constant(elements[0]), .constant(elements[1]))
  }

  /// A comparison of two single values by an operator that takes no collection.
  func compare(
    _ left: SQLOperand, _ comparisonOperator: ComparisonOperator, _ right: SQLOperand,
    _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    switch (left, right) {
    case (.collection, _), (_, .collection): return nil
    case (.constant(let left), .constant(let right)):
      guard let holds = try? Comparer.compare(left, comparisonOperator, right, options, texts)
      else { return nil }
      return .constant(holds != isNegated)
    case (.value(let left), .constant(let right)):
      return compare(left, comparisonOperator, constant: right, options, isNegated: isNegated)
    case (.constant(let constant), .value(let value)):
      if let mirrored = comparisonOperator.mirrored {
        return compare(value, mirrored, constant: constant, options, isNegated: isNegated)
      }
      guard comparisonOperator.isForStrings, value.kind == .string || value.kind == .data else { return nil }
      guard case .stored(let stored) = SQLConstant.form(constant, as: value.kind, key) else {
        return constant.isNull ? .constant(isNegated) : nil
      }
      return textual(
        SQLValue("\(bind: stored)", value.kind, isNullable: false), comparisonOperator, value, options,
        isNegated: isNegated)
    case (.value(let left), .value(let right)):
      return compare(left, comparisonOperator, value: right, options, isNegated: isNegated)
    }
  }

  // MARK: With a constant

  private func compare(
    _ left: SQLValue, _ comparisonOperator: ComparisonOperator, constant: EvaluationValue,
    _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    let equality = comparisonOperator == .equalTo || comparisonOperator == .notEqualTo
    let form = SQLConstant.form(constant, as: left.kind, key)
    if case .null = form {
      switch comparisonOperator {
      case .equalTo, .notEqualTo, .lessThanOrEqualTo, .greaterThanOrEqualTo:
        if !equality, !left.kind.isOrdered { return nil }
        let isNull = (comparisonOperator != .notEqualTo) != isNegated
        return SQLCondition(sql: isNull ? "\(left.sql) IS NULL" : "\(left.sql) IS NOT NULL", isExact: true)
      default: return .constant(isNegated)
      }
    }
    switch form {
    case .null, .inexact: return nil
    case .incomparable:
      // Other comparisons of values of different kinds throw, in memory.
      return equality ? .constant((comparisonOperator == .notEqualTo) != isNegated) : nil
    case .stored(let stored):
      return compare(
        left, comparisonOperator, value: SQLValue("\(bind: stored)", left.kind, isNullable: false), options,
        isNegated: isNegated)
    }
  }

  // MARK: Two values

  private func compare(
    _ left: SQLValue, _ comparisonOperator: ComparisonOperator, value right: SQLValue,
    _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    if left.kind == .opaque || right.kind == .opaque { return nil }
    let folds = left.kind == .string && right.kind == .string && options.folds
    switch comparisonOperator {
    case .equalTo, .notEqualTo:
      let isEqual = (comparisonOperator == .equalTo) != isNegated
      if !left.kind.isComparable(with: right.kind) {
        // Numbers of kinds that SQL cannot compare are not known to differ; other kinds are, but for nil.
        if left.kind.isNumber, right.kind.isNumber { return nil }
        if !left.isNullable || !right.isNullable { return .constant(!isEqual) }
        let bothNull: SQLText = "(\(left.sql) IS NULL AND \(right.sql) IS NULL)"
        return SQLCondition(sql: isEqual ? bothNull : "NOT \(bothNull)", isExact: true)
      }
      if folds { return foldedEquality(left, right, options, isEqual: isEqual) }
      return SQLCondition(
        sql: isEqual ? "\(left.sql) IS \(right.sql)" : "\(left.sql) IS NOT \(right.sql)", isExact: true)
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      guard left.kind.isComparable(with: right.kind), left.kind.isOrdered, right.kind.isOrdered else {
        return nil
      }
      let test: SQLText =
        folds
        ? "\(order(left, right, options)) \(raw: comparisonOperator.rawValue) 0"
        : "\(left.sql) \(raw: comparisonOperator.rawValue) \(right.sql)"
      let takesEqual = comparisonOperator == .lessThanOrEqualTo || comparisonOperator == .greaterThanOrEqualTo
      if takesEqual, left.isNullable, right.isNullable {
        let either: SQLText = "\(test) OR (\(left.sql) IS NULL AND \(right.sql) IS NULL)"
        if isNegated { return SQLCondition(sql: "(\(either)) IS NOT 1", isExact: true) }
        return SQLCondition(sql: either, isExact: true, level: .or)
      }
      return SQLCondition(sql: isNegated ? "(\(test)) IS NOT 1" : test, isExact: true)
    case .beginsWith, .endsWith, .like, .matches:
      return textual(left, comparisonOperator, right, options, isNegated: isNegated)
    case .between, .in, .contains, .utiConformsTo, .utiEquals, .tokenMatches: return nil
    }
  }

  private func order(_ left: SQLValue, _ right: SQLValue, _ options: ComparisonOptions) -> SQLText {
    "cdgen_order(\(left.sql), \(right.sql), \(raw: String(options.rawValue)))"
  }

  private func foldedEquality(
    _ left: SQLValue, _ right: SQLValue, _ options: ComparisonOptions, isEqual: Bool
  ) -> SQLCondition {
    let test: SQLText = "\(order(left, right, options)) IS 0"
    if left.isNullable, right.isNullable {
      let either: SQLText = "\(test) OR (\(left.sql) IS NULL AND \(right.sql) IS NULL)"
      return isEqual
        ? SQLCondition(sql: either, isExact: true, level: .or)
        : SQLCondition(sql: "NOT (\(either))", isExact: true)
    }
    return SQLCondition(
      sql: isEqual ? test : "\(order(left, right, options)) IS NOT 0", isExact: true)
  }
}

/// What the left side of a comparison is held against.
struct SQLTest {
  let `operator`: ComparisonOperator
  let right: ValueExpression
  let options: ComparisonOptions
}

extension ComparisonOperator {
  /// The operator with its sides exchanged; nil where there is none.
  fileprivate var mirrored: ComparisonOperator? {
    switch self {
    case .equalTo, .notEqualTo: self
    case .lessThan: .greaterThan
    case .lessThanOrEqualTo: .greaterThanOrEqualTo
    case .greaterThan: .lessThan
    case .greaterThanOrEqualTo: .lessThanOrEqualTo
    default: nil
    }
  }

  fileprivate var isForStrings: Bool {
    switch self {
    case .beginsWith, .endsWith, .like, .matches: true
    default: false
    }
  }
}

extension ComparisonOptions {
  /// Whether strings are not compared by their code units.
  var folds: Bool { !isEmpty && !contains(.normalized) }
}
