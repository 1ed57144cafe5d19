/// The reason why a fetch has no result.
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
  case unknownEntity(String, suggestion: String? = nil)
  /// An abstract entity has no objects of its own, so none can be inserted.
  case abstractEntity(String)
  /// The class is not the class of the entity in the context's model.
  case wrongClass(entity: String, expected: String)
  /// There are several objects, but only one was requested.
  case tooManyObjects(entity: String)
  /// There is no object with this identifier.
  case unknownObject(ManagedObjectID)
  /// The entity has no such property.
  case unknownKey(entity: String, key: String, suggestion: String? = nil)
  /// The value does not have the type of the attribute.
  case wrongType(entity: String, key: String, expected: String, given: String)
  /// The model has no such fetch template.
  case unknownTemplate(entity: String, name: String, suggestion: String? = nil)
  /// The predicate or the sort order does not fit the model. The diagnostics list all errors.
  case invalid(entity: String, [ExpressionDiagnostic])
  /// A sort key has string options, but its values are not strings.
  case optionsOfNoString(entity: String, key: String)
  /// A key path for prefetching has a step that is not a relationship.
  case notARelationship(entity: String, key: String)
  /// A key path for values leads to many values or is not a path of properties.
  case notAValue(entity: String, key: String)
  /// A variable of the predicate has no value.
  case missingVariable(String)
  /// The fetch contains this construct, which cannot be evaluated.
  case unsupported(String)
  /// The regular expressions of the fetch need too many steps for all its values together. The pattern is the one in
  /// use when the limit was reached.
  case patternTooCostly(pattern: String)
  /// The evaluation has no result for this reason, such as a sum that does not fit in Int64 or a division by zero.
  case evaluation(String)
}

extension FetchError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .unknownEntity(let name, let suggestion):
      "the context's model has no entity '\(name)'" + Self.question(suggestion)
    case .abstractEntity(let name): "entity '\(name)' is abstract; insert an object of one of its subentities"
    case .wrongClass(let entity, let expected):
      "entity '\(entity)' of the context's model has the class \(expected); use that class for the fetch"
    case .tooManyObjects(let entity):
      "several objects of '\(entity)' match, but only one was expected; fetch a list, or make the key unique"
    case .unknownObject(let id): "there is no object \(id)"
    case .unknownKey(let entity, let key, let suggestion):
      "entity '\(entity)' has no property '\(key)'" + Self.question(suggestion)
    case .wrongType(let entity, let key, let expected, let given):
      "'\(entity).\(key)' is compared with \(given), but must be compared with \(expected)"
    case .unknownTemplate(let entity, let name, let suggestion):
      "entity '\(entity)' has no fetch '\(name)'" + Self.question(suggestion)
    case .invalid(let entity, let diagnostics):
      "the fetch of '\(entity)' is invalid: " + diagnostics.map(\.description).joined(separator: "; ")
    case .optionsOfNoString(let entity, let key):
      "'\(entity).\(key)' is sorted with string options, but is not a string; remove the options"
    case .notARelationship(let entity, let key):
      "'\(entity).\(key)' cannot be prefetched, because it is not a relationship; name relationships only"
    case .notAValue(let entity, let key):
      "'\(entity).\(key)' is not a single value; fetch attributes, to-one relationships, and properties of their "
        + "objects"
    case .missingVariable(let name): "variable '$\(name)' has no value; add one to `variables`"
    case .unsupported(let construct): "\(construct) cannot be evaluated"
    case .patternTooCostly(let pattern): EvaluationError.matchingTooCostly(pattern: pattern).description
    case .evaluation(let reason): reason
    }
  }
}

extension FetchError {
  /// The end of a message about an unknown name.
  static func question(_ suggestion: String?) -> String {
    suggestion.map { "; did you mean '\($0)'?" } ?? ""
  }
}

extension FetchError: PresentableError {
  public var situation: ErrorSituation {
    switch self {
    case .unknownObject: .notFound
    case .evaluation: .noResult
    case .patternTooCostly: .tooCostly
    default: .mistakeOfApp
    }
  }
}
