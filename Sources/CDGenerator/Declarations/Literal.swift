import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Writes a model's constants in Swift syntax.
enum Literal {
  /// Writes a value as a literal or as a call of an initialiser. Returns nil if it is not a value of the type.
  static func text(_ value: AttributeValue, of type: AttributeType) -> String? {
    switch (value, type) {
    case (.string(let value), .string): SwiftLiteral.string(value)
    case (.bool(let value), .bool): value ? "true" : "false"
    case (.int(let value), .float): Float(exactly: value).map(SwiftLiteral.float)
    case (.int(let value), .double): Double(exactly: value).map(SwiftLiteral.double)
    case (.int(let value), .decimal): SwiftLiteral.decimal(Decimal(value))
    case (.double(let value), .float): SwiftLiteral.float(Float(value))
    case (.double(let value), .double): SwiftLiteral.double(value)
    case (.decimal(let value), .decimal): SwiftLiteral.decimal(value)
    case (.date(let value), .date):
      "Foundation.Date(timeIntervalSinceReferenceDate: "
        + SwiftLiteral.double(value.timeIntervalSinceReferenceDate) + ")"
    case (.data(let value), .data):
      value.isEmpty
        ? "Foundation.Data()"
        : "Foundation.Data(base64Encoded: \"\(value.base64EncodedString())\") ?? CDRuntime.EmptyValue.data"
    case (.uuid(let value), .uuid): SwiftLiteral.uuid(value)
    case (.url(let value), .url):
      "Foundation.URL(string: " + SwiftLiteral.string(value.relativeString) + ") ?? CDRuntime.EmptyValue.url"
    case (.int(let value), _): type.traits?.integerRange?.contains(value) == true ? value.description : nil
    default: nil
    }
  }

  /// Whether creating a constant is more expensive than copying it. Such a constant is created once and kept.
  static func isCostly(_ type: AttributeType) -> Bool {
    if case .composite = type { true } else { type.traits?.isCostly ?? false }
  }
}
