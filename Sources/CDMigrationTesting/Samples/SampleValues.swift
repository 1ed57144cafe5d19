import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Creates sample values for attributes. They have the attribute's type, satisfy its rules, and differ from its default
/// where possible.
struct SampleValues {
  private let graph: EntityGraph
  private var number: Int64 = 0

  init(_ graph: EntityGraph) { self.graph = graph }

  /// A value that no other attribute has had, if the type has enough values; nil for an optional attribute for which no
  /// sample can be created.
  mutating func next(for attribute: AttributeDescription, of entity: String) throws -> AttributeValue? {
    number += 1
    switch attribute.type {
    case .string: return try string(for: attribute, of: entity)
    case .bool: return .bool(attribute.defaultValue != .value(.bool(true)))
    case .float, .double: return .double(within(Double(number) + 0.5, attribute))
    case .decimal: return .decimal(decimal(for: attribute))
    case .date: return .date(date(for: attribute))
    case .data: return .data(data(for: attribute))
    case .uuid: return .uuid(UUID())
    case .url: return URL(string: "https://example.org/\(number)?a=b#c").map { .url($0) }
    case .enumeration(let name):
      let cases = graph.enumeration(name)?.cases.map(\.rawValue) ?? []
      return cases.last { attribute.defaultValue != .value($0) } ?? cases.last
    case .composite(let name):
      var values: [String: AttributeValue] = [:]
      for field in graph.composite(name)?.fields ?? [] {
        values[field.name] = try next(for: field, of: "\(entity).\(attribute.name)") ?? .null
      }
      return .composite(values)
    case .codable(let type, _): return .string(SampleJSON.text(of: type, number))
    default:
      guard let traits = attribute.type.traits, let range = traits.integerRange else {
        return AttributeValue(text: "\(number)", of: attribute.type) ?? attribute.type.traits?.empty
      }
      return .int(integer(for: attribute, in: range))
    }
  }

  private func string(for attribute: AttributeDescription, of entity: String) throws -> AttributeValue? {
    let lengths =
      (attribute.minimumLength ?? 0)...max(attribute.maximumLength ?? .max, attribute.minimumLength ?? 0)
    func fits(_ text: String) -> Bool { lengths.contains(text.count) }
    guard let pattern = attribute.pattern else {
      let text = "text \(number) é"
      if text.count > lengths.upperBound {
        // The last digits differ between the samples.
        let digits = "\(number)"
        let filled = String(repeating: "x", count: max(0, lengths.lowerBound - digits.count)) + digits
        return .string(String(filled.suffix(lengths.upperBound)))
      }
      return .string(text + String(repeating: "x", count: max(0, lengths.lowerBound - text.count)))
    }
    for repeats in 0...16 {
      if let text = PatternSample(pattern, repeats: repeats, seed: Int(number)).text, fits(text) {
        return .string(text)
      }
    }
    if attribute.isOptional { return nil }
    throw VersionedStoreError.noSample(
      entity: entity, attribute: attribute.name, reason: "which has the pattern \(pattern)")
  }

  /// An integer. A limit near the ends of Int64 is not exact as a Double.
  private func integer(for attribute: AttributeDescription, in range: ClosedRange<Int64>) -> Int64 {
    func limit(_ value: AttributeValue?) -> Int64? {
      if case .int(let value)? = value { return value }
      return nil
    }
    let atLeast = max(number + 100, limit(attribute.minimum) ?? range.lowerBound)
    return min(atLeast, limit(attribute.maximum) ?? range.upperBound, range.upperBound)
  }

  /// A decimal. A limit such as 19.99 is not exact as a Double.
  private func decimal(for attribute: AttributeDescription) -> Decimal {
    func limit(_ value: AttributeValue?) -> Decimal? {
      switch value {
      case .int(let value): Decimal(value)
      case .double(let value): Decimal(value)
      case .decimal(let value): value
      default: nil
      }
    }
    let value = Decimal(Double(number) + 0.25)
    let atLeast = max(value, limit(attribute.minimum) ?? value)
    return min(atLeast, limit(attribute.maximum) ?? atLeast)
  }

  private func data(for attribute: AttributeDescription) -> Data {
    let bytes: [UInt8] = [0, 255, UInt8(number % 256)]
    let count = min(max(bytes.count, attribute.minimumLength ?? 0), attribute.maximumLength ?? .max)
    return Data((0..<count).map { bytes[$0 % bytes.count] })
  }

  private func date(for attribute: AttributeDescription) -> Date {
    var date = Date(timeIntervalSinceReferenceDate: Double(number) * 86_400 + 0.125)
    if case .date(let minimum)? = attribute.minimum { date = max(date, minimum) }
    if case .date(let maximum)? = attribute.maximum { date = min(date, maximum) }
    return date
  }

  private func within(_ value: Double, _ attribute: AttributeDescription) -> Double {
    min(max(value, number(attribute.minimum) ?? value), number(attribute.maximum) ?? .greatestFiniteMagnitude)
  }

  private func number(_ value: AttributeValue?) -> Double? {
    switch value {
    case .int(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): Double("\(value)")
    default: nil
    }
  }
}
