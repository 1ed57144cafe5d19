import CDModel
import CDSchema
import Foundation

/// Reads defaults and bounds from Xcode's files, including unusual forms.
enum DefaultText {
  /// A value, and whether its text is unusual for its type: `NO` for an integer.
  struct Reading {
    var value: AttributeValue
    var isOdd = false
  }

  /// Reads the value of a text; nil if it is not a value of the type.
  static func value(_ text: String, of type: AttributeType) -> Reading? {
    switch type {
    case .bool:
      if let flag = ValueText.bool(text) { return Reading(value: .bool(flag)) }
      return finite(text).map { Reading(value: .bool($0 != 0), isOdd: true) }
    case .float:
      guard let number = number(text), Float(number.0).isFinite else { return nil }
      return Reading(value: .double(Double(Float(number.0))), isOdd: number.isOdd)
    case .double: return number(text).map { Reading(value: .double($0.0), isOdd: $0.isOdd) }
    case .decimal:
      if let flag = word(text) { return Reading(value: .decimal(Decimal(flag)), isOdd: true) }
      guard finite(text) != nil, !hasTooManyDigits(text), let number = Decimal(wholeText: text), !number.isNaN
      else { return nil }
      return Reading(value: .decimal(number))
    case .date:
      guard let interval = finite(text), (-63_113_904_000..<252_423_993_600).contains(interval) else {
        return nil
      }
      return Reading(value: .date(Date(timeIntervalSinceReferenceDate: interval)))
    case .url:
      guard !text.isEmpty, let url = URL(string: text), url.absoluteString == text else { return nil }
      return Reading(value: .url(url))
    case .data: return nil
    default:
      if let range = type.traits?.integerRange { return integer(text, range) }
      return AttributeValue(text: text, of: type).map { Reading(value: $0) }
    }
  }

  /// Whether a text has more digits than a decimal of a model. Foundation would round them.
  static func hasTooManyDigits(_ text: String) -> Bool {
    Decimal.significantDigits(text).count > Decimal.significantDigitLimit
  }

  private static func integer(_ text: String, _ range: ClosedRange<Int64>) -> Reading? {
    if let number = Int64(text) { return range.contains(number) ? Reading(value: .int(number)) : nil }
    if let flag = word(text) { return Reading(value: .int(Int64(flag)), isOdd: true) }
    guard let number = finite(text), let exact = Int64(exactly: number), range.contains(exact) else {
      return nil
    }
    return Reading(value: .int(exact), isOdd: true)
  }

  private static func number(_ text: String) -> (Double, isOdd: Bool)? {
    if let flag = word(text) { return (Double(flag), true) }
    return finite(text).map { ($0, false) }
  }

  private static func word(_ text: String) -> Int? {
    switch text.lowercased() {
    case "yes", "true": 1
    case "no", "false": 0
    default: nil
    }
  }

  private static func finite(_ text: String) -> Double? {
    guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }), let number = Double(text),
      number.isFinite
    else { return nil }
    return number
  }

  /// The reason why a value cannot be an attribute's default; nil if it can.
  static func problem(with value: AttributeValue, for attribute: AttributeDescription) -> String? {
    if let minimum = attribute.minimum, AttributeOrder.isLess(value, minimum) {
      return "is below the minimum"
    }
    if let maximum = attribute.maximum, AttributeOrder.isLess(maximum, value) {
      return "is above the maximum"
    }
    guard case .string(let text) = value else { return nil }
    if let least = attribute.minimumLength, text.count < least { return "is shorter than the least length" }
    if let most = attribute.maximumLength, text.count > most { return "is longer than the greatest length" }
    guard let pattern = attribute.pattern else { return nil }
    switch PatternMatch(text, pattern) {
    case .matches, .malformed: return nil
    case .differs: return "does not match the pattern"
    case .tooCostly: return "takes too many steps to be matched with the pattern"
    }
  }
}
