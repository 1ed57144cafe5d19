import CDModel

/// A piece of SQL with the values of its parameters, in order.
///
/// Values never become a part of the text. An interpolated ``SQLText`` adds its text and its values. `bind:` adds a `?`
/// and a value. `raw:` is only for names and keywords from the model or the compiler.
///
/// The text has a neutral form: each parameter is a `?`, a name is in double quotes, and a string literal is in single
/// quotes. Neither `?` nor a double quote occurs anywhere else. SQLite reads this form as it is. An engine whose database has
/// another form changes the complete statement in one pass.
package struct SQLText: ExpressibleByStringInterpolation, Equatable {
  /// The text in the neutral form.
  package private(set) var text: String
  /// The values of the parameters, as the dialect stores them: see ``SQLDialect/stored(_:)``.
  package private(set) var bindings: [AttributeValue]

  /// Creates a text with the values of its parameters.
  package init(text: String, bindings: [AttributeValue] = []) {
    self.text = text
    self.bindings = bindings
  }

  package init(stringLiteral value: String) {
    self.init(text: value)
  }

  package init(stringInterpolation: StringInterpolation) {
    self = stringInterpolation.result
  }

  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var result = SQLText(text: "")

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { result.text += literal }

    package mutating func appendInterpolation(_ sql: SQLText) {
      result.text += sql.text
      result.bindings += sql.bindings
    }

    package mutating func appendInterpolation(raw text: String) { result.text += text }

    package mutating func appendInterpolation(bind value: AttributeValue) {
      result.text += "?"
      result.bindings.append(value)
    }
  }

  /// Joins texts with a separator between them.
  package static func joined(_ parts: [SQLText], _ separator: String) -> SQLText {
    var result = SQLText(text: parts.map(\.text).joined(separator: separator))
    result.bindings = parts.flatMap(\.bindings)
    return result
  }

  // MARK: Names and literals

  /// Returns a name in double quotes.
  package static func quoted(_ name: String) -> String {
    "\"" + doubled(UInt8(ascii: "\""), in: name) + "\""
  }

  /// Returns a string literal.
  package static func literal(_ text: String) -> String {
    "'" + doubled(UInt8(ascii: "'"), in: text) + "'"
  }

  // Works on bytes, as databases do. For Swift, a quote followed by a combining accent is a different character.
  private static func doubled(_ quote: UInt8, in text: String) -> String {
    guard text.utf8.contains(quote) else { return text }
    return String(decoding: text.utf8.flatMap { $0 == quote ? [$0, $0] : [$0] }, as: UTF8.self)
  }
}
