import CDRuntime
import Foundation
import Testing

/// Values by what a model says of its attributes: of the type, within the rules, and none the default.
struct SampleValues {
  let graph: EntityGraph
  private var number: Int64 = 0

  init(_ graph: EntityGraph) { self.graph = graph }

  /// JSON of the types that the references' codable attributes have.
  private static let json = [
    "[String]": #"["a","\"é\""]"#, "[Int]": "[1,-2]", "[Int]?": "[3]", "[String: Int]": #"{"x":1}"#,
    "[Date]": "[0.5]",
    "Foundation.DateComponents": #"{"year":2024}"#,
    "[UUID]": #"["5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C12"]"#,
    "Set<Foundation.UUID>": #"["5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11"]"#,
  ]

  /// A value that no other attribute has had, where the type has so many.
  mutating func next(for attribute: AttributeDescription) throws -> AttributeValue {
    number += 1
    return switch attribute.type {
    case .string: .string(try string(for: attribute))
    case .bool: .bool(attribute.defaultValue != .value(.bool(true)))
    case .int16, .int32, .int64: .int(Int64(within(Double(number + 100), attribute)))
    case .float, .double: .double(within(Double(number) + 0.5, attribute))
    case .decimal: .decimal(Decimal(within(Double(number) + 0.25, attribute)))
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number) * 86_400 + 0.125))
    case .data: .data(Data([0, 255, UInt8(number % 256)]))
    case .uuid: .uuid(UUID())
    case .url: .url(try #require(URL(string: "https://example.org/\(number)?a=b#c")))
    case .enumeration(let name): try caseValue(of: name, attribute)
    case .composite(let name): try fields(of: name)
    case .codable(let type, _): .string(try #require(Self.json[type], "no sample of \(type)"))
    }
  }

  private func string(for attribute: AttributeDescription) throws -> String {
    let texts = [
      "text \(number) é", "N\(number)", "978-00000\(100 + number)", "n\(number)@example.org", "SE",
    ]
    let pattern = try attribute.pattern.map { try Regex($0) }
    let lengths = (attribute.minimumLength ?? 0)...(attribute.maximumLength ?? .max)
    return try #require(
      texts.first { text in
        lengths.contains(text.unicodeScalars.count) && pattern.map { text.wholeMatch(of: $0) != nil } ?? true
      }, "no sample of '\(attribute.name)'")
  }

  private func within(_ value: Double, _ attribute: AttributeDescription) -> Double {
    min(max(value, number(attribute.minimum) ?? value), number(attribute.maximum) ?? value)
  }

  private func number(_ value: AttributeValue?) -> Double? {
    switch value {
    case .int(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
    default: nil
    }
  }

  private func caseValue(of name: String, _ attribute: AttributeDescription) throws -> AttributeValue {
    let values = try #require(graph.enumeration(name)).cases.map(\.rawValue)
    return try #require(values.last { attribute.defaultValue != .value($0) } ?? values.last)
  }

  private mutating func fields(of name: String) throws -> AttributeValue {
    var values: [String: AttributeValue] = [:]
    for field in try #require(graph.composite(name)).fields { values[field.name] = try next(for: field) }
    return .composite(values)
  }
}
