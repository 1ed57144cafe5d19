import CDModel

/// Checks every `renamedFrom` of a version against the versions that it is based on.
struct RenameValidator {
  let version: ModelVersion
  let graph: EntityGraph
  let bases: [EntityGraph]
  /// Whether the version is locked, so that nobody can correct it.
  let isLocked: Bool
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  func validate() {
    var sources: [String: String] = [:]
    let kept = Set(version.entities.lazy.filter { $0.renamedFrom == nil }.map(\.name))
    for entity in version.entities {
      if let old = entity.renamedFrom {
        validate(old, of: entity, kept: kept, sources: &sources)
      }
      validateProperties(of: entity)
    }
    for composite in version.composites { validateFields(of: composite) }
  }

  private func error(_ element: SchemaElement, _ message: String, suggestion: String? = nil) {
    guard let location = positions.nearest(to: element, key: "renamedFrom") else { return }
    diagnostics.error(location, message, suggestion: suggestion)
  }

  /// Reports a mistake with which stores can exist already. In a locked version it is a warning.
  private func mistake(_ element: SchemaElement, _ message: String) {
    guard let location = positions.nearest(to: element, key: "renamedFrom") else { return }
    if isLocked { diagnostics.warning(location, message) } else { diagnostics.error(location, message) }
  }

  private var baseName: String {
    switch version.basedOn.count {
    case 0: "a version before"
    case 1: "version \(version.basedOn[0])"
    default: "the versions " + version.basedOn.map(String.init).joined(separator: ", ")
    }
  }

  /// - Parameter kept: The names of the entities without `renamedFrom`.
  private func validate(
    _ old: String, of entity: EntityDescription, kept: Set<String>, sources: inout [String: String]
  ) {
    let element = SchemaElement.part(.entity(entity.name), version: version.number)
    guard !bases.isEmpty else {
      error(
        element,
        "'renamedFrom' names an element of the version that this one is based on, but this version is not based on "
          + "another"
      )
      return
    }
    guard bases.contains(where: { $0.entity(old) != nil }) else {
      error(
        element, "\(baseName) has no entity '\(old)'",
        suggestion: closestName(to: old, in: bases.flatMap { $0.version.entities.map(\.name) }))
      return
    }
    if let other = sources[old] {
      error(element, "'\(other)' is already renamed from '\(old)'; use a mapping to split an entity into two")
    } else if kept.contains(old) {
      error(
        element,
        "this version still has an entity '\(old)', which keeps its objects; "
          + "use a mapping to split an entity into two")
    }
    sources[old] = entity.name
  }

  private func validateProperties(of entity: EntityDescription) {
    let attributes = entity.attributes.map {
      (
        $0.name, $0.renamedFrom,
        SchemaElement.part(.attribute(entity: entity.name, name: $0.name), version: version.number), true
      )
    }
    let relationships = entity.relationships.map {
      (
        $0.name, $0.renamedFrom,
        SchemaElement.part(.relationship(entity: entity.name, name: $0.name), version: version.number), false
      )
    }
    var sources: [String: String] = [:]
    let unrenamed = Set((attributes + relationships).filter { $0.1 == nil }.map(\.0))
    for (name, old, element, isAttribute) in attributes + relationships {
      guard let old else { continue }
      guard !bases.isEmpty else {
        error(
          element,
          "'renamedFrom' names an element of the version that this one is based on, but this version is not based "
            + "on another"
        )
        continue
      }
      let steps = old.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard steps.count <= 2 else {
        error(element, "'renamedFrom' is a property's name, or Entity.name, not '\(old)'")
        continue
      }
      let owner = steps.count == 2 ? steps[0] : entity.renamedFrom ?? entity.name
      let property = steps[steps.count - 1]
      if steps.count == 2, !bases.contains(where: { $0.entity(owner) != nil }) {
        error(
          element, "\(baseName) has no entity '\(owner)'",
          suggestion: closestName(to: owner, in: bases.flatMap { $0.version.entities.map(\.name) }))
        continue
      }
      guard bases.contains(where: { has(property, of: owner, isAttribute: isAttribute, in: $0) }) else {
        let noun = isAttribute ? "attribute" : "relationship"
        let names = bases.flatMap {
          isAttribute ? $0.attributes(of: owner).map(\.name) : $0.relationships(of: owner).map(\.name)
        }
        error(
          element, "'\(owner)' of \(baseName) has no \(noun) '\(property)'",
          suggestion: closestName(to: property, in: names))
        continue
      }
      if let other = sources[old] {
        error(element, "'\(other)' is renamed from '\(old)' already")
      } else if steps.count == 1, unrenamed.contains(property) {
        error(element, "this version still has '\(property)', which keeps its values")
      } else if keeps(property, of: owner, entity, isAttribute: isAttribute) {
        mistake(element, "this version still has '\(property)', which keeps its values")
      }
      sources[old] = name
    }
  }

  /// Whether an entity of this version still has an older property, declared by the same entity as before: by itself or
  /// by an ancestor. A property that another entity declares now is a new one, so that a rename can take the old values.
  ///
  /// - Parameter owner: The entity that the rename refers to. It may be another entity, whose properties are not kept here.
  private func keeps(
    _ property: String, of owner: String, _ entity: EntityDescription, isAttribute: Bool
  ) -> Bool {
    let isKept: Bool =
      switch graph.property(property, of: entity.name) {
      // A transient or derived attribute keeps no values.
      case .attribute(let attribute)?:
        isAttribute && attribute.isStored && attribute.derivation == nil && attribute.renamedFrom == nil
      case .relationship(let relationship)?: !isAttribute && relationship.renamedFrom == nil
      default: false
      }
    guard isKept, let declaring = graph.declaringEntity(of: property, in: entity.name) else { return false }
    let origin = entity.renamedFrom ?? entity.name
    let oldDeclaring = declaring.renamedFrom ?? declaring.name
    return bases.contains { base in
      base.isKind(origin, of: owner) && has(property, of: origin, isAttribute: isAttribute, in: base)
        && base.declaringEntity(of: property, in: origin)?.name == oldDeclaring
    }
  }

  private func validateFields(of composite: CompositeDescription) {
    var sources: [String: String] = [:]
    for field in composite.fields {
      guard let old = field.renamedFrom else { continue }
      let element = SchemaElement.part(
        .field(composite: composite.name, name: field.name), version: version.number)
      let names = bases.flatMap { $0.composite(composite.name)?.fields.map(\.name) ?? [] }
      if bases.isEmpty {
        error(
          element,
          "'renamedFrom' names an element of the version that this one is based on, but this version is not based "
            + "on another"
        )
      } else if !names.contains(old) {
        error(
          element, "'\(composite.name)' of \(baseName) has no field '\(old)'",
          suggestion: closestName(to: old, in: names))
      } else if let other = sources[old] {
        error(element, "'\(other)' is renamed from '\(old)' already")
      } else if composite.fields.contains(where: { $0.name == old && $0.renamedFrom == nil }) {
        error(element, "this version still has '\(old)', which keeps its values")
      }
      sources[old] = field.name
    }
  }

  private func has(_ name: String, of entity: String, isAttribute: Bool, in base: EntityGraph) -> Bool {
    switch base.property(name, of: entity) {
    case .attribute: isAttribute
    case .relationship: !isAttribute
    default: false
    }
  }
}
