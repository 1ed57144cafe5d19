import CDModel

extension StepBuilder {
  /// Maps the relationships of a mapping's destination by rules, or by the relationships that they were in the source.
  func mapOwnRelationships(of mappingIndex: Int) {
    for relationship in destination.relationships(of: mappings[mappingIndex].destinationName) {
      let name = ownName(relationship, mappingIndex)
      let origin = originRelationship(of: relationship, in: mappings[mappingIndex])
      if let origin {
        mappings[mappingIndex].keptRelationships.insert(origin.relationship.name)
      }
      if let rule = mappings[mappingIndex].relationshipRules[relationship.name] {
        mapByRule(relationship, name, origin?.relationship, rule, of: mappingIndex)
      } else if let origin {
        guard compare(relationship, name, origin.relationship, origin.owner, of: mappingIndex, hasRule: false)
        else { continue }
        mappings[mappingIndex].mapping.relationships.append(
          RelationshipMapping(
            name: relationship.name, value: .objects(.keyPath([origin.relationship.name]))))
      }
    }
  }

  private func ownName(_ relationship: RelationshipDescription, _ mappingIndex: Int) -> PropertyName {
    let entity = mappings[mappingIndex].destinationName
    return PropertyName(
      destination.declaringEntity(of: relationship.name, in: entity)?.name ?? entity, relationship.name)
  }

  private func originRelationship(of relationship: RelationshipDescription, in builder: MappingBuilder) -> (
    relationship: RelationshipDescription, owner: String
  )? {
    guard let name = builder.properties[relationship.name],
      case .relationship(let old)? = source.property(name, of: builder.sourceName),
      let owner = source.declaringEntity(of: name, in: builder.sourceName)?.name
    else { return nil }
    return (old, owner)
  }

  private func mapByRule(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ origin: RelationshipDescription?,
    _ rule: RuleReference, of mappingIndex: Int
  ) {
    if let origin,
      let owner = source.declaringEntity(of: origin.name, in: mappings[mappingIndex].sourceName)?.name
    {
      _ = compare(relationship, name, origin, owner, of: mappingIndex, hasRule: true)
    } else {
      let verdict: ModelChange.Verdict = relationship.isMandatoryToOne ? .needsRule : .automatic
      changes.add(
        .relationshipAdded(name), verdict, resolution(verdict, of: mappingIndex, hasRule: true),
        mappings[mappingIndex].mapping)
    }
    // If the rule is wrong, the relationship that it reads is not also reported as lost.
    let paths = readPaths(rule.value, in: mappings[mappingIndex].sourceName)
    let first = source.relationships(of: mappings[mappingIndex].sourceName).first { paths.contains($0.name) }
    if let first { mappings[mappingIndex].keptRelationships.insert(first.name) }
    guard let value = checkedObjects(of: rule, for: relationship, in: mappingIndex) else { return }
    if value == .null {
      mappings[mappingIndex].mapping.relationships.append(
        RelationshipMapping(name: relationship.name, value: .none))
      return
    }
    mappings[mappingIndex].mapping.relationships.append(
      RelationshipMapping(name: relationship.name, value: .objects(value)))
  }

  // MARK: The other side

  /// Maps relationships that have no objects of their own: they get the objects whose inverse refers to them. Also
  /// finds conflicts, where both sides have objects of their own but were not inverses of each other.
  func mapOtherRelationships(of mappingIndex: Int) {
    for relationship in destination.relationships(of: mappings[mappingIndex].destinationName) {
      let name = ownName(relationship, mappingIndex)
      let inverse = destination.inverse(of: relationship, in: mappings[mappingIndex].destinationName)
      let others = inverse.map { inverse in
        mappings.indices.filter { other in
          mappings[other].hasObjects
            && destination.isKind(mappings[other].destinationName, of: relationship.destination)
            && mappings[other].mapping.relationships.contains { $0.name == inverse.name && $0.isOwn }
        }
      }
      let own = mappings[mappingIndex].mapping.relationships.firstIndex { $0.name == relationship.name }
      if let own {
        if let inverse, let others, !others.isEmpty {
          resolvePair(relationship, name, inverse, others, at: own, of: mappingIndex)
        }
        continue
      }
      // A rule or an origin exists, but it was wrong or not sufficient, which is already reported.
      if mappings[mappingIndex].relationshipRules[relationship.name] != nil
        || mappings[mappingIndex].properties[relationship.name] != nil
      {
        continue
      }
      mappings[mappingIndex].newRelationships.append(relationship)
      let isSure = inverse.map { reachesAll(from: others ?? [], by: $0, mappingIndex) } ?? false
      let verdict: ModelChange.Verdict =
        relationship.isMandatoryToOne && !isSure ? .needsRule : .automatic
      changes.add(
        .relationshipAdded(name), verdict, resolution(verdict, of: mappingIndex, hasRule: false),
        mappings[mappingIndex].mapping)
      if verdict == .needsRule { continue }
      if relationship.isToMany, !relationship.isOptional || relationship.minimumCount ?? 0 > 0 {
        changes.add(
          .rulesTightened(.relationship(name)), .automatic,
          resolution(.automatic, of: mappingIndex, hasRule: false), mappings[mappingIndex].mapping)
      }
      let value: RelationshipMapping.Value = others?.isEmpty ?? true ? .none : .inverse
      mappings[mappingIndex].mapping.relationships.append(
        RelationshipMapping(name: relationship.name, value: value))
    }
  }

