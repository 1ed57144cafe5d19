import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The conversions of CAST. A conversion loses nothing except digits of a fraction. So 2.5 cannot become an integer,
/// and 70,000 cannot become an Int16. A string is read in the form in which a value of that type is written.
enum Conversion {
  /// Converts a value to another type. Returns nil if the type has no such value. Nil stays nil.
  static func convert(_ value: EvaluationValue, to type: CastType) throws(EvaluationError) -> EvaluationValue?
  {
    if value.isNull { return value }
    switch type {
    case .unknown(let name): throw .unsupported("CAST to '\(name)'")
    case .number:
      if let number = Number(value) { return number.value }
      if case .value(.string(let text)) = value { return number(text) }
      if case .value(.date(let date)) = value { return .double(date.timeIntervalSinceReferenceDate) }
      return nil
    case .enumeration(let enumeration): return rawValue(value, of: enumeration)
    case .attribute(let type): return convert(value, to: type)
    }
  }

  /// Returns the raw value of the case with the given raw value or name; nil if there is no such case.
  private static func rawValue(_ value: EvaluationValue, of enumeration: EnumDescription) -> EvaluationValue?
  {
    func known(_ value: EvaluationValue) -> AttributeValue? {
      enumeration.cases.first { Equality.areEqual(.value($0.rawValue), value) }?.rawValue
    }
    if let raw = known(value) { return .value(raw) }
    guard case .value(.string(let text)) = value else { return nil }
    let named = enumeration.cases.first { CodeUnits.areEqual($0.name, text) }?.rawValue
    return (named ?? Int64(text).flatMap { known(.int($0)) }).map(EvaluationValue.value)
  }

  private static func convert(_ value: EvaluationValue, to type: AttributeType) -> EvaluationValue? {
    switch type {
    case .string: return text(value).map(EvaluationValue.string)
    case .bool: return bool(value).map(EvaluationValue.bool)
    case .float: return fraction(value).map { .float(Float($0)) }
    case .double: return fraction(value).map(EvaluationValue.double)
    case .decimal: return decimal(value).map { .value(.decimal($0)) }
    case .date: return date(value).map { .value(.date($0)) }
    case .data: return data(value).map { .value(.data($0)) }
    case .uuid: return uuid(value).map { .value(.uuid($0)) }
    default:
      if let range = type.traits?.integerRange {
        return integer(value).flatMap { range.contains($0) ? .int($0) : nil }
      }
      guard case .value(let plain) = value else { return nil }
      if plain.type == type { return value }
      if case .string(let text) = plain { return AttributeValue(text: text, of: type).map { .value($0) } }
      return nil
    }
  }

  /// Returns the text of a value. The text can be converted back to the value.
  static func text(_ value: EvaluationValue) -> String? {
    switch value {
    case .value(.bool(let flag)): flag ? "YES" : "NO"
    case .float(let number): number.description
    case .value(.date(let date)):
      date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction(date)))
    case .value(let value): value.plainText
    default: nil
    }
  }

  private static func hasFraction(_ date: Date) -> Bool {
    let seconds = date.timeIntervalSinceReferenceDate
    return seconds != seconds.rounded()
  }

  private static func bool(_ value: EvaluationValue) -> Bool? {
    switch value {
    case .value(.string(let text)):
      switch text.lowercased() {
      case "yes", "true", "1": return true
      case "no", "false", "0": return false
      default: return nil
      }
    default:
      guard let number = integer(value) else { return nil }
      return number == 0 ? false : number == 1 ? true : nil
    }
  }

  private static func integer(_ value: EvaluationValue) -> Int64? {
    switch value {
    case .value(.string(let text)): return Int64(text)
    case .value(.date(let date)): return Int64(exactly: date.timeIntervalSinceReferenceDate)
    default:
      switch Number(value) {
      case .int(let number)?: return number
      case .double(let number)?: return Int64(exactly: number)
      case .float(let number)?: return Int64(exactly: number)
      case .decimal(let number)?:
        return DecimalRounding.rounded(number, .towardZero) == number ? Int64(number.description) : nil
      case nil: return nil
      }
    }
  }

  private static func fraction(_ value: EvaluationValue) -> Double? {
    switch value {
    case .value(.string(let text)): Double(text)
    case .value(.date(let date)): date.timeIntervalSinceReferenceDate
    default: Number(value)?.double
    }
  }

  private static func decimal(_ value: EvaluationValue) -> Decimal? {
    switch value {
    case .value(.string(let text)): return Decimal(wholeText: text)
    case .value(.date(let date)): return Number.decimal(date.timeIntervalSinceReferenceDate)
    default:
      switch Number(value) {
      case .int(let number)?: return Decimal(number)
      case .double(let number)?: return Number.decimal(number)
      case .float(let number)?: return Decimal(checkedText: number.description)
      case .decimal(let number)?: return number
      case nil: return nil
      }
    }
  }

  private static func date(_ value: EvaluationValue) -> Date? {
    switch value {
    case .value(.date(let date)): return date
    case .value(.string(let text)):
      return (try? Date(text, strategy: Date.ISO8601FormatStyle()))
        ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    default:
      guard let seconds = Number(value)?.double, seconds.isFinite else { return nil }
      return Date(timeIntervalSinceReferenceDate: seconds)
    }
  }

  private static func data(_ value: EvaluationValue) -> Data? {
    switch value {
    case .value(.data(let data)): data
    case .value(.string(let text)): Data(base64Encoded: text)
    case .value(.uuid(let uuid)): Data(ValueBytes.bytes(uuid))
    default: nil
    }
  }

  private static func uuid(_ value: EvaluationValue) -> UUID? {
    switch value {
    case .value(.uuid(let uuid)): uuid
    case .value(.string(let text)): UUID(uuidString: text)
    case .value(.data(let data)): ValueBytes.uuid(data)
    default: nil
    }
  }

  /// Returns the number in a text: an integer if possible, otherwise a double.
  private static func number(_ text: String) -> EvaluationValue? {
    if let integer = Int64(text) { return .int(integer) }
    return Double(text).map(EvaluationValue.double)
  }
}
