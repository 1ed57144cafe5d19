import CDModel

extension SQLCompiler {
  /// Compiles a comparison. Returns nil if SQL has no exact form of it.
  mutating func comparison(
    _ comparison: Comparison, isNegated: Bool
  ) throws(EvaluationError) -> SQLCondition? {
    // A match fails if the pattern needs too many steps.
    if comparison.operator == .matches { mayFail = true }
    if comparison.operator == .matches, case .constant(.value(.string(let pattern))) = comparison.right.kind {
      _ = try RegularExpression.compiled(pattern, comparison.options)
    }
    guard let left = try operand(comparison.left) else { return nil }
    let test = SQLTest(
      operator: comparison.operator, right: comparison.right, options: comparison.options)
    if comparison.modifier == .direct { return try compare(left, test, isNegated: isNegated) }
    // ALL is true if no element fails the comparison.
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
      return SQLCondition(sql: isAll != isNegated ? "NOT \(rows)" : rows)
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
    return join(conditions, isAll != isNegated ? .and : .or)
  }

  func join(_ conditions: [SQLCondition], _ level: SQLCondition.Level) -> SQLCondition {
    switch conditions.count {
    case 0: return constant(level == .and)
    case 1: return conditions[0]
    default:
      let texts = conditions.map { $0.operand(of: level) }
      return SQLCondition(sql: SQLText.joined(texts, level == .and ? " AND " : " OR "), level: level)
    }
  }

