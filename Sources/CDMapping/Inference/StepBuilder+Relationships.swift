import CDModel

extension StepBuilder {
  /// Maps the relationships of a mapping's destination by rules, or by the relationships that they were in the source.
  func mapOwnRelationships(of place: Int) {
    for relationship in destination.relationships(of: mappings[place].destinationName) {
      let name = ownName(relationship, place)
      let origin = originRelationship(of: relationship, in: mappings[place])
      if let origin {
        mappings[place].keptRelationships.insert(origin.relationship.name)
      }
      if let rule = mappings[place].relationshipRules[relationship.name] {
        mapByRule(relationship, name, origin?.relationship, rule, of: place)
      } else if let origin {
        guard compare(relationship, name, origin.relationship, origin.owner, of: place, hasRule: false)
        else { continue }
        mappings[place].mapping.relationships.append(
          RelationshipMapping(
            name: relationship.name, value: .objects(.keyPath([origin.relationship.name]))))
      }
    }
  }

  private func ownName(_ relationship: RelationshipDescription, _ place: Int) -> PropertyName {
    let entity = mappings[place].destinationName
    return PropertyName(
      destination.declaringEntity(of: relationship.name, in: entity)?.name ?? entity, relationship.name)
  }

  private func originRelationship(of relationship: RelationshipDescription, in work: WorkMapping) -> (
    relationship: RelationshipDescription, owner: String
  )? {
    guard let name = work.properties[relationship.name],
      case .relationship(let old)? = source.property(name, of: work.sourceName),
      let owner = source.declaringEntity(of: name, in: work.sourceName)?.name
    else { return nil }
    return (old, owner)
  }

  private func mapByRule(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ origin: RelationshipDescription?,
    _ rule: RuleReference, of place: Int
  ) {
    if let origin,
      let owner = source.declaringEntity(of: origin.name, in: mappings[place].sourceName)?.name
    {
      _ = compare(relationship, name, origin, owner, of: place, hasRule: true)
    } else {
      let verdict: ModelChange.Verdict = relationship.isMandatoryToOne ? .needsRule : .automatic
      changes.add(
        .relationshipAdded(name), verdict, resolution(verdict, of: place, hasRule: true),
        mappings[place].mapping)
    }
    // If the rule is wrong, the relationship that it reads is not also reported as lost.
    let paths = readPaths(rule.value, in: mappings[place].sourceName)
    let first = source.relationships(of: mappings[place].sourceName).first { paths.contains($0.name) }
    if let first { mappings[place].keptRelationships.insert(first.name) }
    guard let value = checkedObjects(of: rule, for: relationship, in: place) else { return }
    if value == .null {
      mappings[place].mapping.relationships.append(
        RelationshipMapping(name: relationship.name, value: .none))
      return
    }
    mappings[place].mapping.relationships.append(
      RelationshipMapping(name: relationship.name, value: .objects(value)))
  }

  // MARK: The other side

  /// Maps relationships that have no objects of their own: they get the objects whose inverse refers to them. Also
  /// finds conflicts, where both sides have objects of their own but were not inverses of each other.
  func mapOtherRelationships(of place: Int) {
    for relationship in destination.relationships(of: mappings[place].destinationName) {
      let name = ownName(relationship, place)
      let inverse = destination.inverse(of: relationship, in: mappings[place].destinationName)
      let others = inverse.map { inverse in
        mappings.indices.filter { other in
          mappings[other].hasObjects
            && destination.isKind(mappings[other].destinationName, of: relationship.destination)
            && mappings[other].mapping.relationships.contains { $0.name == inverse.name && $0.isOwn }
        }
      }
      let own = mappings[place].mapping.relationships.firstIndex { $0.name == relationship.name }
      if let own {
        if let inverse, let others, !others.isEmpty {
          settle(relationship, name, inverse, others, at: own, of: place)
        }
        continue
      }
      // A rule or an origin exists, but it was wrong or not sufficient, which is already reported.
      if mappings[place].relationshipRules[relationship.name] != nil
        || mappings[place].properties[relationship.name] != nil
      {
        continue
      }
      mappings[place].newRelationships.append(relationship)
      let isSure = inverse.map { reachesAll(from: others ?? [], by: $0, place) } ?? false
      let verdict: ModelChange.Verdict =
        relationship.isMandatoryToOne && !isSure ? .needsRule : .automatic
      changes.add(
        .relationshipAdded(name), verdict, resolution(verdict, of: place, hasRule: false),
        mappings[place].mapping)
      if verdict == .needsRule { continue }
      if relationship.isToMany, !relationship.isOptional || relationship.minimumCount ?? 0 > 0 {
        changes.add(
          .rulesTightened(.relationship(name)), .automatic,
          resolution(.automatic, of: place, hasRule: false), mappings[place].mapping)
      }
      let value: RelationshipMapping.Value = others?.isEmpty ?? true ? .none : .inverse
      mappings[place].mapping.relationships.append(
        RelationshipMapping(name: relationship.name, value: value))
    }
  }

