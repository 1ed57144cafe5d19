import CDModel
import Foundation

/// Writes values of attributes as JSON. ``AttributeReading`` reads it as the same value.
struct ValueJSON {
  let graph: EntityGraph

  func json(_ value: AttributeValue, _ attribute: AttributeDescription) -> JSONValue {
    if case .codable = attribute.type, case .string(let text) = value {
      return (try? JSONValue(parsing: text)) ?? .string(text)
    }
    if case .composite(let name) = attribute.type, case .composite(let values) = value {
      return .object(
        (graph.composite(name)?.fields ?? []).map { field in
          JSONValue.Member(field.name, json(values[field.name] ?? .null, field))
        })
    }
    return Self.json(value)
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

  /// A value in a table cell: text, numbers and dates in a form for people.
  static func text(_ value: AttributeValue) -> String {
    switch value {
    case .date(let date): date.formatted(.iso8601)
    case .composite: json(value).canonicalText
    default: value.plainText ?? ""
    }
  }
}
