public import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A value while an expression is evaluated: what an attribute has, many values, or an object.
///
/// ```swift
/// let average = try ValueExpression(format: "reviews.@avg.weight")
/// if case .value(.double(let weight)) = try PredicateEvaluator().value(of: average, for: book) {
///   print(weight)
/// }
/// ```
public enum EvaluationValue {
  /// An attribute's value or a constant; nil is `AttributeValue.null`.
  case value(AttributeValue)
  /// The value of a `Float` attribute. It is compared with other numbers in its own precision, so that an
  /// attribute with 1.7 is equal to the literal 1.7, which is a double.
  case float(Float)
  /// An array, a set or a to-many relationship.
  case collection([EvaluationValue])
  /// Values by key. A key that is not there reads as nil.
  case dictionary([String: EvaluationValue])
  /// An object of which nothing is known but its identity.
  case reference(ObjectReference)
  /// An object.
  case subject(any EvaluationSubject)

  /// No value.
  public static var null: EvaluationValue { .value(.null) }

  /// The value of a constant.
  public init(_ constant: ExpressionConstant) {
    switch constant {
    case .value(let value): self = .value(value)
    case .array(let elements): self = .collection(elements.map(EvaluationValue.init))
    case .set(let elements):
      // A set has no order; that of the canonical text makes equal sets equal collections.
      let sorted = elements.map { ($0.description, $0) }.sorted { CodeUnits.order($0.0, $1.0) < 0 }
      self = .collection(sorted.map { EvaluationValue($0.1) })
    case .dictionary(let elements): self = .dictionary(elements.mapValues(EvaluationValue.init))
    case .object(let reference): self = .reference(reference)
    }
  }

  /// Whether there is no value.
  public var isNull: Bool {
    if case .value(.null) = self { return true }
    return false
  }

  /// The kind of value in words, for messages: they never tell the value itself.
  var kindName: String {
    switch self {
    case .value(let value): value.kindName
    case .float: "a Float"
    case .collection: "a collection"
    case .dictionary: "a dictionary"
    case .reference, .subject: "an object"
    }
  }

  static func int(_ number: Int64) -> EvaluationValue { .value(.int(number)) }
  static func bool(_ flag: Bool) -> EvaluationValue { .value(.bool(flag)) }
  static func string(_ text: String) -> EvaluationValue { .value(.string(text)) }
  static func double(_ number: Double) -> EvaluationValue { .value(.double(number)) }
}

extension AttributeValue {
  /// The kind of value in words.
  var kindName: String {
    switch self {
    case .null: "nil"
    case .bool: "a Boolean"
    case .int: "an integer"
    case .double: "a Double"
    case .decimal: "a Decimal"
    case .string: "a string"
    case .date: "a date"
    case .data: "data"
    case .uuid: "a UUID"
    case .url: "a URL"
    case .composite: "a composite"
    }
  }
}

/// The bytes by which a UUID is stored and ordered.
enum ValueBytes {
  static func bytes(_ uuid: UUID) -> [UInt8] {
    withUnsafeBytes(of: uuid.uuid) { Array($0) }
  }

  /// The UUID of 16 bytes; nil for another count.
  static func uuid(_ data: Data) -> UUID? {
    guard data.count == 16 else { return nil }
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) { _ = data.copyBytes(to: $0) }
    return UUID(uuid: bytes)
  }
}
