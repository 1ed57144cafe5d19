#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A constant of an expression: a value that an attribute can have, a collection or a managed object.
///
/// Equality is that of the written constant, so that a predicate can be the key of a cache: strings are
/// the same when their code units are, and `1`, `1.0` and `YES` are three constants though they compare as
/// equal when they are evaluated.
public enum ExpressionConstant: Sendable {
  case value(AttributeValue)
  case array([ExpressionConstant])
  case set(Set<ExpressionConstant>)
  case dictionary([String: ExpressionConstant])
  case object(ObjectReference)

  /// `nil`.
  public static let null = ExpressionConstant.value(.null)

  /// The count of levels: 1 for all that is no collection.
  public var depth: Int {
    switch self {
    case .value, .object: 1
    case .array(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
    case .set(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
    case .dictionary(let elements): 1 + elements.values.reduce(0) { max($0, $1.depth) }
    }
  }
}

extension ExpressionConstant: Hashable {
  public static func == (lhs: ExpressionConstant, rhs: ExpressionConstant) -> Bool {
    switch (lhs, rhs) {
    case (.value(let left), .value(let right)): isSame(left, right)
    case (.array(let left), .array(let right)): left == right
    case (.set(let left), .set(let right)): left == right
    case (.dictionary(let left), .dictionary(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .value(let value): Self.hash(value, into: &hasher)
    case .array(let elements): hasher.combine(elements)
    case .set(let elements): hasher.combine(elements)
    case .dictionary(let elements): hasher.combine(elements)
    case .object(let reference): hasher.combine(reference)
    }
  }

  private static func isSame(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
    switch (left, right) {
    case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
    // The bit pattern tells 0.0 from -0.0 and makes NaN equal to itself.
    case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
    case (.composite(let left), .composite(let right)):
      left.count == right.count
        && left.allSatisfy { name, value in right[name].map { isSame(value, $0) } ?? false }
    default: left == right
    }
  }

  private static func hash(_ value: AttributeValue, into hasher: inout Hasher) {
    switch value {
    case .string(let text):
      for byte in text.utf8 { hasher.combine(byte) }
      hasher.combine(UInt8(0xFF))
    case .double(let number): hasher.combine(number.bitPattern)
    case .composite(let fields): hasher.combine(fields.count)
    default: hasher.combine(value)
    }
  }
}
