/// Text of a page. An interpolated string is escaped, so a name `<script>` is a name. Only another `HTML` is inserted as
/// it is.
struct HTML: Sendable, ExpressibleByStringInterpolation {
  private(set) var source: String

  init(stringLiteral value: String) { source = value }
  init(stringInterpolation: StringInterpolation) { source = stringInterpolation.source }
  init(_ parts: [HTML]) { source = parts.map(\.source).joined() }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var source = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      source.reserveCapacity(literalCapacity + interpolationCount * 16)
    }
    mutating func appendLiteral(_ literal: String) { source += literal }
    mutating func appendInterpolation(_ text: String) { HTML.escape(text, into: &source) }
    mutating func appendInterpolation(_ number: Int) { source += String(number) }
    mutating func appendInterpolation(_ html: HTML) { source += html.source }
    mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { source += part.source } }
    /// An attribute without a value, such as `checked`.
    mutating func appendInterpolation(_ name: StaticString, if isSet: Bool) {
      if isSet { source += " \(name)" }
    }
  }

  private static func escape(_ text: String, into source: inout String) {
    let isPlain = text.utf8.allSatisfy { byte in
      byte != UInt8(ascii: "<") && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "&")
        && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'")
    }
    if isPlain {
      source += text
      return
    }
    for character in text.unicodeScalars {
      switch character {
      case "<": source += "&lt;"
      case ">": source += "&gt;"
      case "&": source += "&amp;"
      case "\"": source += "&quot;"
      case "'": source += "&#39;"
      default: source.unicodeScalars.append(character)
      }
    }
  }
}

/// A part of the page that replaces the element with the same identifier.
struct Fragment: Sendable {
  enum Part: String, Sendable {
    case toolbar, messages, list, categories, alerts, conflicts
    case addErrors = "add-errors"
    case categoryErrors = "category-errors"
  }

  var part: Part
  var html: HTML

  /// The fragment as the page's script takes it.
  var template: HTML { "<template data-for=\"\(part.rawValue)\">\(html)</template>" }
}
