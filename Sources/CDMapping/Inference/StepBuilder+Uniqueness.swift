import CDModel

extension StepBuilder {
  /// Finds the unique constraints that objects of the source need not meet.
  func compareUniqueness() {
    for entity in destination.version.entities {
      for properties in entity.uniquenessConstraints where !holds(properties, of: entity.name) {
        let hasRule = rules.duplicates.contains {
          $0.entity == entity.name && Set($0.properties) == Set(properties)
        }
        let places = mappings.indices.filter {
          mappings[$0].hasObjects && destination.isKind(mappings[$0].destinationName, of: entity.name)
        }
        let isCustom = places.allSatisfy { mappings[$0].isCustom }
        changes.add(
          .uniqueConstraintAdded(entity: entity.name, properties: properties), .needsRule,
          hasRule ? .mapped : isCustom ? .custom : .open)
      }
    }
    for entity in destination.version.entities {
      guard let old = match.entities[entity.name].flatMap({ source.entity($0) }) else { continue }
      let kept = Set(entity.uniquenessConstraints.map(Set.init))
      let origins = match.properties(of: entity.name, from: old.name)
      let news = Dictionary(origins.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
      for properties in old.uniquenessConstraints
      where !kept.contains(Set(properties.compactMap { news[$0] })) {
        changes.add(.uniqueConstraintRemoved(entity: entity.name, properties: properties))
      }
    }
  }

  /// Whether all objects that are to meet a constraint are sure to.
  private func holds(_ properties: [String], of entity: String) -> Bool {
    let places = mappings.indices.filter {
      mappings[$0].hasObjects && destination.isKind(mappings[$0].destinationName, of: entity)
    }
    if places.isEmpty { return true }
    // A new value that differs from object to object, or nil, which is equal to nothing, is all it takes.
    if places.allSatisfy({ place in properties.contains { isDistinct($0, of: place) } }) { return true }
    // Otherwise a constraint of before must see to it: over one object each, and over the same values.
    let sources = places.map { mappings[$0].sourceName }
    guard Set(sources).count == sources.count, let first = sources.first else { return false }
    return source.lineage(of: first).contains { old in
      sources.allSatisfy { source.isKind($0, of: old.name) }
        && old.uniquenessConstraints.contains { constraint in
          places.allSatisfy { place in
            constraint.allSatisfy { name in properties.contains { isCopy($0, of: name, in: place) } }
          }
        }
    }
  }

  private func isDistinct(_ property: String, of place: Int) -> Bool {
    guard let value = mappings[place].mapping.attributes.first(where: { $0.name == property })?.value else {
      return mappings[place].mapping.relationships.contains { $0.name == property && $0.value == .none }
    }
    return value == .null || value == .function(.uuid, [])
  }

  /// Whether a property has the very values that one of the source has.
  private func isCopy(_ property: String, of name: String, in place: Int) -> Bool {
    let value =
      mappings[place].mapping.attributes.first { $0.name == property }?.value
      ?? mappings[place].mapping.relationships.first { $0.name == property }.flatMap {
        if case .objects(let value) = $0.value { value } else { nil }
      }
    return value == .keyPath([name])
  }

  /// What has no effect on objects and is told for completeness, or was likely meant to have one.
  func compareRest() {
    for entity in destination.version.entities {
      for each in entity.attributes {
        compareRename(
          each.name, each.renamedFrom, .attribute(entity: entity.name, name: each.name), of: entity.name)
      }
      for each in entity.relationships {
        compareRename(
          each.name, each.renamedFrom, .relationship(entity: entity.name, name: each.name), of: entity.name)
      }
      guard let old = match.entities[entity.name].flatMap({ source.entity($0) }) else { continue }
      if Set(old.indexes) != Set(entity.indexes) { changes.add(.indexesChanged(entity: entity.name)) }
    }
  }

  /// Finds a `renamedFrom` that speaks of an entity whose objects go elsewhere, so that it has no effect.
  private func compareRename(
    _ name: String, _ renamedFrom: String?, _ element: VersionElement, of entity: String
  ) {
    // Over several versions the old name may be that of a version between.
    guard match.isDirect, let renamedFrom, let dot = renamedFrom.firstIndex(of: ".") else { return }
    let (owner, old) = (String(renamedFrom[..<dot]), String(renamedFrom[renamedFrom.index(after: dot)...]))
    guard source.property(old, of: owner) != nil else { return }
    let places = mappings.indices.filter {
      mappings[$0].hasObjects && destination.isKind(mappings[$0].destinationName, of: entity)
    }
    if places.contains(where: { source.isKind(mappings[$0].sourceName, of: owner) }) { return }
    let hasRule = places.contains {
      mappings[$0].attributeRules.keys.contains { $0 == name || $0.hasPrefix(name + ".") }
        || mappings[$0].relationshipRules[name] != nil
    }
    let isCustom = places.contains { mappings[$0].isCustom }
    changes.add(
      .renameUnresolved(element, from: renamedFrom), .needsRule,
      hasRule ? .mapped : isCustom ? .custom : .open)
  }
}
