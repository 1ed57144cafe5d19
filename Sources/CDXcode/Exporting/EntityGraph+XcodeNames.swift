import CDModel

/// The names in Xcode's model of the elements that other elements refer to.
extension EntityGraph {
  func xcodeName(ofEntity name: String) -> String {
    entity(name).map { XcodeName.of($0) } ?? name
  }

  func xcodeName(ofComposite name: String) -> String {
    composite(name).map { XcodeName.of($0, in: version) } ?? name
  }

  /// The key path of a property that an entity declares or inherits, or of a field of a composite attribute.
  func xcodePath(_ path: String, of entity: String) -> String {
    let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let first = parts.first, let property = property(first, of: entity) else { return path }
    var names = [XcodeName.of(property)]
    for part in parts.dropFirst() {
      guard case .attribute(let attribute) = property, case .composite(let name) = attribute.type,
        let field = composite(name)?.fields.first(where: { $0.name == part })
      else {
        names.append(part)
        continue
      }
      names.append(XcodeName.of(field, of: name, in: version))
    }
    return names.joined(separator: ".")
  }
}
