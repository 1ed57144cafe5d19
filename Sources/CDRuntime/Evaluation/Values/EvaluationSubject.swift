public import CDModel

/// A subject of predicates: a managed object, a row, or anything else that has values by key.
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
  /// Returns the value of a property. A to-one relationship is a subject or nil. A to-many relationship is a collection
  /// of subjects. A `Float` attribute is ``EvaluationValue/float(_:)``.
  ///
  /// - Throws: ``EvaluationError/unknownKey(_:entity:)`` if there is no such property.
  func evaluationValue(forKey key: String) throws(EvaluationError) -> EvaluationValue

  /// The identity, by which the subject equals another subject or an object that is a constant. A subject without an
  /// identity equals no other object.
  var evaluationIdentity: ObjectReference? { get }

  /// Returns whether another subject is the same object. By default, compares the identities.
  func isSameObject(as other: any EvaluationSubject) -> Bool

  /// Returns whether a constant is the same object. By default, compares the identities.
  func isSameObject(as reference: ObjectReference) -> Bool
}

extension EvaluationSubject {
  /// Returns whether both subjects have the same identity. Returns false if one of them has none.
  public func isSameObject(as other: any EvaluationSubject) -> Bool {
    evaluationIdentity.map { $0.isSame(as: other.evaluationIdentity) } ?? false
  }

  /// Returns whether the constant is the subject's identity. Returns false if the subject has none.
  public func isSameObject(as reference: ObjectReference) -> Bool {
    reference.isSame(as: evaluationIdentity)
  }
}

extension ObjectReference {
  /// Returns whether two identities are the same object. Returns false if the other one is nil.
  ///
  /// The URIs of one identifier can differ, for example in the case of the store's UUID. They are compared only if they
  /// are not those of identifiers.
  func isSame(as other: ObjectReference?) -> Bool {
    guard let other else { return false }
    if let id = ManagedObjectID(self), let otherID = ManagedObjectID(other) { return id == otherID }
    return CodeUnits.areEqual(uri, other.uri)
  }
}
