/// Why a condition of the `#Predicate` macro cannot be translated.
///
/// ```swift
/// do {
///   _ = try Author.fetch(where: #Predicate { $0.name.count > 20 }, in: context)
/// } catch let error as PredicateTranslationError {
///   print(error)  // names the construct, and another way to say it
/// }
/// ```
public enum PredicateTranslationError: Error, Hashable, Sendable {
  /// The expression language has no counterpart of a construct. The remedy, where there is one, says how else the
  /// condition can be stated.
  case unsupported(construct: String, remedy: String?)
  /// A key path leads to no property of the model: to a computed one of the app's own, for instance.
  case unknownKeyPath(type: String, keyPath: String)
  /// The type's key paths are not known, since its code was generated without them.
  case noKeyPaths(type: String)
}

extension PredicateTranslationError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unsupported(let construct, let remedy):
      "a predicate with \(construct) cannot be translated" + (remedy.map { "; \($0)" } ?? "")
    case .unknownKeyPath(let type, let keyPath):
      "\(keyPath) is no property of the model that \(type) has; only those can be asked for"
    case .noKeyPaths(let type):
      "the key paths of \(type) are not known; say 'keyPaths: true' in model.yaml, and generate again"
    }
  }
}