  /// Whether the inverse is certain to refer to every object of the mapping. This is so if it was already the inverse
  /// of a relationship that every object had, and all objects of that inverse are migrated.
  private func reachesAll(
    from others: [Int], by inverse: RelationshipDescription, _ mappingIndex: Int
  ) -> Bool {
    !others.isEmpty
      && others.allSatisfy { other in
        let entity = mappings[other].sourceName
        guard mappings[other].relationshipRules[inverse.name] == nil,
          let name = mappings[other].properties[inverse.name],
          case .relationship(let old)? = source.property(name, of: entity),
          let back = source.inverse(of: old, in: entity), back.isMandatoryToOne,
          source.property(back.name, of: mappings[mappingIndex].sourceName) == .relationship(back)
        else { return false }
        return concrete(back.destination).allSatisfy { name in
          ownership.excludedWithOwners[name] == nil
            && (mappingsBySource[name] ?? []).contains {
              others.contains($0) && mappings[$0].mapping.filter == nil
            }
        }
      }
  }

  /// Decides which side of a relationship pair determines the objects if both sides have some.
  private func resolvePair(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ inverse: RelationshipDescription,
    _ others: [Int], at own: Int, of mappingIndex: Int
  ) {
    let hasRule = mappings[mappingIndex].relationshipRules[relationship.name] != nil
    let otherHasRule = others.contains { mappings[$0].relationshipRules[inverse.name] != nil }
    if otherHasRule, !hasRule {
      // A rule has priority over the objects inferred for the other side.
      mappings[mappingIndex].mapping.relationships[own].value = .inverse
      if let origin = originRelationship(of: relationship, in: mappings[mappingIndex])?.relationship {
        mappings[mappingIndex].keptRelationships.remove(origin.name)
      }
      return
    }
    if hasRule { return }
    guard let origin = originRelationship(of: relationship, in: mappings[mappingIndex])?.relationship else {
      return
    }
    let before = source.inverse(of: origin, in: mappings[mappingIndex].sourceName)
    let isPair = others.allSatisfy { other in
      mappings[other].properties[inverse.name] == before?.name
        && mappings[other].isOf(before, in: source, from: origin.destination)
    }
    guard !isPair else { return }
    conflicts.append((mappingIndex, relationship.name))
    changes.remove(.inverseChanged(name, from: before?.name, to: inverse.name, isConflict: false))
    changes.add(
      .inverseChanged(name, from: before?.name, to: inverse.name, isConflict: true), .needsRule,
      resolution(.needsRule, of: mappingIndex, hasRule: false), mappings[mappingIndex].mapping)
  }
}

extension StepBuilder {
  /// Removes conflicting relationships from the mappings.
  func removeConflicts() {
    for (mappingIndex, name) in conflicts {
      mappings[mappingIndex].mapping.relationships.removeAll { $0.name == name }
    }
  }
}

extension MappingBuilder {
  /// Whether a relationship of the source belongs to the mapping's source entity.
  fileprivate func isOf(
    _ relationship: RelationshipDescription?, in graph: EntityGraph, from entity: String
  ) -> Bool {
    guard let relationship else { return false }
    return graph.property(relationship.name, of: sourceName) == .relationship(relationship)
      && graph.isKind(sourceName, of: entity)
  }
}

extension RelationshipDescription {
  /// Whether every object must have exactly one destination object.
  var isMandatoryToOne: Bool { !isToMany && !isOptional }
}

extension RelationshipMapping {
  /// Whether the relationship's objects are mapped from the source, and not taken from the inverse.
  var isOwn: Bool {
    if case .objects = value { true } else { false }
  }
}

