/// The reason why a condition of the `#Predicate` macro cannot be translated.
///
/// ```swift
/// do {
///   _ = try Author.fetch(where: #Predicate { $0.name.count > 20 }, in: context)
/// } catch let error as PredicateTranslationError {
///   print(error)  // names the construct, and another way to say it
/// }
/// ```
public enum PredicateTranslationError: Error, Hashable, Sendable {
  /// The expression language has no counterpart of a construct. If there is a remedy, it describes another way to write
  /// the condition.
  case unsupported(construct: String, remedy: String?)
  /// A key path does not lead to a property of the model, but for example to a computed property of the app.
  case unknownKeyPath(type: String, keyPath: String)
  /// The key paths of the type are unknown, because its code was generated without them.
  case noKeyPaths(type: String)
}

extension PredicateTranslationError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unsupported(let construct, let remedy):
      "a predicate with \(construct) cannot be translated" + (remedy.map { "; \($0)" } ?? "")
    case .unknownKeyPath(let type, let keyPath):
      "\(keyPath) is not a property of \(type) in the model; a predicate can use only such properties"
    case .noKeyPaths(let type):
      "the key paths of \(type) are unknown; write 'keyPaths: true' in model.yaml, and generate the code again"
    }
  }
}

extension PredicateTranslationError: PresentableError {
  public var situation: ErrorSituation { .mistakeOfApp }
}
