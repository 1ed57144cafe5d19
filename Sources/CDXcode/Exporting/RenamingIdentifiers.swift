import CDModel

/// The renaming identifiers of entities and properties in Xcode, if they differ from the names.
///
/// Core Data treats two elements of neighbouring versions as the same if their identifiers are equal. Without an
/// explicit identifier, the name is the identifier. The schema language instead gives a renamed element its old name.
/// So an element that was renamed once keeps its first name as its identifier in all later versions.
struct RenamingIdentifiers {
  /// The identifiers by entity. There is no entry for entities whose identifier is their name.
  private var entities: [String: String] = [:]
  /// The identifiers by `Entity.property`.
  private var properties: [String: String] = [:]

  /// Creates the identifiers of a version without a base.
  init() {}

  /// Creates the identifiers of a version from those of its base.
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
        // `Entity.name` refers to another entity, but Core Data compares only the name.
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

  /// Adopts identifiers that `info` stores for single elements. They also affect the versions that follow.
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
