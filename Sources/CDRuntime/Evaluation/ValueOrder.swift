import CDModel
import Foundation

/// The equality of values. Values of different types are not equal, and to compare them is not an error.
enum Equality {
  static func areEqual(
    _ left: EvaluationValue, _ right: EvaluationValue, _ options: ComparisonOptions = []
  ) -> Bool {
    switch (left, right) {
    case (.value(.string(let left)), .value(.string(let right))):
      return TextComparison.areEqual(left, right, options)
    case (.value(.int(let left)), .value(.int(let right))): return left == right
    case (.value(.url(let left)), .value(.url(let right))):
      return CodeUnits.areEqual(left.absoluteString, right.absoluteString)
    case (.value(.composite(let left)), .value(.composite(let right))):
      return areEqual(left.mapValues(EvaluationValue.value), right.mapValues(EvaluationValue.value), options)
    // A composite of an object may be a dictionary, whose Floats keep their type.
    case (.value(.composite(let left)), .dictionary(let right)),
      (.dictionary(let right), .value(.composite(let left))):
      return areEqual(left.mapValues(EvaluationValue.value), right, options)
    case (.value(.null), .value(.null)): return true
    case (.value(.date(let left)), .value(.date(let right))): return left == right
    case (.value(.uuid(let left)), .value(.uuid(let right))): return left == right
    case (.collection(let left), .collection(let right)):
      return left.count == right.count && zip(left, right).allSatisfy { areEqual($0, $1, options) }
    case (.dictionary(let left), .dictionary(let right)): return areEqual(left, right, options)
    case (.subject(let left), .subject(let right)): return left.isSameObject(as: right)
    case (.subject(let subject), .reference(let reference)),
      (.reference(let reference), .subject(let subject)):
      return subject.isSameObject(as: reference)
    case (.reference(let left), .reference(let right)): return left.isSame(as: right)
    default:
      if let left = Number(left), let right = Number(right) { return Number.order(left, right) == 0 }
      guard case (.value(let left), .value(let right)) = (left, right) else { return false }
      return left == right
    }
  }

  private static func areEqual(
    _ left: [String: EvaluationValue], _ right: [String: EvaluationValue], _ options: ComparisonOptions
  ) -> Bool {
    left.count == right.count
      && left.allSatisfy { key, value in right[key].map { areEqual(value, $0, options) } ?? false }
  }
}

/// The order of values, which is the same in memory and in SQL: numbers by value, strings by their code units.
enum ValueOrder {
  /// Returns the order of two values; nil for null, NaN and values of types that cannot be compared.
  static func compare(_ left: AttributeValue, _ right: AttributeValue) -> ComparisonResult? {
    switch (left, right) {
    case (.int(let left), .int(let right)): order(left, right)
    case (.string(let left), .string(let right)): compare(left, right)
    case (.date(let left), .date(let right)): order(left, right)
    case (.data(let left), .data(let right)): lexicographic(left, right)
    default: compareNumbers(left, right) ?? compareStored(left, right)
    }
  }

  /// Compares values of the same type, if it is one whose values have the order of their stored forms.
  private static func compareStored(_ left: AttributeValue, _ right: AttributeValue) -> ComparisonResult? {
    guard let category = left.type?.traits?.category, category != .number, left.type == right.type else {
      return nil
    }
    return compare(left.stored, right.stored)
  }

  /// Compares strings by the code units of UTF-8, whose order is the order of code points.
  private static func compare(_ left: String, _ right: String) -> ComparisonResult {
    lexicographic(left.utf8, right.utf8)
  }

  private static func compareNumbers(_ left: AttributeValue, _ right: AttributeValue) -> ComparisonResult? {
    guard let left = Number(.value(left)), let right = Number(.value(right)) else { return nil }
    return Number.order(left, right).flatMap(ComparisonResult.init(rawValue:))
  }

  private static func order<T: Comparable>(_ left: T, _ right: T) -> ComparisonResult {
    left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
  }

  private static func lexicographic(
    _ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>
  ) -> ComparisonResult {
    var rest = right.makeIterator()
    for byte in left {
      guard let other = rest.next() else { return .orderedDescending }
      if byte != other { return byte < other ? .orderedAscending : .orderedDescending }
    }
    return rest.next() == nil ? .orderedSame : .orderedAscending
  }
}

/// The keys of values that are not objects, such as the `length` of a string. They are keys of Apple's classes that
/// describe a value and have no side effects.
enum ValueKeys {
  /// Returns the value of a key; nil for an unknown key.
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
