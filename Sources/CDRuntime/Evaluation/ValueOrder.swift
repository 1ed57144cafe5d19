import Foundation

/// How values compare, in memory as in SQL: numbers by value, strings by their code units.
enum ValueOrder {
  /// The order of two values; nil for null, NaN and values of types that do not compare.
  static func compare(_ left: AttributeValue, _ right: AttributeValue) -> ComparisonResult? {
    switch (left, right) {
    case (.int(let left), .int(let right)): order(left, right)
    case (.string(let left), .string(let right)): compare(left, right)
    case (.date(let left), .date(let right)): order(left, right)
    case (.data(let left), .data(let right)): lexicographic(left, right)
    case (.uuid(let left), .uuid(let right)):
      withUnsafeBytes(of: left.uuid) { left in
        withUnsafeBytes(of: right.uuid) { right in lexicographic(left, right) }
      }
    case (.url(let left), .url(let right)): compare(left.absoluteString, right.absoluteString)
    case (.bool(let left), .bool(let right)): order(left ? 1 : 0, right ? 1 : 0)
    default: compareNumbers(left, right)
    }
  }

  /// Strings by their code units: of UTF-8, whose order is that of the scalars.
  static func compare(_ left: String, _ right: String) -> ComparisonResult {
    lexicographic(left.utf8, right.utf8)
  }

  private static func compareNumbers(_ left: AttributeValue, _ right: AttributeValue) -> ComparisonResult? {
    switch (number(left), number(right)) {
    case (.integer(let left)?, .integer(let right)?): return order(left, right)
    case (.double(let left)?, .double(let right)?):
      return left.isNaN || right.isNaN ? nil : order(left, right)
    case (.integer(let left)?, .double(let right)?): return compare(left, right)
    case (.double(let left)?, .integer(let right)?): return compare(right, left).map(opposite)
    case (.decimal(let left)?, .decimal(let right)?): return compare(left, right)
    case (.integer(let left)?, .decimal(let right)?): return compare(Decimal(left), right)
    case (.decimal(let left)?, .integer(let right)?): return compare(left, Decimal(right))
    case (.double(let left)?, .decimal(let right)?): return compare(left, right)
    case (.decimal(let left)?, .double(let right)?): return compare(right, left).map(opposite)
    default: return nil
    }
  }

  private enum Number {
    case integer(Int64)
    case double(Double)
    case decimal(Decimal)
  }

  private static func number(_ value: AttributeValue) -> Number? {
    switch value {
    case .bool(let value): .integer(value ? 1 : 0)
    case .int(let value): .integer(value)
    case .double(let value): .double(value)
    case .decimal(let value): .decimal(value)
    default: nil
    }
  }

  private static func compare(_ left: Decimal, _ right: Decimal) -> ComparisonResult? {
    left.isNaN || right.isNaN ? nil : order(left, right)
  }

  /// Exact: a conversion to Double would make neighbours of large integers equal.
  private static func compare(_ left: Int64, _ right: Double) -> ComparisonResult? {
    if right.isNaN { return nil }
    if right >= 0x1p63 { return .orderedAscending }
    if right < -0x1p63 { return .orderedDescending }
    let whole = right.rounded(.towardZero)
    let result = order(left, Int64(whole))
    return result == .orderedSame ? order(whole, right) : result
  }

  private static func compare(_ left: Double, _ right: Decimal) -> ComparisonResult? {
    if left.isNaN || right.isNaN { return nil }
    if left.isInfinite { return left < 0 ? .orderedAscending : .orderedDescending }
    // The shortest decimal that reads back as the double: 0.1 is 0.1.
    return compare(Decimal(string: "\(left)") ?? Decimal(left), right)
  }

  private static func order<T: Comparable>(_ left: T, _ right: T) -> ComparisonResult {
    left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
  }

  private static func opposite(_ result: ComparisonResult) -> ComparisonResult {
    switch result {
    case .orderedAscending: .orderedDescending
    case .orderedDescending: .orderedAscending
    case .orderedSame: .orderedSame
    }
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
