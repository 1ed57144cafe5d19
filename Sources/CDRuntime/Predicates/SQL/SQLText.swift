import CDModel

/// A piece of SQL with the values of its parameters, in their order.
///
/// Data never become a part of the text: an interpolated ``SQLText`` adds its text and values, `bind:` adds a
/// `?`, and `raw:` is for names and keywords that the model or the compiler gave.
struct SQLText: ExpressibleByStringInterpolation, Equatable {
  private(set) var text: String
  /// What SQLite can be given as it is: nil, integers, doubles, strings and data.
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

  /// How deep parentheses are nested. Those in quoted names count as well; the figure is never too small.
  var depth: Int {
    var depth = 0
    var deepest = 0
    for byte in text.utf8 {
      if byte == UInt8(ascii: "(") {
        depth += 1
        deepest = max(deepest, depth)
      } else if byte == UInt8(ascii: ")") {
        depth -= 1
      }
    }
    return deepest
  }
}
