extension CanonicalWriter {
  @_optimize(none)
  mutating func write(_ constant: ExpressionConstant) {
    switch constant {
    case .value(let value): write(value)
    case .array(let elements):
      text += "{"
      write(elements.map(\.description))
      text += "}"
    case .set(let elements): writeCall("SET", elements.map(\.description).ordered(by: Self.precedes))
    case .dictionary(let elements):
      writePairs("DICTIONARY", elements.map { ($0.key, $0.value.description) })
    case .object(let reference):
      writeCall("OBJECT", [Self.quoted(reference.entity), Self.quoted(reference.uri)])
    }
  }

  @_optimize(none)
  private mutating func write(_ value: AttributeValue) {
    if let (literal, type) = CastConstant.literal(of: value) {
      text += "CAST("
      write(literal)
      text += ", \"" + type + "\")"
      return
    }
    switch value {
    case .bool(let flag): text += flag ? "YES" : "NO"
    case .int(let number): text += number.description
    case .double(let number): text += number.description
    case .string(let string): writeQuoted(string)
    case .composite(let fields):
      writePairs("COMPOSITE", fields.map { ($0.key, ExpressionConstant.value($0.value).description) })
    default: text += "nil"
    }
  }

  private mutating func writePairs(_ name: String, _ pairs: [(key: String, value: String)]) {
    let sorted = pairs.ordered { Self.precedes($0.key, $1.key) }
    writeCall(name, sorted.flatMap { [Self.quoted($0.key), $0.value] })
  }

  private mutating func writeCall(_ name: String, _ arguments: [String]) {
    text += name + "("
    write(arguments)
    text += ")"
  }

  private mutating func write(_ list: [String]) {
    text += list.joined(separator: ", ")
  }

  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  // MARK: Strings and numbers

  mutating func writeQuoted(_ string: String) {
    text += Self.quoted(string)
  }

  @_optimize(none)
  private static func quoted(_ string: String) -> String {
    var quoted = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case "\u{0}"..<"\u{20}", "\u{7F}":
        let digits = String(scalar.value, radix: 16, uppercase: true)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// Whether a value is written as a number without a minus sign.
  static func isPositiveNumber(_ value: AttributeValue) -> Bool {
    switch value {
    case .int(let number): number >= 0
    case .double(let number): number.isFinite && number.sign == .plus
    default: false
    }
  }
}
