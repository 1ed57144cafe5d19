/// A reason why a property cannot be read or set by its key.
///
/// ```swift
/// do {
///   try book.setValue("cheap", forKey: "price")
/// } catch PropertyError.wrongType(_, let key, let expected, let given) {
///   print("\(key) takes \(expected), not \(given)")
/// }
/// ```
public enum PropertyError: Error, Hashable, Sendable {
  /// The entity does not have the property.
  case unknownKey(entity: String, key: String, suggestion: String? = nil)
  /// The value has another type than the property, or is out of the type's range.
  case wrongType(entity: String, key: String, expected: String, given: String)
  /// A derived attribute or a fetched property cannot be set.
  case readOnly(entity: String, key: String)
  /// The object's context has been reset, or the object's row is gone.
  case inaccessible(entity: String, key: String)
}

extension PropertyError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .unknownKey(let entity, let key, let suggestion):
      "entity '\(entity)' has no property '\(key)'" + FetchError.question(suggestion)
    case .wrongType(let entity, let key, let expected, let given):
      "'\(entity).\(key)' takes \(expected), not \(given)"
    case .readOnly(let entity, let key):
      "'\(entity).\(key)' is computed and cannot be set; set the properties that it is computed from"
    case .inaccessible(let entity, let key):
      "'\(entity).\(key)' cannot be set: the object's row no longer exists, or its context has been reset; fetch "
        + "the object again"
    }
  }
}

extension PropertyError: PresentableError {
  public var situation: ErrorSituation {
    if case .inaccessible = self { .objectGone } else { .mistakeOfApp }
  }
}
