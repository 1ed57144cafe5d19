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

  /// Whether another subject is the same object: by their identities, unless the type knows better.
  func isSameObject(as other: any EvaluationSubject) -> Bool

  /// Whether a constant means the object: by its identity, unless the type knows better.
  func isSameObject(as reference: ObjectReference) -> Bool
}

extension EvaluationSubject {
  /// Whether both have one identity; false where one of them has none.
  public func isSameObject(as other: any EvaluationSubject) -> Bool {
    evaluationIdentity.map { $0.isSame(as: other.evaluationIdentity) } ?? false
  }

  /// Whether the identity is the constant's; false where there is none.
  public func isSameObject(as reference: ObjectReference) -> Bool {
    reference.isSame(as: evaluationIdentity)
  }
}

extension ObjectReference {
  /// Whether two identities mean one object; false where the other is none.
  func isSame(as other: ObjectReference?) -> Bool {
    other.map { CodeUnits.areEqual(uri, $0.uri) } ?? false
  }
}