  /// Compares a single value with the right side.
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
      return join([first, second], isNegated ? .or : .and)
    case .in:
      if case .aggregate(let elements) = test.right.kind {
        var conditions: [SQLCondition] = []
        for element in elements {
          guard let right = try operand(element),
            let condition = compare(right, .equalTo, left, test.options, isNegated: isNegated)
          else { return nil }
          conditions.append(condition)
        }
        return join(conditions, isNegated ? .and : .or)
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

  /// Compares two single values with an operator that does not accept collections.
  private func compare(
    _ left: SQLOperand, _ comparisonOperator: ComparisonOperator, _ right: SQLOperand,
    _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    switch (left, right) {
    case (.collection, _), (_, .collection): return nil
    case (.constant(let left), .constant(let right)):
      guard let holds = try? Comparer.compare(left, comparisonOperator, right, options, texts)
      else { return nil }
      return constant(holds != isNegated)
    case (.value(let left), .constant(let right)):
      return compare(left, comparisonOperator, constant: right, options, isNegated: isNegated)
    case (.constant(let constant), .value(let value)):
      if let swapped = comparisonOperator.mirrored {
        return compare(value, swapped, constant: constant, options, isNegated: isNegated)
      }
      guard comparisonOperator.isForStrings, value.kind == .string || value.kind == .data else { return nil }
      guard case .stored(let stored) = SQLConstant.form(constant, as: value.kind, key, dialect) else {
        return constant.isNull ? self.constant(isNegated) : nil
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
    let form = SQLConstant.form(constant, as: left.kind, key, dialect)
    if case .null = form {
      switch comparisonOperator {
      case .equalTo, .notEqualTo, .lessThanOrEqualTo, .greaterThanOrEqualTo:
        if !equality, !left.kind.isOrdered { return nil }
        let isNull = (comparisonOperator != .notEqualTo) != isNegated
        return SQLCondition(sql: isNull ? "\(left.sql) IS NULL" : "\(left.sql) IS NOT NULL")
      default: return self.constant(isNegated)
      }
    }
    switch form {
    case .null, .inexact: return nil
    case .incomparable:
      // In memory, other comparisons of values of different types throw an error.
      return equality ? self.constant((comparisonOperator == .notEqualTo) != isNegated) : nil
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
      if !dialect.isComparable(left.kind, right.kind) {
        // SQL cannot compare numbers of these two types exactly. Values of other different types are never equal,
        // unless both are nil.
        if left.kind.isNumber, right.kind.isNumber { return nil }
        if !left.isNullable || !right.isNullable { return constant(!isEqual) }
        let bothNull: SQLText = "(\(left.sql) IS NULL AND \(right.sql) IS NULL)"
        return SQLCondition(sql: isEqual ? bothNull : "NOT \(bothNull)")
      }
      if folds { return foldedEquality(left, right, options, isEqual: isEqual) }
      return SQLCondition(sql: dialect.equality(left, right, isEqual: isEqual))
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      guard dialect.isComparable(left.kind, right.kind), left.kind.isOrdered, right.kind.isOrdered else {
        return nil
      }
      let test: SQLText
      if folds {
        guard let order = dialect.order(left.sql, right.sql, options) else { return nil }
        test = "\(order) \(raw: comparisonOperator.rawValue) 0"
      } else {
        test = "\(dialect.ordered(left)) \(raw: comparisonOperator.rawValue) \(dialect.ordered(right))"
      }
      let takesEqual = comparisonOperator == .lessThanOrEqualTo || comparisonOperator == .greaterThanOrEqualTo
      if takesEqual, left.isNullable, right.isNullable {
        return either("\(test) OR (\(left.sql) IS NULL AND \(right.sql) IS NULL)", isNegated: isNegated)
      }
      return SQLCondition(sql: isNegated ? dialect.isNotTrue(test) : test)
    default:
      guard comparisonOperator.isForStrings else { return nil }
      return textual(left, comparisonOperator, right, options, isNegated: isNegated)
    }
  }

  private func foldedEquality(
    _ left: SQLValue, _ right: SQLValue, _ options: ComparisonOptions, isEqual: Bool
  ) -> SQLCondition? {
    guard let order = dialect.order(left.sql, right.sql, options) else { return nil }
    func equality(_ isEqual: Bool) -> SQLText {
      dialect.equality(
        SQLValue(order, .int(-1...1)), SQLValue("0", .int(0...0), isNullable: false), isEqual: isEqual)
    }
    if left.isNullable, right.isNullable {
      return either(
        "\(equality(true)) OR (\(left.sql) IS NULL AND \(right.sql) IS NULL)", isNegated: !isEqual)
    }
    return SQLCondition(sql: equality(isEqual))
  }

  /// Returns the condition for a text of the form `… OR …`.
  private func either(_ text: SQLText, isNegated: Bool) -> SQLCondition {
    isNegated ? SQLCondition(sql: dialect.isNotTrue(text)) : SQLCondition(sql: text, level: .or)
  }
}

/// The operator, right side and options of a comparison.
private struct SQLTest {
  let `operator`: ComparisonOperator
  let right: ValueExpression
  let options: ComparisonOptions
}

extension ComparisonOperator {
  /// The operator with exchanged sides; nil if there is none.
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
    form == .part || form == .pattern
  }
}

extension ComparisonOptions {
  /// Whether strings are compared under options instead of by code units.
  package var folds: Bool { !isEmpty && !contains(.normalized) }
}

extension SQLCompiler {
  /// Compiles `member IN whole`, or `whole CONTAINS member`.
  private func member(
    _ member: SQLOperand, of whole: SQLOperand, _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    switch (member, whole) {
    case (.collection, _): return nil
    case (_, .constant(let container)):
      switch container {
      case .value(.null): return constant(isNegated)
      case .collection(let elements): return list(member, elements, options, isNegated: isNegated)
      case .dictionary(let elements):
        return list(member, Evaluation.values(of: elements), options, isNegated: isNegated)
      case .value(.string(let text)):
        return part(member, of: SQLValue("\(bind: .string(text))", .string), options, isNegated: isNegated)
      case .value(.data(let data)):
        return part(member, of: SQLValue("\(bind: .data(data))", .data), options, isNegated: isNegated)
      default: return nil
      }
    case (_, .value(let container)):
      guard container.kind == .string || container.kind == .data else { return nil }
      return part(member, of: container, options, isNegated: isNegated)
    case (_, .collection(let collection)):
      let element = SQLOperand.value(collection.value ?? object(collection.element))
      guard let inner = compare(element, .equalTo, member, options, isNegated: false) else { return nil }
      let rows = collection.exists(inner)
      return SQLCondition(sql: isNegated ? "NOT \(rows)" : rows)
    }
  }

  // MARK: Lists

  private func list(
    _ member: SQLOperand, _ elements: [EvaluationValue], _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    guard case .value(let value) = member else {
      guard case .constant(let constant) = member else { return nil }
      let holds = elements.contains { Equality.areEqual($0, constant, options) }
      return self.constant(holds != isNegated)
    }
    if value.kind == .string, options.folds, elements.count > 1 {
      var conditions: [SQLCondition] = []
      for element in elements {
        guard
          let condition = compare(member, .equalTo, .constant(element), options, isNegated: isNegated)
        else { return nil }
        conditions.append(condition)
      }
      // Each condition calls a function. For a long list, the evaluator is as fast.
      return conditions.count > 50 ? nil : join(conditions, isNegated ? .and : .or)
    }
    if elements.count == 1 {
      return compare(member, .equalTo, .constant(elements[0]), options, isNegated: isNegated)
    }
    var hasNull = false
    var stored: [AttributeValue] = []
    for element in elements {
      switch SQLConstant.form(element, as: value.kind, key, dialect) {
      case .null: hasNull = true
      case .stored(let form): stored.append(form)
      case .incomparable: break
      case .inexact: return nil
      }
    }
    return list(value, stored, hasNull: hasNull, isNegated: isNegated)
  }

  private func list(
    _ value: SQLValue, _ stored: [AttributeValue], hasNull: Bool, isNegated: Bool
  ) -> SQLCondition? {
    if stored.isEmpty {
      if !hasNull { return constant(isNegated) }
      return SQLCondition(sql: isNegated ? "\(value.sql) IS NOT NULL" : "\(value.sql) IS NULL")
    }
    let test: SQLText
    if stored.count > 500, let membership = dialect.membership(value.sql, in: stored) {
      test = membership
    } else if stored.count <= dialect.limits.listedValues {
      test = "\(value.sql) IN (\(SQLText.joined(stored.map { "\(bind: $0)" }, ", ")))"
    } else {
      return nil
    }
    if hasNull { return either("\(test) OR \(value.sql) IS NULL", isNegated: isNegated) }
    if !isNegated { return SQLCondition(sql: test) }
    return SQLCondition(sql: value.isNullable ? dialect.isNotTrue(test) : "NOT \(test)")
  }

  // MARK: Parts of strings and data

  private func part(
    _ member: SQLOperand, of whole: SQLValue, _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    switch member {
    case .collection: return nil
    case .constant(let constant):
      switch SQLConstant.form(constant, as: whole.kind, key, dialect) {
      case .null, .incomparable: return self.constant(isNegated)
      case .inexact: return nil
      case .stored(let stored):
        let part = SQLValue("\(bind: stored)", whole.kind, isNullable: false)
        return search(whole, part, .anywhere, options, isNegated: isNegated)
      }
    case .value(let value):
      if value.kind == .opaque { return nil }
      if value.kind != whole.kind { return constant(isNegated) }
      return search(whole, value, .anywhere, options, isNegated: isNegated)
    }
  }

  /// Compiles BEGINSWITH, ENDSWITH and the operators with a pattern.
  private func textual(
    _ left: SQLValue, _ comparisonOperator: ComparisonOperator, _ right: SQLValue,
    _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    guard left.kind == right.kind, left.kind == .string || left.kind == .data else { return nil }
    switch comparisonOperator {
    case .beginsWith: return search(left, right, .start, options, isNegated: isNegated)
    case .endsWith: return search(left, right, .end, options, isNegated: isNegated)
    default:
      guard left.kind == .string else { return nil }
      guard let test = dialect.match(left.sql, comparisonOperator, right.sql, options) else { return nil }
      return SQLCondition(sql: isNegated ? "NOT \(test)" : test)
    }
  }

  private func search(
    _ whole: SQLValue, _ part: SQLValue, _ index: SearchAnchor, _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    guard let test = dialect.search(whole.sql, for: part.sql, index, options) else { return nil }
    if isNegated { return SQLCondition(sql: "NOT \(test)") }
    guard index == .start, options.isEmpty, case .string(let prefix)? = part.sql.bindings.first,
      part.sql.text == "?", let end = Self.end(ofPrefix: prefix)
    else { return SQLCondition(sql: test) }
    // The range allows the use of an index. The test then checks that the prefix does not cut a combining sequence.
    let text = dialect.ordered(whole)
    return SQLCondition(
      sql: "\(text) >= \(bind: .string(prefix)) AND \(text) < \(bind: .string(end)) AND \(test)",
      level: .and)
  }

  /// The least string after all strings that begin with an ASCII prefix. Returns nil for a prefix with other
  /// characters, or with `K`, `;` or the grave accent. These three have a canonical equivalent outside ASCII (the
  /// Kelvin sign, the Greek question mark and the Greek varia), so that an equivalent string may lie outside the range.
  private static func end(ofPrefix prefix: String) -> String? {
    var bytes = Array(prefix.utf8)
    let isPlain = bytes.allSatisfy { byte in
      byte > 0 && byte < 0x7F && byte != UInt8(ascii: "K") && byte != UInt8(ascii: ";")
        && byte != UInt8(ascii: "`")
    }
    guard isPlain, let last = bytes.popLast() else { return nil }
    bytes.append(last + 1)
    return String(decoding: bytes, as: UTF8.self)
  }
}