  /// Whether the inverse is certain to refer to every object of the mapping. This is so if it was already the inverse
  /// of a relationship that every object had, and all objects of that inverse are migrated.
  private func reachesAll(
    from others: [Int], by inverse: RelationshipDescription, _ place: Int
  ) -> Bool {
    !others.isEmpty
      && others.allSatisfy { other in
        let entity = mappings[other].sourceName
        guard mappings[other].relationshipRules[inverse.name] == nil,
          let name = mappings[other].properties[inverse.name],
          case .relationship(let old)? = source.property(name, of: entity),
          let back = source.inverse(of: old, in: entity), back.isMandatoryToOne,
          source.property(back.name, of: mappings[place].sourceName) == .relationship(back)
        else { return false }
        return concrete(back.destination).allSatisfy { name in
          ownership.reached[name] == nil
            && (takers[name] ?? []).contains { others.contains($0) && mappings[$0].mapping.filter == nil }
        }
      }
  }

  /// Decides which side of a relationship pair determines the objects if both sides have some.
  private func settle(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ inverse: RelationshipDescription,
    _ others: [Int], at own: Int, of place: Int
  ) {
    let hasRule = mappings[place].relationshipRules[relationship.name] != nil
    let otherHasRule = others.contains { mappings[$0].relationshipRules[inverse.name] != nil }
    if otherHasRule, !hasRule {
      // A rule has priority over the objects inferred for the other side.
      mappings[place].mapping.relationships[own].value = .inverse
      if let origin = originRelationship(of: relationship, in: mappings[place])?.relationship {
        mappings[place].keptRelationships.remove(origin.name)
      }
      return
    }
    if hasRule { return }
    guard let origin = originRelationship(of: relationship, in: mappings[place])?.relationship else { return }
    let before = source.inverse(of: origin, in: mappings[place].sourceName)
    let isPair = others.allSatisfy { other in
      mappings[other].properties[inverse.name] == before?.name
        && mappings[other].isOf(before, in: source, from: origin.destination)
    }
    guard !isPair else { return }
    conflicts.append((place, relationship.name))
    changes.remove(.inverseChanged(name, from: before?.name, to: inverse.name, isConflict: false))
    changes.add(
      .inverseChanged(name, from: before?.name, to: inverse.name, isConflict: true), .needsRule,
      resolution(.needsRule, of: place, hasRule: false), mappings[place].mapping)
  }
}

extension StepBuilder {
  /// Removes conflicting relationships from the mappings.
  func removeConflicts() {
    for (place, name) in conflicts {
      mappings[place].mapping.relationships.removeAll { $0.name == name }
    }
  }
}

extension WorkMapping {
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
    of place: Int, hasRule: Bool
  ) -> Bool {
    let oldName = PropertyName(owner, old.name)
    var isEnough = true
    if isInferred(place), new.name != old.name {
      changes.add(.relationshipRenamed(from: oldName, to: name))
    } else if isInferred(place), match.entities[name.entity] != owner {
      changes.add(.relationshipMoved(from: oldName, to: name))
    }
    func note(_ kind: ModelChange.Kind, _ verdict: ModelChange.Verdict = .automatic) {
      if verdict == .needsRule { isEnough = false }
      changes.add(
        kind, verdict, resolution(verdict, of: place, hasRule: hasRule, dropping: old.name),
        mappings[place].mapping)
    }
    compareDestinations(new, name, old, of: place, note)
    switch (old.isToMany, new.isToMany) {
    case (false, true): note(.relationshipBecameToMany(name))
    case (true, false): note(.relationshipBecameToOne(name), .needsRule)
    case (true, true):
      if !old.isOrdered, new.isOrdered { note(.relationshipBecameOrdered(name)) }
      if old.isOrdered, !new.isOrdered { note(.relationshipBecameUnordered(name), .losesData) }
    case (false, false): break
    }
    compareRules(new, name, old, note)
    compareInverses(new, name, old, of: place, note)
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
    _ new: RelationshipDescription, _ name: PropertyName, _ old: RelationshipDescription, of place: Int,
    _ note: (ModelChange.Kind, ModelChange.Verdict) -> Void
  ) {
    var lost: [String] = []
    for entity in concrete(old.destination) {
      let places = takers[entity] ?? []
      // The loss of the entity itself is reported elsewhere. Here it matters only if the relationship needs an object.
      if places.isEmpty, !new.isMandatoryToOne { continue }
      // A mandatory relationship needs all of the objects, unless its own object is left out together with its owner.
      let isSure = !new.isMandatoryToOne || !ownership.mayLeave(entity) || follows(old, to: entity, of: place)
      let fits = places.contains {
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
    _ new: RelationshipDescription, _ name: PropertyName, _ old: RelationshipDescription, of place: Int,
    _ note: (ModelChange.Kind, ModelChange.Verdict) -> Void
  ) {
    let before = source.inverse(of: old, in: mappings[place].sourceName)?.name
    let after = destination.inverse(of: new, in: mappings[place].destinationName)
    let origin = after.flatMap { after in
      takers(ofKind: old.destination).compactMap { mappings[$0].properties[after.name] }.first
    }
    if before == nil, after == nil { return }
    if origin == before, after != nil { return }
    note(.inverseChanged(name, from: before, to: after?.name, isConflict: false), .automatic)
  }
}
