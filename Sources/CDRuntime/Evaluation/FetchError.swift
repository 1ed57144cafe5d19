/// Why a fetch has no answer.
///
/// ```swift
/// do {
///   let author = try Author.object(matching: \.name, "Grace", in: context)
///   print(author?.born ?? "unknown")
/// } catch FetchError.tooManyObjects {
///   print("there are several authors of this name")
/// }
/// ```
public enum FetchError: Error, Hashable, Sendable {
  /// The context's model has no such entity.
  case unknownEntity(String)
  /// An abstract entity has no objects of its own to insert.
  case abstractEntity(String)
  /// The class is not the one that the context's model has for the entity.
  case wrongClass(entity: String, expected: String)
  /// There are several objects where one was asked for.
  case tooManyObjects(entity: String)
  /// There is no object of this identifier.
  case unknownObject(ManagedObjectID)
  /// The entity has no such property.
  case unknownKey(entity: String, key: String)
  /// The value is not of the attribute's type.
  case wrongType(entity: String, key: String, expected: String, given: String)
  /// The model has no such fetch template.
  case unknownTemplate(entity: String, name: String)
  /// The predicate or the sort order does not fit the model: every mistake.
  case invalid(entity: String, [ExpressionDiagnostic])
  /// A key of the order has string options, and its values are no strings.
  case optionsOfNoString(entity: String, key: String)
  /// A key path whose objects are to be prefetched has a step that is no relationship.
  case notARelationship(entity: String, key: String)
  /// A key path whose values are to be fetched leads to many values, or is no property's.
  case notAValue(entity: String, key: String)
  /// A variable of the predicate has no value.
  case missingVariable(String)
  /// What cannot be evaluated, with the construct.
  case unsupported(String)
  /// The regular expressions of the fetch take too many steps for its values together: the one that was at work when the
  /// limit was reached.
  case patternTooCostly(pattern: String)
  /// The evaluation has no result, with the reason: a sum beyond Int64, a division by zero.
  case evaluation(String)
}

extension FetchError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownEntity(let name): "the context's model has no entity '\(name)'"
    case .abstractEntity(let name): "entity '\(name)' is abstract; insert an object of one of its subentities"
    case .wrongClass(let entity, let expected):
      "entity '\(entity)' of the context's model has class \(expected); fetch with that one"
    case .tooManyObjects(let entity):
      "several objects of '\(entity)' match where one was asked for; fetch a list, or make the key unique"
    case .unknownObject(let id): "there is no object \(id)"
    case .unknownKey(let entity, let key): "entity '\(entity)' has no property '\(key)'"
    case .wrongType(let entity, let key, let expected, let given):
      "'\(entity).\(key)' is compared with \(given); it takes \(expected)"
    case .unknownTemplate(let entity, let name): "entity '\(entity)' has no fetch '\(name)'"
    case .invalid(let entity, let diagnostics):
      "the fetch of '\(entity)' is invalid: " + diagnostics.map(\.description).joined(separator: "; ")
    case .optionsOfNoString(let entity, let key):
      "'\(entity).\(key)' is sorted with string options and is no string; leave the options out"
    case .notARelationship(let entity, let key):
      "'\(entity).\(key)' is to be prefetched and is no relationship; name relationships alone"
    case .notAValue(let entity, let key):
      "'\(entity).\(key)' is not one value; fetch attributes, to-one relationships and what those lead to"
    case .missingVariable(let name): "variable '$\(name)' has no value; give it one in `variables`"
    case .unsupported(let construct): "\(construct) cannot be evaluated"
    case .patternTooCostly(let pattern): EvaluationError.matchingTooCostly(pattern: pattern).description
    case .evaluation(let reason): reason
    }
  }
}
