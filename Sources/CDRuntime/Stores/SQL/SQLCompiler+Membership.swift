import CDModel

extension SQLCompiler {
  /// `member IN whole`, or CONTAINS the other way round.
  func member(
    _ member: SQLOperand, of whole: SQLOperand, _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    switch (member, whole) {
    case (.collection, _): return nil
    case (_, .constant(let container)):
      switch container {
      case .value(.null): return .constant(isNegated)
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
      return SQLCondition(sql: isNegated ? "NOT \(rows)" : rows, isExact: true)
    }
  }

  // MARK: Lists

  private func list(
    _ member: SQLOperand, _ elements: [EvaluationValue], _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    guard case .value(let value) = member else {
      guard case .constant(let constant) = member else { return nil }
      let holds = elements.contains { Equality.areEqual($0, constant, options) }
      return .constant(holds != isNegated)
    }
    if value.kind == .string, options.folds, elements.count > 1 {
      var conditions: [SQLCondition] = []
      for element in elements {
        guard
          let condition = compare(member, .equalTo, .constant(element), options, isNegated: isNegated)
        else { return nil }
        conditions.append(condition)
      }
      // Each is a call of a function: beyond a few, the evaluator is no slower.
      return conditions.count > 50 ? nil : Self.join(conditions, isNegated ? .and : .or)
    }
    if elements.count == 1 {
      return compare(member, .equalTo, .constant(elements[0]), options, isNegated: isNegated)
    }
    var hasNull = false
    var stored: [AttributeValue] = []
    for element in elements {
      switch SQLConstant.form(element, as: value.kind, key) {
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
      if !hasNull { return .constant(isNegated) }
      return SQLCondition(
        sql: isNegated ? "\(value.sql) IS NOT NULL" : "\(value.sql) IS NULL", isExact: true)
    }
    let values: SQLText
    if stored.count > 500, let array = SQLArray.json(stored) {
      values = "SELECT value FROM json_each(\(bind: .string(array)))"
    } else if stored.count <= 20_000 {
      values = SQLText.joined(stored.map { "\(bind: $0)" }, ", ")
    } else {
      return nil
    }
    let test: SQLText = "\(value.sql) IN (\(values))"
    if hasNull {
      let either: SQLText = "\(test) OR \(value.sql) IS NULL"
      if isNegated { return SQLCondition(sql: "(\(either)) IS NOT 1", isExact: true) }
      return SQLCondition(sql: either, isExact: true, level: .or)
    }
    if !isNegated { return SQLCondition(sql: test, isExact: true) }
    return SQLCondition(
      sql: value.isNullable ? "(\(test)) IS NOT 1" : "NOT \(test)", isExact: true)
  }

  // MARK: Parts of strings and data

  private func part(
    _ member: SQLOperand, of whole: SQLValue, _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    switch member {
    case .collection: return nil
    case .constant(let constant):
      switch SQLConstant.form(constant, as: whole.kind, key) {
      case .null, .incomparable: return .constant(isNegated)
      case .inexact: return nil
      case .stored(let stored):
        let part = SQLValue("\(bind: stored)", whole.kind, isNullable: false)
        return search(whole, part, .anywhere, options, isNegated: isNegated)
      }
    case .value(let value):
      if value.kind == .opaque { return nil }
      if value.kind != whole.kind { return .constant(isNegated) }
      return search(whole, value, .anywhere, options, isNegated: isNegated)
    }
  }

  /// BEGINSWITH, ENDSWITH, LIKE and MATCHES.
  func textual(
    _ left: SQLValue, _ comparisonOperator: ComparisonOperator, _ right: SQLValue,
    _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition? {
    guard left.kind == right.kind, left.kind == .string || left.kind == .data else { return nil }
    switch comparisonOperator {
    case .beginsWith: return search(left, right, .start, options, isNegated: isNegated)
    case .endsWith: return search(left, right, .end, options, isNegated: isNegated)
    default:
      guard left.kind == .string else { return nil }
      let name = comparisonOperator == .like ? "cdgen_like" : "cdgen_matches"
      let test: SQLText =
        "\(raw: name)(\(left.sql), \(right.sql), \(raw: String(options.rawValue)))"
      return SQLCondition(sql: isNegated ? "NOT \(test)" : test, isExact: true)
    }
  }

  private func search(
    _ whole: SQLValue, _ part: SQLValue, _ place: SearchPlace, _ options: ComparisonOptions, isNegated: Bool
  ) -> SQLCondition {
    let test: SQLText =
      "cdgen_search(\(whole.sql), \(part.sql), \(raw: String(place.rawValue)), \(raw: String(options.rawValue)))"
    if isNegated { return SQLCondition(sql: "NOT \(test)", isExact: true) }
    guard place == .start, options.isEmpty, case .string(let prefix)? = part.sql.bindings.first,
      part.sql.text == "?", let end = Self.end(ofPrefix: prefix)
    else { return SQLCondition(sql: test, isExact: true) }
    // The range lets SQLite use an index; the function looks whether a combining sequence is cut.
    return SQLCondition(
      sql: "\(whole.sql) >= \(bind: .string(prefix)) AND \(whole.sql) < \(bind: .string(end)) AND \(test)",
      isExact: true, level: .and)
  }

  /// The least string behind all that begin with a prefix of ASCII; nil for other prefixes, which canonically
  /// equivalent strings may begin with that lie elsewhere: those with the Kelvin sign, the Greek question
  /// mark and the oxia have an ASCII letter as their equivalent.
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

/// Long lists as one parameter.
enum SQLArray {
  /// The JSON of integers or of strings; nil for lists of which JSON would not give the same values back.
  static func json(_ values: [AttributeValue]) -> String? {
    var parts: [String] = []
    parts.reserveCapacity(values.count)
    for value in values {
      switch value {
      case .int(let number): parts.append(String(number))
      case .string(let text):
        // SQLite's JSON ends a string at a NUL.
        if text.utf8.contains(0) { return nil }
        parts.append(quoted(text))
      default: return nil
      }
    }
    return "[" + parts.joined(separator: ",") + "]"
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\u{1}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
