import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The keys that values have which are no objects, such as a string's `length`: those of Apple's classes
/// that say something about the value and do nothing.
enum ValueKeys {
  /// Nil for a key that there is not.
  static func value(forKey key: String, of value: EvaluationValue) -> EvaluationValue? {
    if key == "self" { return value }
    if key == "description" || key == "stringValue" {
      return Conversion.text(value).map(EvaluationValue.string)
    }
    switch value {
    case .value(.string(let text)): return string(key, text)
    case .value(.date(let date)):
      switch key {
      case "timeIntervalSinceReferenceDate": return .double(date.timeIntervalSinceReferenceDate)
      case "timeIntervalSince1970": return .double(date.timeIntervalSince1970)
      default: return nil
      }
    case .value(.data(let data)): return key == "length" ? .int(Int64(data.count)) : nil
    case .value(.uuid(let uuid)): return key == "UUIDString" ? .string(uuid.uuidString) : nil
    case .value(.url(let url)):
      switch key {
      case "absoluteString": return .string(url.absoluteString)
      case "scheme": return url.scheme.map(EvaluationValue.string) ?? .null
      case "host": return url.host().map(EvaluationValue.string) ?? .null
      case "path": return .string(url.path())
      case "lastPathComponent": return .string(url.lastPathComponent)
      case "pathExtension": return .string(url.pathExtension)
      default: return nil
      }
    default: return Number(value).flatMap { number(key, $0) }
    }
  }

  private static func string(_ key: String, _ text: String) -> EvaluationValue? {
    switch key {
    case "length": .int(Int64(text.utf16.count))
    case "uppercaseString": .string(text.uppercased())
    case "lowercaseString": .string(text.lowercased())
    case "capitalizedString": .string(PathText.capitalized(text))
    case "lastPathComponent": .string(PathText.lastComponent(text))
    case "pathExtension": .string(PathText.fileExtension(text))
    case "intValue", "integerValue", "longLongValue": .int(Int64(text) ?? 0)
    case "doubleValue", "floatValue": .double(Double(text) ?? 0)
    case "boolValue": .bool(["Y", "y", "T", "t", "1"].contains(text.prefix(1)))
    default: nil
    }
  }

  private static func number(_ key: String, _ number: Number) -> EvaluationValue? {
    switch key {
    case "intValue", "integerValue", "longLongValue", "longValue", "shortValue":
      switch number {
      case .int: number.value
      default:
        Int64(exactly: number.double.rounded(.towardZero)).map(EvaluationValue.int)
      }
    case "doubleValue": .double(number.double)
    case "floatValue": .float(Float(number.double))
    case "boolValue": .bool(number.double != 0)
    default: nil
    }
  }
}
