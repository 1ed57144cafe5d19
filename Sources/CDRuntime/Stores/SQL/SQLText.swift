import CDModel

/// A piece of SQL with the values of its parameters, in order.
///
/// Values never become a part of the text. An interpolated ``SQLText`` adds its text and its values. `bind:` adds a `?`
/// and a value. `raw:` is only for names and keywords from the model or the compiler.
struct SQLText: ExpressibleByStringInterpolation, Equatable {
  private(set) var text: String
  /// The values of the parameters, in a form that SQLite can bind: nil, integers, doubles, strings and data.
  private(set) var bindings: [AttributeValue]

  init(text: String, bindings: [AttributeValue] = []) {
    self.text = text
    self.bindings = bindings
  }

  init(stringLiteral value: String) {
    self.init(text: value)
  }

  init(stringInterpolation: StringInterpolation) {
    self = stringInterpolation.result
  }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var result = SQLText(text: "")

    init(literalCapacity: Int, interpolationCount: Int) {}

    mutating func appendLiteral(_ literal: String) { result.text += literal }

    mutating func appendInterpolation(_ sql: SQLText) {
      result.text += sql.text
      result.bindings += sql.bindings
    }

    mutating func appendInterpolation(raw text: String) { result.text += text }

    mutating func appendInterpolation(bind value: AttributeValue) {
      result.text += "?"
      result.bindings.append(value)
    }
  }

  static func joined(_ parts: [SQLText], _ separator: String) -> SQLText {
    var result = SQLText(text: parts.map(\.text).joined(separator: separator))
    result.bindings = parts.flatMap(\.bindings)
    return result
  }

  /// An upper limit for the number of entries that SQLite's parser needs on its stack for nested expressions. The
  /// weights come from experiments: 10 for SELECT or CASE, 7 for the arguments of a function, 3 for any other
  /// parenthesis.
  var parserDepth: Int {
    var open: [Int] = []
    var depth = 0
    var deepest = 0
    let bytes = Array(text.utf8)
    for (index, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "(") {
        var weight = 3
        if bytes[(index + 1)...].starts(with: Self.select) || bytes[(index + 1)...].starts(with: Self.case) {
          weight = 10
        } else if index > 0, bytes[index - 1] != UInt8(ascii: " "), bytes[index - 1] != UInt8(ascii: "(") {
          weight = 7
        }
        open.append(weight)
        depth += weight
        deepest = max(deepest, depth)
      } else if byte == UInt8(ascii: ")") {
        depth -= open.popLast() ?? 0
      }
    }
    return deepest
  }

  private static let select = Array("SELECT".utf8)
  private static let `case` = Array("CASE".utf8)
}
