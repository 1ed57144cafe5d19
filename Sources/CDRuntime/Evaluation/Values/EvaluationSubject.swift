public import CDModel

/// What a predicate can be evaluated with: a managed object, a row, or anything else that has values by key.
///
/// ```swift
/// struct Dog: EvaluationSubject {
///   var name: String
///   var age: Int
///   var evaluationIdentity: ObjectReference? { nil }
///
///   func evaluationValue(forKey key: String) throws(EvaluationError) -> EvaluationValue {
///     switch key {
///     case "name": .value(name.attributeValue)
///     case "age": .value(age.attributeValue)
///     default: throw .unknownKey(key, entity: "Dog")
///     }
///   }
/// }
/// ```
public protocol EvaluationSubject {
  /// The value of a property. A to-one relationship is a subject or nil, a to-many one a collection of
  /// subjects, a `Float` attribute ``EvaluationValue/float(_:)``.
  ///
  /// - Throws: ``EvaluationError/unknownKey(_:entity:)`` where there is no such property.
  func evaluationValue(forKey key: String) throws(EvaluationError) -> EvaluationValue

  /// By what the subject is equal to another one, or to an object that is a constant; nil for one that is
  /// equal to none.
  var evaluationIdentity: ObjectReference? { get }
}