// Compares a relationship with its origin in the source.
extension StepBuilder {
  /// - Returns: Whether the origin's objects are sufficient.
  private func compare(
    _ new: RelationshipDescription, _ name: PropertyName, _ old: RelationshipDescription, _ owner: String,
    of mappingIndex: Int, hasRule: Bool
  ) -> Bool {
    let oldName = PropertyName(owner, old.name)
    var isEnough = true
    if isInferred(mappingIndex), new.name != old.name {
      changes.add(.relationshipRenamed(from: oldName, to: name))
    } else if isInferred(mappingIndex), match.entities[name.entity] != owner {
      changes.add(.relationshipMoved(from: oldName, to: name))
    }
    func note(_ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict = .automatic) {
      if verdict == .needsRule { isEnough = false }
      changes.add(
        kind, verdict, resolution(verdict, of: mappingIndex, hasRule: hasRule, dropping: old.name),
        mappings[mappingIndex].mapping)
    }
    compareDestinations(new, name, old, of: mappingIndex, note)
    switch (old.isToMany, new.isToMany) {
    case (false, true): note(.relationshipBecameToMany(name))
    case (true, false): note(.relationshipBecameToOne(name), .needsRule)
    case (true, true):
      if !old.isOrdered, new.isOrdered { note(.relationshipBecameOrdered(name)) }
      if old.isOrdered, !new.isOrdered { note(.relationshipBecameUnordered(name), .losesData) }
    case (false, false): break
    }
    compareRules(new, name, old, note)
    compareInverses(new, name, old, of: mappingIndex, note)
    return isEnough
  }

  private func compareRules(
    _ new: RelationshipDescription, _ name: PropertyName, _ old: RelationshipDescription,
    _ note: (ModelChange.Kind, ModelChange.Verdict) -> Void
  ) {
    let element = ModelElement.relationship(name)
    if !old.isOptional, new.isOptional { note(.relationshipBecameOptional(name), .automatic) }
    if new.isMandatoryToOne, old.isOptional || old.isToMany {
      note(.relationshipBecameMandatory(name), .needsRule)
    }
    let isTighter =
      new.isToMany
      && (old.isOptional && !new.isOptional
        || new.minimumCount.map { $0 > old.minimumCount ?? 0 } ?? false
        || new.maximumCount.map { $0 < old.maximumCount ?? Int.max } ?? false)
    if isTighter { note(.rulesTightened(element), .automatic) }
    if old.deleteRule != new.deleteRule { note(.deleteRuleChanged(name), .automatic) }
    if old.hashModifier != new.hashModifier { note(.modifierChanged(element), .automatic) }
  }

  private func compareDestinations(
    _ new: RelationshipDescription, _ name: PropertyName, _ old: RelationshipDescription,
    of mappingIndex: Int,
    _ note: (ModelChange.Kind, ModelChange.Verdict) -> Void
  ) {
    var lost: [String] = []
    for entity in concrete(old.destination) {
      let mappingIndices = mappingsBySource[entity] ?? []
      // The loss of the entity itself is reported elsewhere. Here it matters only if the relationship needs an object.
      if mappingIndices.isEmpty, !new.isMandatoryToOne { continue }
      // A mandatory relationship needs all of the objects, unless its own object is left out together with its owner.
      let isSure =
        !new.isMandatoryToOne || !ownership.mayExcludeObjects(entity)
        || follows(old, to: entity, of: mappingIndex)
      let fits = mappingIndices.contains {
        destination.isKind(mappings[$0].destinationName, of: new.destination)
          && (mappings[$0].mapping.filter == nil || isSure)
      }
      if !fits { lost.append(entity) }
    }
    let isSame = match.entities[new.destination] == old.destination
    if lost.isEmpty, isSame { return }
    let kind = ModelChange.Kind.relationshipDestinationChanged(
      name, from: old.destination, to: new.destination, lost: lost)
    note(kind, lost.isEmpty ? .automatic : new.isMandatoryToOne ? .needsRule : .losesData)
  }

  /// Notes a changed inverse. The objects are not affected as long as only one side has objects of its own.
  private func compareInverses(
    _ new: RelationshipDescription, _ name: PropertyName, _ old: RelationshipDescription,
    of mappingIndex: Int,
    _ note: (ModelChange.Kind, ModelChange.Verdict) -> Void
  ) {
    let before = source.inverse(of: old, in: mappings[mappingIndex].sourceName)?.name
    let after = destination.inverse(of: new, in: mappings[mappingIndex].destinationName)
    let origin = after.flatMap { after in
      mappings(fromHierarchyOf: old.destination).compactMap { mappings[$0].properties[after.name] }.first
    }
    if before == nil, after == nil { return }
    if origin == before, after != nil { return }
    note(.inverseChanged(name, from: before, to: after?.name, isConflict: false), .automatic)
  }
}
