/// The key paths of a type's properties with their names in the model, by which ``PredicateTranslator`` knows what a
/// key path of `#Predicate` stands for. Generated code has them where `keyPaths: true` in `model.yaml` asks for it.
///
/// A subclass lists what it inherits too: `\Book.title` and `\Publication.title` are not equal.
@_spi(Generated) public struct KeyPathTable {
  let names: [Substring]
  let paths: [AnyKeyPath]
  let objectID: AnyKeyPath?

  /// - Parameters:
  ///   - names: The names in the model, with a blank between them.
  ///   - paths: As many key paths, in the same order.
  ///   - objectID: The key path of an object's identifier; nil for a composite.
  public init(_ names: String, _ paths: [AnyKeyPath], objectID: AnyKeyPath? = nil) {
    self.names = names.split(separator: " ")
    self.paths = paths
    self.objectID = objectID
  }

  /// The table of a type whose code has been generated without.
  static var empty: KeyPathTable { KeyPathTable("", []) }

  var isEmpty: Bool { paths.isEmpty }

  /// The name of a property; nil for a path that is none's.
  func name(of path: AnyKeyPath) -> String? {
    guard let place = paths.firstIndex(of: path), names.indices.contains(place) else { return nil }
    return String(names[place])
  }
}
