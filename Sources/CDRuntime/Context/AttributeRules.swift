import Foundation

/// The rules for values of attributes.
enum AttributeRules {
  /// Returns the rule that a value breaks; nil if it breaks none.
  static func mistake(
    _ value: AttributeValue, _ attribute: AttributeDescription, _ storageType: StorageType,
    _ graph: EntityGraph
  ) -> ValidationError.Reason? {
    if value == .null { return attribute.isOptional || attribute.isTransient ? nil : .missingValue }
    if storageType == .codable, value == .unencodable { return attribute.isTransient ? nil : .notEncodable }
    if value.isNotANumber { return .notANumber }
    if value.isEmptyURL, !attribute.isTransient {
      return .notStorable("is a URL with an empty text, which no store can return; set another URL")
    }
    if case .enumeration(let name) = attribute.type, let cases = graph.enumeration(name)?.cases,
      !cases.contains(where: { same($0.rawValue, value) })
    {
      return .unknownCase
    }
    if let minimum = attribute.minimum, compare(value, minimum) == .orderedAscending { return .outOfRange }
    if let maximum = attribute.maximum, compare(value, maximum) == .orderedDescending { return .outOfRange }
    if attribute.minimumLength != nil || attribute.maximumLength != nil {
      let length = length(of: value)
      if length < attribute.minimumLength ?? 0 || length > attribute.maximumLength ?? Int.max {
        return .wrongLength
      }
    }
    if let pattern = attribute.pattern, case .string(let text) = value {
      do {
        if try !RegularExpression.compiled(pattern, []).matches(text) { return .patternMismatch }
      } catch {
        switch error {
        case .patternTooCostly, .matchingTooCostly: return .patternTooCostly
        default: return .unusablePattern
        }
      }
    }
    return nil
  }

  /// Returns the bound that a value is beyond, for the message about a broken rule.
  @_optimize(none)
  static func brokenBound(
    _ reason: ValidationError.Reason, _ value: AttributeValue, _ attribute: AttributeDescription
  ) -> ValidationError.BrokenBound? {
    switch reason {
    case .outOfRange:
      if let minimum = attribute.minimum, compare(value, minimum) == .orderedAscending {
        return .init(isMinimum: true, limit: minimum, found: value, unit: nil)
      }
      return attribute.maximum.map { .init(isMinimum: false, limit: $0, found: value, unit: nil) }
    case .wrongLength:
      let length = length(of: value)
      let isMinimum = length < attribute.minimumLength ?? 0
      let unit = if case .data = value { "byte" } else { "character" }
      return (isMinimum ? attribute.minimumLength : attribute.maximumLength).map {
        .init(isMinimum: isMinimum, limit: .int(Int64($0)), found: .int(Int64(length)), unit: unit)
      }
    default: return nil
    }
  }

  private static func same(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
    if case .string(let left) = left, case .string(let right) = right {
      return left.utf8.elementsEqual(right.utf8)
    }
    return left == right
  }

  /// A string's length in characters as Swift counts them, because the schema's rules concern text that people type;
  /// a data value's length in bytes.
  private static func length(of value: AttributeValue) -> Int {
    switch value {
    case .string(let text): text.count
    case .data(let data): data.count
    default: 0
    }
  }

  private static func compare(_ value: AttributeValue, _ bound: AttributeValue) -> ComparisonResult? {
    ValueOrder.compare(value, bound)
  }
}
