extension FetchPredicate: CustomStringConvertible {
  /// The predicate as canonical text: `==` and `AND` in place of their aliases, words in upper case, double quotes, and
  /// parentheses around nested compounds and operators. Reading the text gives an equal predicate.
  public var canonicalText: String {
    var writer = CanonicalWriter()
    writer.write(self)
    return writer.text
  }

  /// The canonical text.
  public var description: String { canonicalText }
}

extension ValueExpression: CustomStringConvertible {
  /// The expression as canonical text, by the rules of ``FetchPredicate/canonicalText``. Reading the text gives an
  /// equal expression.
  public var canonicalText: String {
    var writer = CanonicalWriter()
    writer.write(self)
    return writer.text
  }

  /// The canonical text.
  public var description: String { canonicalText }
}

extension ExpressionConstant: CustomStringConvertible {
  /// The constant in canonical text.
  public var description: String {
    var writer = CanonicalWriter()
    writer.write(self)
    return writer.text
  }
}

/// Writes canonical text.
struct CanonicalWriter {
  var text = ""

  // MARK: Predicates

  mutating func write(_ predicate: FetchPredicate) {
    switch predicate.kind {
    case .constant(let holds): text += holds ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let comparison): write(comparison)
    case .and(let parts): write(parts, " AND ")
    case .or(let parts): write(parts, " OR ")
    case .not(let part):
      text += "NOT "
      writePart(part)
    }
  }

  @_optimize(none)
  private mutating func write(_ parts: [FetchPredicate], _ separator: String) {
    for (number, part) in parts.enumerated() {
      if number > 0 { text += separator }
      writePart(part)
    }
  }

  private mutating func writePart(_ part: FetchPredicate) {
    switch part.kind {
    case .and, .or:
      text += "("
      write(part)
      text += ")"
    case .constant, .comparison, .not: write(part)
    }
  }

  private mutating func write(_ comparison: Comparison) {
    switch comparison.modifier {
    case .direct: break
    case .any: text += "ANY "
    case .all: text += "ALL "
    }
    write(comparison.left)
    text += " " + comparison.operator.rawValue + comparison.options.canonicalText + " "
    write(comparison.right)
  }

  // MARK: Values

  @_optimize(none)
  mutating func write(_ value: ValueExpression) {
    switch value.kind {
    case .constant(let constant): write(constant)
    case .object: text += "SELF"
    case .anyKey: text += "ANYKEY"
    case .variable(let name): text += "$" + name
    case .path(let base, let steps): writePath(base, steps)
    case .aggregate(let elements):
      text += "{"
      writeList(elements)
      text += "}"
    case .negated(let operand): writeNegated(operand)
    case .bitwiseComplement(let operand):
      text += "~"
      writeOperand(operand)
    case .operation(let first, let terms): writeOperation(first, terms)
    case .coalesced(let values):
      for (number, value) in values.enumerated() {
        if number > 0 { text += " ?? " }
        writeOperand(value)
      }
    case .assignment(let variable, let assigned):
      text += "$" + variable + " := "
      if case .assignment = assigned.kind { writeInParentheses(assigned) } else { write(assigned) }
    default: writeCall(value.kind)
    }
  }

  @_optimize(none)
  private mutating func writeCall(_ kind: ValueExpression.Kind) {
    switch kind {
    case .function(let function, let arguments): writeCall(function.rawValue, arguments)
    case .unknownFunction(let name, let arguments): writeCall(name, arguments)
    case .invocation(let target, let selector, let arguments):
      text += "FUNCTION("
      write(target)
      text += ", "
      writeQuoted(selector)
      for argument in arguments {
        text += ", "
        write(argument)
      }
      text += ")"
    case .cast(let value, let type, let otherwise):
      text += "CAST("
      write(value)
      text += ", "
      writeQuoted(type.name)
      if let otherwise {
        text += ", "
        write(otherwise)
      }
      text += ")"
    case .ternary(let condition, let yes, let no):
      text += "TERNARY("
      write(condition)
      text += ", "
      writeList([yes, no])
      text += ")"
    case .subquery(let collection, let variable, let condition):
      text += "SUBQUERY("
      write(collection)
      text += ", $" + variable + ", "
      write(condition)
      text += ")"
    default: break
    }
  }

  private mutating func writeCall(_ name: String, _ arguments: [ValueExpression]) {
    text += name + "("
    writeList(arguments)
    text += ")"
  }

  @_optimize(none)
  private mutating func writeList(_ values: [ValueExpression]) {
    for (number, value) in values.enumerated() {
      if number > 0 { text += ", " }
      write(value)
    }
  }

  private mutating func writeInParentheses(_ value: ValueExpression) {
    text += "("
    write(value)
    text += ")"
  }

  /// Writes an operand of an operator, in parentheses if it contains an operator itself.
  private mutating func writeOperand(_ value: ValueExpression) {
    switch value.kind {
    case .operation, .coalesced, .assignment: writeInParentheses(value)
    default: write(value)
    }
  }

  private mutating func writeNegated(_ operand: ValueExpression) {
    text += "-"
    // Without parentheses, the reader would take the minus sign as part of the number.
    if case .constant(.value(let value)) = operand.kind, Self.isPositiveNumber(value) {
      writeInParentheses(operand)
    } else {
      writeOperand(operand)
    }
  }

  /// Writes `(a + b) - c`: each operation that is applied earlier is in parentheses.
  @_optimize(none)
  private mutating func writeOperation(_ first: ValueExpression, _ terms: [OperationTerm]) {
    text += String(repeating: "(", count: terms.count - 1)
    writeOperand(first)
    for (number, term) in terms.enumerated() {
      text += " " + term.operator.rawValue + " "
      writeOperand(term.operand)
      if number < terms.count - 1 { text += ")" }
    }
  }

  // MARK: Key paths

  private mutating func writePath(_ base: ValueExpression, _ steps: [PathStep]) {
    var isFirst = false
    switch base.kind {
    case .object:
      switch steps[0] {
      case .key, .collectionOperator: isFirst = true
      default: text += "SELF"
      }
    case .constant(.value(.int)), .constant(.value(.double)), .negated, .bitwiseComplement, .operation,
      .coalesced, .assignment:
      writeInParentheses(base)
    default: write(base)
    }
    for step in steps {
      write(step, isFirst: isFirst)
      isFirst = false
    }
  }

  @_optimize(none)
  private mutating func write(_ step: PathStep, isFirst: Bool) {
    switch step {
    case .key(let name):
      if !isFirst { text += "." }
      writeKey(name)
    case .collectionOperator(let name): text += (isFirst ? "@" : ".@") + name
    case .itself: text += ".SELF"
    case .variable(let name): text += ".$" + name
    case .index(let index):
      text += "["
      if let name = index.onlyKey, ["FIRST", "LAST", "SIZE"].contains(name.uppercased()) {
        text += "#" + name
      } else {
        write(index)
      }
      text += "]"
    case .first: text += "[FIRST]"
    case .last: text += "[LAST]"
    case .size: text += "[SIZE]"
    }
  }

  private mutating func writeKey(_ name: String) {
    if !FormatLexer.isIdentifier(name) || name == "self" {
      text += "#"
      writeQuoted(name)
    } else {
      text += FormatKeyword.keyword(name) == nil ? name : "#" + name
    }
  }
}
