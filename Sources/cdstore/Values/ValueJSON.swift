import CDModel
import CDSchema
import Foundation

/// Writes values of attributes as JSON. ``AttributeReading`` reads it as the same value.
struct ValueJSON {
  let graph: EntityGraph
  /// Whether every value is read back with all its bits, as a dump requires it. Otherwise, dates are seconds since 1970,
  /// which other tools expect, and values of enums are their raw values.
  var isExact = false

  func json(_ value: AttributeValue, _ attribute: AttributeDescription) -> JSONValue {
    switch (attribute.type, value) {
    case (.codable, .string(let text)): return codable(text)
    case (.composite(let name), .composite(let values)):
      return .object(
        (graph.composite(name)?.fields ?? []).map { field in
          JSONValue.Member(field.name, json(values[field.name] ?? .null, field))
        })
    case (.enumeration(let name), _) where value != .null:
      let cases = graph.enumeration(name)?.cases ?? []
      // The raw value of one case can be the name of another.
      let isAmbiguous = cases.contains { .string($0.name) == value && $0.rawValue != value }
      guard isExact || isAmbiguous, let found = cases.first(where: { $0.rawValue == value }) else {
        return Self.json(value)
      }
      return .string(found.name)
    case (_, .date) where isExact: return value.jsonValue(dates: .exact)
    default: return Self.json(value)
    }
  }

  /// The key of an object that contains the JSON of a codable as text.
  private static let textTag = "$json"

  private func codable(_ text: String) -> JSONValue {
    // The row is another level around the value. A load must be able to parse both together.
    guard case .array(let elements)? = try? JSONValue(parsing: "[" + text + "]"), elements.count == 1 else {
      return Self.tagged(text)
    }
    let json = elements[0]
    guard isExact else { return json }
    // The text of another encoder may have other spaces, another order of keys, or other forms of numbers.
    let isSame =
      json != .null && json[Self.textTag] == nil && json.canonicalText.utf8.elementsEqual(text.utf8)
    return isSame ? json : Self.tagged(text)
  }

  private static func tagged(_ text: String) -> JSONValue {
    .object([JSONValue.Member(textTag, .string(text))])
  }

  /// The stored text of a codable that was written as `{"$json": text}`; nil for any other JSON.
  static func storedText(_ json: JSONValue) -> String? {
    guard case .object(let members) = json, members.count == 1, members[0].key == textTag,
      case .string(let text) = members[0].value
    else { return nil }
    return text
  }

  static func json(_ value: AttributeValue) -> JSONValue {
    switch value {
    case .double(let number) where number.isFinite: .double(number)
    case .url(let url): .string(url.absoluteString)
    case .composite(let values):
      .object(values.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, json($0.value)) })
    default: value.jsonValue(dates: .since1970)
    }
  }

  /// A value in a table cell: text, numbers and dates in a form for people. A date outside the years 1 to 9999 is the
  /// number of seconds since 2001, because ISO 8601 has no text for it.
  static func text(_ value: AttributeValue) -> String {
    switch value {
    case .date(let date): text(date) ?? value.plainText ?? ""
    case .composite: json(value).canonicalText
    default: value.plainText ?? ""
    }
  }

  /// The day and the time with all its digits.
  private static func text(_ date: Date) -> String? {
    DateLiteral.text(of: date).map { $0.contains("T") ? $0 : $0 + "T00:00:00Z" }
  }
}
