/// The key paths of a type's properties, with the properties' names in the model. ``PredicateTranslator`` uses it to
/// find the property of a key path in `#Predicate`. Generated code has such tables if `model.yaml` says
/// `keyPaths: true`.
///
/// A subclass also lists its inherited properties, because `\Book.title` and `\Publication.title` are not equal.
@_spi(Generated) public struct KeyPathTable {
  let names: [Substring]
  let paths: [AnyKeyPath]
  let objectID: AnyKeyPath?

  /// - Parameters:
  ///   - names: The names in the model, separated by blanks.
  ///   - paths: The key paths of the same properties, in the same order.
  ///   - objectID: The key path of an object's identifier; nil for a composite.
  public init(_ names: String, _ paths: [AnyKeyPath], objectID: AnyKeyPath? = nil) {
    self.names = names.split(separator: " ")
    self.paths = paths
    self.objectID = objectID
  }

  /// The table of a type whose generated code has none.
  static var empty: KeyPathTable { KeyPathTable("", []) }

  var isEmpty: Bool { paths.isEmpty }

  /// The name of the property of a key path; nil if the path is not in the table.
  func name(of path: AnyKeyPath) -> String? {
    guard let index = paths.firstIndex(of: path), names.indices.contains(index) else { return nil }
    return String(names[index])
  }
}
