import CDModel

extension StepBuilder {
  /// What can be done about a change that nothing is there for, the app's own code first: it can always do it.
  ///
  /// - Parameters:
  ///   - entities: The entities of the destination whose objects it concerns.
  ///   - candidates: Elements that what is gone may have become.
  func remedies(
    for kind: ModelChange.Kind, _ entities: [String], _ candidates: [String]
  ) -> [Remedy] {
    switch kind {
    case .undecided(let element, let note): decisions(element, note)
    case .entityRemoved(let name):
      renames(name, candidates) + [.from(name), .dropEntity(name)]
    case .entityUnmapped(let name), .entityBecameAbstract(let name):
      [.from(match.entities[name] ?? name), .dropEntity(match.entities[name] ?? name)]
    case .entityLeftConfiguration(let name, let configuration):
      [.dropEntity("\(configuration).\(match.entities[name] ?? name)")]
    case .attributeRemoved(let name):
      renames(name.name, candidates) + [.drop(entity: heir(of: name.entity, entities), property: name.name)]
    case .relationshipRemoved(let name):
      renames(name.name, candidates) + [.drop(entity: heir(of: name.entity, entities), property: name.name)]
    case .renameUnresolved(_, let old): [.from(String(old.prefix { $0 != "." }))]
    case .attributeAdded(let name), .attributeBecameStored(let name):
      customs(entities) + [.attributeRule(entity: name.entity, attribute: name.name, example: nil)]
        + [.giveDefault, .makeOptional]
    case .attributeBecameMandatory(let name):
      customs(entities) + [
        .attributeRule(
          entity: name.entity, attribute: name.name,
          example: oldName(of: name, entities).map { "\($0) ?? …" }),
        .giveDefault, .makeOptional,
      ]
    case .attributeTypeChanged(let name, _, let to, .partial):
      customs(entities) + [conversion(of: name, to, entities)]
    case .attributeTypeChanged(let name, _, _, .inexact), .attributeBecameTransient(let name),
      .attributeBecameDerived(let name):
      [.drop(entity: name.entity, property: oldName(of: name, entities) ?? name.name)]
    case .attributeTypeChanged(let name, _, _, _):
      customs(entities) + [.attributeRule(entity: name.entity, attribute: name.name, example: nil)]
    case .codableChanged(let name, _, _), .becameEnumeration(let name, _):
      customs(entities) + [
        .attributeRule(
          entity: name.entity, attribute: name.name, example: oldName(of: name, entities) ?? name.name)
      ]
    case .casesRemoved(let name, _, let cases), .caseValuesChanged(let name, _, let cases):
      customs(entities) + [
        .attributeRule(
          entity: name.entity, attribute: name.name, example: choice(of: name, cases, entities))
      ]
    default: relationshipRemedies(for: kind, entities)
    }
  }

  private func relationshipRemedies(for kind: ModelChange.Kind, _ entities: [String]) -> [Remedy] {
    switch kind {
    case .relationshipAdded(let name), .relationshipBecameMandatory(let name):
      customs(entities) + [
        .relationshipRule(entity: name.entity, relationship: name.name, example: nil), .makeOptional,
      ]
    case .relationshipBecameToOne(let name):
      customs(entities) + [
        .relationshipRule(
          entity: name.entity, relationship: name.name,
          example: "\(oldName(of: name, entities) ?? name.name)[FIRST]")
      ]
    case .inverseChanged(let name, _, _, _):
      customs(entities) + [
        .relationshipRule(
          entity: name.entity, relationship: name.name, example: oldName(of: name, entities) ?? name.name)
      ]
    case .relationshipDestinationChanged(let name, _, _, _):
      destination.entity(name.entity)?.relationships.first { $0.name == name.name }?.isMandatoryToOne ?? false
        ? customs(entities) + [
          .relationshipRule(entity: name.entity, relationship: name.name, example: nil)
        ] + owners(of: name, entities).map { .dropOwned(owner: $0) }
        : customs(entities) + [.drop(entity: name.entity, property: oldName(of: name, entities) ?? name.name)]
    case .relationshipBecameUnordered(let name):
      [.drop(entity: name.entity, property: oldName(of: name, entities) ?? name.name)]
    case .uniqueConstraintAdded(let name, let properties):
      [.duplicateRule(entity: name, properties: properties)]
    default: []
    }
  }

