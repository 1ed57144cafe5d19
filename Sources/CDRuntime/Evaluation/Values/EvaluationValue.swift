public import CDModel

/// A value during the evaluation of an expression: a single value, many values, or an object.
///
/// ```swift
/// let average = try ValueExpression(format: "reviews.@avg.weight")
/// if case .value(.double(let weight)) = try PredicateEvaluator().value(of: average, for: book) {
///   print(weight)
/// }
/// ```
public enum EvaluationValue {
  /// The value of an attribute or a constant. Nil is `AttributeValue.null`.
  case value(AttributeValue)
  /// The value of a `Float` attribute. It is compared with other numbers in the precision of a Float. So an attribute
  /// with the value 1.7 equals the literal 1.7, which is a double.
  case float(Float)
  /// An array, a set or a to-many relationship.
  case collection([EvaluationValue])
  /// Values by key. A missing key reads as nil.
  case dictionary([String: EvaluationValue])
  /// An object of which only the identity is known.
  case reference(ObjectReference)
  /// An object.
  case subject(any EvaluationSubject)

  /// Nil.
  public static var null: EvaluationValue { .value(.null) }

  /// Creates the value of a constant.
  public init(_ constant: ExpressionConstant) {
    switch constant {
    case .value(let value): self = .value(value)
    case .array(let elements): self = .collection(elements.map(EvaluationValue.init))
    case .set(let elements): self = .collection(Self.sorted(elements).map(EvaluationValue.init))
    case .dictionary(let elements): self = .dictionary(elements.mapValues(EvaluationValue.init))
    case .object(let reference): self = .reference(reference)
    }
  }

  /// A set has no order. The order of the canonical texts makes equal sets equal collections.
  static func sorted(_ elements: Set<ExpressionConstant>) -> [ExpressionConstant] {
    elements.map { ($0.description, $0) }.sorted { CodeUnits.order($0.0, $1.0) < 0 }.map { $0.1 }
  }

  /// Whether the value is nil.
  public var isNull: Bool {
    if case .value(.null) = self { return true }
    return false
  }

  /// The value, if an attribute can hold it.
  var single: AttributeValue? {
    switch self {
    case .value(let value): value
    case .float(let number): .double(Double(number))
    case .collection, .dictionary, .reference, .subject: nil
    }
  }

  /// The type of the value in words, for messages, which never contain the value itself.
  var kindName: String {
    switch self {
    case .value(let value): value.noun
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
