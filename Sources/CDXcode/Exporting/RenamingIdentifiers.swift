import CDModel
import CDXcodeNames

/// The renaming identifiers of entities and properties in Xcode, if they differ from the names.
///
/// Core Data treats two elements of neighbouring versions as the same if their identifiers are equal. Without an
/// explicit identifier, the name is the identifier. The schema language instead gives a renamed element its old name.
/// So an element that was renamed once keeps its first name as its identifier in all later versions. If a new element gets
/// that name, its identifier is the name with the number of the version.
///
/// All names are those in Xcode's model. An import may have had to change them for the schema language.
struct RenamingIdentifiers {
  /// The identifiers by entity. There is no entry for entities whose identifier is their name in Xcode's model.
  private var entities: [String: String] = [:]
  /// The identifiers by `Entity.property`.
  private var properties: [String: String] = [:]

  /// Creates the identifiers of a version without a base.
  init() {}

  /// Creates the identifiers of a version from those of its base.
  init(_ version: ModelVersion, base: ModelVersion?, identifiers: RenamingIdentifiers) {
    guard let base else { return }
    let graph = EntityGraph(base)
    var newEntities: [EntityDescription] = []
    var newProperties: [(entity: EntityDescription, names: [(String, String)])] = []
    for entity in version.entities {
      let old = entity.renamedFrom ?? entity.name
      let source = graph.entity(old)
      let isNew = source == nil
      if let source {
        let identifier = identifiers.entities[old] ?? XcodeName.of(source)
        if identifier != XcodeName.of(entity) { entities[entity.name] = identifier }
      } else {
        newEntities.append(entity)
      }
      let owned: [(String, String, String?)] =
        entity.attributes.map { ($0.name, XcodeName.of($0), $0.renamedFrom) }
        + entity.relationships.map { ($0.name, XcodeName.of($0), $0.renamedFrom) }
      var newNames: [(String, String)] = []
      for (name, xcodeName, renamedFrom) in owned {
        // `Entity.name` refers to another entity, but Core Data compares only the name.
        let oldName = renamedFrom?.split(separator: ".").last.map(String.init) ?? name
        guard !isNew, let owner = graph.declaringEntity(of: oldName, in: old) else {
          if renamedFrom == nil { newNames.append((name, xcodeName)) }
          continue
        }
        let identifier =
          identifiers.properties["\(owner.name).\(oldName)"] ?? Self.xcodeName(of: oldName, in: owner)
        if identifier != xcodeName { properties["\(entity.name).\(name)"] = identifier }
      }
      if !newNames.isEmpty { newProperties.append((entity, newNames)) }
    }
    let used = Set(entities.values).union(identifiers.entities.values)
    for entity in newEntities where used.contains(XcodeName.of(entity)) {
      entities[entity.name] = Self.unused(XcodeName.of(entity), in: version, used)
    }
    // Without identifiers other than names there is nothing to compare.
    if properties.isEmpty, identifiers.properties.isEmpty { return }
    let ownGraph = EntityGraph(version)
    for (entity, names) in newProperties {
      let used = self.used(in: entity, ownGraph, graph, identifiers)
      for (name, xcodeName) in names where used.contains(xcodeName) {
        properties["\(entity.name).\(name)"] = Self.unused(xcodeName, in: version, used)
      }
    }
  }

  /// The identifiers, other than names, of the properties that an entity shares objects with, in its version and in the base.
  private func used(
    in entity: EntityDescription, _ graph: EntityGraph, _ base: EntityGraph,
    _ identifiers: RenamingIdentifiers
  ) -> Set<String> {
    let relatives = graph.lineage(of: entity.name) + graph.descendants(of: entity.name)
    var result = Set(relatives.flatMap(explicit))
    let sources = relatives.compactMap { base.entity($0.renamedFrom ?? $0.name) }
    for source in sources + base.lineage(of: entity.renamedFrom ?? entity.name) {
      result.formUnion(identifiers.explicit(of: source))
    }
    return result
  }

  /// The identifiers, other than names, of an entity's own properties.
  private func explicit(of entity: EntityDescription) -> [String] {
    (entity.attributes.map(\.name) + entity.relationships.map(\.name))
      .compactMap { properties["\(entity.name).\($0)"] }
  }

  /// An identifier for a new element whose name is the identifier of another one.
  private static func unused(_ name: String, in version: ModelVersion, _ used: Set<String>) -> String {
    var result = "\(name) \(version.number)"
    while used.contains(result) { result += " new" }
    return result
  }

  /// The name that a property has in Xcode's model.
  private static func xcodeName(of name: String, in entity: EntityDescription) -> String {
    if let attribute = entity.attributes.first(where: { $0.name == name }) { return XcodeName.of(attribute) }
    return entity.relationships.first { $0.name == name }.map { XcodeName.of($0) } ?? name
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