  /// The entities whose rules keep objects, or refuse to part from them, where a mandatory relationship leads to an owner
  /// that may be left behind.
  private func owners(of name: PropertyName, _ entities: [String]) -> [String] {
    guard let old = oldName(of: name, entities),
      let work = mappings.first(where: { $0.hasObjects && entities.contains($0.destinationName) }),
      case .relationship(let relationship)? = source.property(old, of: work.sourceName),
      source.inverse(of: relationship, in: work.sourceName)?.deleteRule == .cascade
    else { return [] }
    let owners = concrete(relationship.destination).filter(ownership.parts)
    var result: [String] = []
    for place in owners.flatMap({ takers[$0] ?? [] }) where mappings[place].mapping.owned != .drop {
      let name = mappings[place].destinationName
      if !result.contains(name) { result.append(name) }
    }
    return result
  }

  private func decisions(_ element: VersionElement, _ note: String) -> [Remedy] {
    guard let found = undecided.first(where: { $0.element == element && $0.part.note == note }) else {
      return []
    }
    return [.decided(entity: rules.entities[found.rule].destination, name: found.part.name)]
  }

  private func customs(_ entities: [String]) -> [Remedy] { entities.prefix(1).map { .custom(entity: $0) } }

  private func renames(_ name: String, _ candidates: [String]) -> [Remedy] {
    candidates.isEmpty ? [] : [.renamed(from: name, to: candidates)]
  }

  /// The entity of the destination under which a drop for an entity of the source stands.
  private func heir(of entity: String, _ entities: [String]) -> String {
    let heirs = heirs[entity] ?? []
    // What a parent's rule says holds for its subentities, but only for those.
    let holds = heirs.first { heir in entities.allSatisfy { destination.isKind($0, of: heir) } }
    return holds ?? entities.first ?? heirs.first ?? entity
  }

  /// What a property of the destination is called in the source.
  private func oldName(of name: PropertyName, _ entities: [String]) -> String? {
    let steps = name.name.split(separator: ".").map(String.init)
    guard let first = steps.first,
      let work = mappings.first(where: { $0.hasObjects && entities.contains($0.destinationName) }),
      let old = work.properties[first]
    else { return nil }
    return ([old] + steps.dropFirst()).joined(separator: ".")
  }

  private func conversion(of name: PropertyName, _ type: AttributeType, _ entities: [String]) -> Remedy {
    let raw = TypeRules.rawType(type, in: destination)
    let leaf = entities.first.flatMap { entity in
      destination.leaves(of: entity).first { $0.path == name.name }
    }
    let isOptional = leaf?.isOptional ?? false
    let old = oldName(of: name, entities) ?? name.name
    // Nil stays nil, for which a mandatory attribute has no place.
    let origin = mappings.first { $0.hasObjects && entities.contains($0.destinationName) }.flatMap { work in
      source.leaves(of: work.sourceName).first { $0.path == old }
    }
    let standIn = !isOptional && origin?.isOptional ?? false ? " ?? …" : ""
    return .attributeRule(
      entity: name.entity, attribute: name.name,
      example: "CAST(\(old), \"\(raw.schemaName)\", \(isOptional ? "nil" : "…"))\(standIn)")
  }

  /// A rule that gives objects with one raw value another.
  private func choice(of name: PropertyName, _ cases: [String], _ entities: [String]) -> String? {
    guard let old = oldName(of: name, entities), let first = cases.first else { return nil }
    return "TERNARY(\(old) == \"\(first)\", …, \(old))"
  }
}
