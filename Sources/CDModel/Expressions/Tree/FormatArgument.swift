#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A value that can be an argument of a format string: `%@` accepts any argument, `%K` a string, `%d` a number, and so
/// on.
///
/// The text of an argument is never parsed as part of the format.
public protocol FormatArgument {
  /// The constant that stands for the argument.
  var expressionConstant: ExpressionConstant { get }
}

extension ExpressionConstant: FormatArgument {
  public var expressionConstant: ExpressionConstant { self }
}
extension AttributeValue: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(self) }
}
extension ObjectReference: FormatArgument {
  public var expressionConstant: ExpressionConstant { .object(self) }
}

extension String: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.string(self)) }
}
extension Substring: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.string(String(self))) }
}
extension Bool: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.bool(self)) }
}
extension Double: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.double(self)) }
}
extension Float: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.double(Double(self))) }
}
extension Decimal: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.decimal(self)) }
}
extension Date: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.date(self)) }
}
extension Data: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.data(self)) }
}
extension UUID: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.uuid(self)) }
}
extension URL: FormatArgument {
  public var expressionConstant: ExpressionConstant { .value(.url(self)) }
}

extension FormatArgument where Self: BinaryInteger {
  /// The integer, or a decimal if it does not fit in `Int64`.
  public var expressionConstant: ExpressionConstant {
    if let number = Int64(exactly: self) { return .value(.int(number)) }
    return .value(.decimal(Decimal(checkedText: String(self)) ?? .nan))
  }
}
extension Int: FormatArgument {}
extension Int8: FormatArgument {}
extension Int16: FormatArgument {}
extension Int32: FormatArgument {}
extension Int64: FormatArgument {}
extension UInt: FormatArgument {}
extension UInt8: FormatArgument {}
extension UInt16: FormatArgument {}
extension UInt32: FormatArgument {}
extension UInt64: FormatArgument {}

extension FormatArgument where Self: RawRepresentable, RawValue: FormatArgument {
  /// The constant of the raw value.
  public var expressionConstant: ExpressionConstant { rawValue.expressionConstant }
}

extension Optional: FormatArgument where Wrapped: FormatArgument {
  /// The value's constant, or `nil`.
  public var expressionConstant: ExpressionConstant { self?.expressionConstant ?? .null }
}
extension Array: FormatArgument where Element: FormatArgument {
  public var expressionConstant: ExpressionConstant { .array(map(\.expressionConstant)) }
}
extension Set: FormatArgument where Element: FormatArgument {
  public var expressionConstant: ExpressionConstant {
    .set(Set<ExpressionConstant>(map(\.expressionConstant)))
  }
}
extension Dictionary: FormatArgument where Key == String, Value: FormatArgument {
  public var expressionConstant: ExpressionConstant { .dictionary(mapValues(\.expressionConstant)) }
}
