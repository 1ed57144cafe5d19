import CDModel

/// What identifies entities and properties from version to version in Xcode, where it is not their name.
///
/// Two elements of neighbouring versions are the same to Core Data if their identifiers are, an element's name being
/// its identifier where it has no other. Here a new name says what it was called before; so an element that was
/// renamed once keeps its first name as its identifier for good.
struct RenamingIdentifiers {
  /// By entity; the value is nil for those that are identified by their names.
  private var entities: [String: String] = [:]
  /// By `Entity.property`.
  private var properties: [String: String] = [:]

  /// Of a version that follows none.
  init() {}

  /// Of a version, from those of the version that it is based on.
  init(_ version: ModelVersion, base: ModelVersion?, identifiers: RenamingIdentifiers) {
    guard let base else { return }
    let graph = EntityGraph(base)
    for entity in version.entities {
      let old = entity.renamedFrom ?? entity.name
      guard graph.entity(old) != nil else { continue }
      set(entity.name, identifiers.entities[old] ?? old)
      let owned: [(String, String?)] =
        entity.attributes.map { ($0.name, $0.renamedFrom) }
        + entity.relationships.map { ($0.name, $0.renamedFrom) }
      for (name, renamedFrom) in owned {
        // `Entity.name` speaks of another entity: Core Data sees only the name.
        let oldName = renamedFrom?.split(separator: ".").last.map(String.init) ?? name
        guard let owner = graph.declaringEntity(of: oldName, in: old)?.name else { continue }
        let identifier = identifiers.properties["\(owner).\(oldName)"] ?? oldName
        if identifier != name { properties["\(entity.name).\(name)"] = identifier }
      }
    }
  }

  private mutating func set(_ name: String, _ identifier: String) {
    if identifier != name { entities[name] = identifier }
  }

  func entity(_ entity: EntityDescription) -> String? { entities[entity.name] }

  func property(_ name: String, of entity: EntityDescription) -> String? {
    properties["\(entity.name).\(name)"]
  }

  /// Takes what is kept for single elements, which counts for the versions that follow.
  mutating func apply(infoOf version: ModelVersion) {
    for entity in version.entities {
      if let kept = entity.info["xcode.elementID"] {
        entities[entity.name] = kept == XcodeInfo.absent ? nil : kept
      }
      let owned =
        entity.attributes.map { ($0.name, $0.info) } + entity.relationships.map { ($0.name, $0.info) }
      for (name, info) in owned {
        guard let kept = info["xcode.elementID"] else { continue }
        properties["\(entity.name).\(name)"] = kept == XcodeInfo.absent ? nil : kept
      }
    }
  }
}
