#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The written form of constants that have no literal in the grammar: a CAST of a literal.
///
/// - `CAST(758930400.5, "Date")` contains seconds since the reference date, as Apple's predicate formats and the SQLite
///   layout do.
/// - `CAST("AQI=", "Data")` contains base64.
/// - `CAST("…", "UUID")`, `CAST("1.50", "Decimal")`, `CAST("https://…", "URL")` and, for numbers without digits,
///   `CAST("inf", "Double")` contain plain text.
enum CastConstant {
  /// Returns the constant that a CAST of a literal stands for, or nil if the CAST must be evaluated.
  static func fold(_ value: AttributeValue, _ type: CastType) -> AttributeValue? {
    guard case .attribute(let type) = type else { return nil }
    switch (value, type) {
    case (.double(let seconds), .date): return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case (.int(let seconds), .date): return .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case (.string(let text), .decimal):
      return (text == "NaN" ? .nan : Decimal(wholeText: text)).map(AttributeValue.decimal)
    case (.string(let text), .double): return nonFinite[text].map(AttributeValue.double)
    case (.string, .string): return nil
    case (.string(let text), _): return AttributeValue(text: text, of: type)
    default: return nil
    }
  }

  /// Returns the literal and the type name whose CAST gives the constant; nil for a constant that has its own literal.
  static func literal(of value: AttributeValue) -> (AttributeValue, type: String)? {
    switch value {
    case .date(let date): (.double(date.timeIntervalSinceReferenceDate), "Date")
    case .decimal(let decimal): (.string(decimal.isNaN ? "NaN" : decimal.description), "Decimal")
    case .double(let number) where !number.isFinite:
      (.string(number.isNaN ? "nan" : number < 0 ? "-inf" : "inf"), "Double")
    case .bool, .int, .double, .string: nil
    default: value.type.flatMap { type in value.plainText.map { (.string($0), type.schemaName) } }
    }
  }

  private static let nonFinite: [String: Double] = [
    "nan": .nan, "inf": .infinity, "-inf": -.infinity,
  ]
}
