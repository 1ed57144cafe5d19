import CDModel

extension StepBuilder {
  /// Maps the relationships of a mapping's destination by rules, or by the relationships that they were in the source.
  func mapOwnRelationships(of mappingIndex: Int) {
    for relationship in destination.relationships(of: mappings[mappingIndex].destinationName) {
      let name = destination.declaredName(of: relationship.name, in: mappings[mappingIndex].destinationName)
      let origin = originRelationship(of: relationship, in: mappings[mappingIndex])
      if let origin {
        mappings[mappingIndex].keptRelationships.insert(origin.name)
        mappings[mappingIndex].origins[relationship.name] = origin.name
      }
      if let rule = mappings[mappingIndex].relationshipRules[relationship.name] {
        mapByRule(relationship, name, origin, rule, of: mappingIndex)
      } else if let origin {
        guard compare(relationship, name, origin, of: mappingIndex, hasRule: false) else { continue }
        mappings[mappingIndex].mapping.relationships.append(
          RelationshipMapping(name: relationship.name, value: .objects(.keyPath([origin.name]))))
      }
    }
  }

  private func originRelationship(
    of relationship: RelationshipDescription, in builder: MappingBuilder
  ) -> RelationshipDescription? {
    guard let name = builder.properties[relationship.name],
      case .relationship(let old)? = source.property(name, of: builder.sourceName)
    else { return nil }
    return old
  }

  private func mapByRule(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ origin: RelationshipDescription?,
    _ rule: RuleReference, of mappingIndex: Int
  ) {
    if let origin {
      _ = compare(relationship, name, origin, of: mappingIndex, hasRule: true)
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
      let name = destination.declaredName(of: relationship.name, in: mappings[mappingIndex].destinationName)
      let inverse = destination.inverse(of: relationship, in: mappings[mappingIndex].destinationName)
      let others = inverse.map { inverse in
        mappings(intoHierarchyOf: relationship.destination).filter { other in
          mappings[other].mapping.relationships.contains { $0.name == inverse.name && $0.isOwn }
        }
      }
      let own = mappings[mappingIndex].mapping.relationships.firstIndex { $0.name == relationship.name }
      if let own {
        guard let inverse, let others else { continue }
        let isDecided =
          isOwnInverse(relationship, name)
          ? checkOwnInverse(relationship, at: own, of: mappingIndex)
          : followsRule(relationship, name, inverse, others, at: own, of: mappingIndex)
        if !isDecided, !others.isEmpty {
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
      if let inverse, let others,
        noteShared(relationship, name, inverse, others, of: mappingIndex)
      {
        continue
      }
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

  /// Whether the inverse is certain to refer to every object of the mapping. This is so if it has the objects of a
  /// relationship that was the inverse of one that every object had, and all objects of that inverse are migrated.
  ///
  /// - Parameter others: The mappings that give the inverse objects of its own.
  private func reachesAll(
    from others: [Int], by inverse: RelationshipDescription, _ mappingIndex: Int
  ) -> Bool {
    let backs = others.map { mandatoryInverse(ofObjectsOf: inverse, in: $0) }
    return !others.isEmpty
      && backs.allSatisfy { back in
        guard let back,
          source.property(back.name, of: mappings[mappingIndex].sourceName) == .relationship(back)
        else { return false }
        let readers = zip(others, backs).filter { $0.1 == back }.map { $0.0 }
        return concrete(back.destination).allSatisfy { name in
          ownership.excludedWithOwners[name] == nil
            && coverAll((mappingsBySource[name] ?? []).filter { readers.contains($0) })
        }
      }
  }

  /// The mandatory to-one inverse of the source relationship whose objects a mapping gives to a relationship. Nil if the
  /// mapping gives it other objects, or if the source relationship may lack objects that refer back to it.
  private func mandatoryInverse(
    ofObjectsOf relationship: RelationshipDescription, in mappingIndex: Int
  ) -> RelationshipDescription? {
    let entity = mappings[mappingIndex].sourceName
    guard
      case .objects(let value)? = mappings[mappingIndex].mapping.relationships.first(where: {
        $0.name == relationship.name
      })?.value,
      let key = value.onlyKey, case .relationship(let old)? = source.property(key, of: entity),
      // Objects that refer to a deleted object are in no object's relationship.
      !old.deleteRule.leavesReferences,
      let back = source.inverse(of: old, in: entity), back.isMandatoryToOne
    else { return nil }
    return back
  }

  /// Decides which side of a relationship pair determines the objects if both sides have some.
  private func resolvePair(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ inverse: RelationshipDescription,
    _ others: [Int], at own: Int, of mappingIndex: Int
  ) {
    if mappings[mappingIndex].relationshipRules[relationship.name] != nil {
      return checkBothRules(relationship, inverse, others, at: own, of: mappingIndex)
    }
    guard let origin = originRelationship(of: relationship, in: mappings[mappingIndex]) else { return }
    let before = source.inverse(of: origin, in: mappings[mappingIndex].sourceName)
    let isPair = others.allSatisfy { other in
      mappings[other].properties[inverse.name] == before?.name
        && mappings[other].isOf(before, in: source, from: origin.destination)
    }
    if isPair {
      // Several mappings of one object give each copy the same object. A reference to it must be unique, and a mandatory side
      // would lack it. The app's own code decides about its copies.
      if destination.holdsReference(inverse, relationship.destination) || inverse.isMandatoryToOne {
        let inferred = others.filter { !mappings[$0].isCustom }
        noteShared(relationship, name, inverse, inferred, of: mappingIndex)
      }
      return
    }
    conflicts.append((mappingIndex, relationship.name))
    changes.remove(.inverseChanged(name, from: before?.name, to: inverse.name, isConflict: false))
    changes.add(
      .inverseChanged(name, from: before?.name, to: inverse.name, isConflict: true), .needsRule,
      resolution(.needsRule, of: mappingIndex, hasRule: false), mappings[mappingIndex].mapping)
  }
}

// Lets a side without a rule follow the rule for its inverse.
extension StepBuilder {
  /// Takes the objects that were inferred for a relationship from its inverse instead, if the inverse has a rule. The
  /// rule has priority. It may also say that there are no objects.
  ///
  /// - Returns: Whether the inverse has a rule, and the relationship has none.
  private func followsRule(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ inverse: RelationshipDescription,
    _ others: [Int], at own: Int, of mappingIndex: Int
  ) -> Bool {
    if mappings[mappingIndex].relationshipRules[relationship.name] != nil { return false }
    let value = mappings[mappingIndex].mapping.relationships[own].value
    let emptied = mappings(intoHierarchyOf: relationship.destination).filter {
      mappings[$0].relationshipRules[inverse.name]?.value == .null && leads(value, of: mappingIndex, to: $0)
    }
    let ruled = others.filter { mappings[$0].relationshipRules[inverse.name] != nil } + emptied
    if ruled.isEmpty { return false }
    if !reachesAll(from: others, by: inverse, mappingIndex) {
      checkMandatory(relationship, value, inverse, ruled, of: mappingIndex)
    }
    mappings[mappingIndex].mapping.relationships[own].value = others.isEmpty ? .none : .inverse
    noteShared(relationship, name, inverse, others, of: mappingIndex)
    guard let origin = originRelationship(of: relationship, in: mappings[mappingIndex]) else { return true }
    // A rule for no objects confirms that the pairs of both sides are lost. All other pairs stay, if no rule gives others.
    if let back = source.inverse(of: origin, in: mappings[mappingIndex].sourceName) {
      let isFormer = { (other: Int) in self.mappings[other].properties[inverse.name] == back.name }
      let areKept = others.allSatisfy { mappings[$0].relationshipRules[inverse.name] == nil && isFormer($0) }
      if areKept, emptied.contains(where: isFormer) { return true }
    }
    mappings[mappingIndex].keptRelationships.remove(origin.name)
    return true
  }

  /// Reports a rule for the inverse of a mandatory relationship that follows it, unless the rule gives the same pairs of
  /// objects. Otherwise some objects may have none, because the inverse is not certain to refer to all of them.
  private func checkMandatory(
    _ relationship: RelationshipDescription, _ value: RelationshipMapping.Value,
    _ inverse: RelationshipDescription, _ ruled: [Int], of mappingIndex: Int
  ) {
    if !relationship.isMandatoryToOne || mappings[mappingIndex].isCustom { return }
    for other in ruled where !mappings[other].isCustom {
      let mapping = mappings[other].mapping
      guard let rule = mappings[other].relationshipRules[inverse.name],
        let otherValue = mapping.relationships.first(where: { $0.name == inverse.name })?.value,
        !isMirrored(value, of: mappingIndex, by: otherValue, of: other)
      else { continue }
      return problem(
        at: rule.location,
        "'\(relationship.name)' of '\(mappings[mappingIndex].destinationName)' is mandatory, and this rule for "
          + "its inverse may leave it without an object: write a rule for '\(relationship.name)' instead")
    }
  }
}

// Compares the rules for both sides of a pair of inverses.
extension StepBuilder {
  /// Reports a rule if the inverse has a rule too that gives other pairs of objects. Of a to-one relationship and its
  /// inverse, only one side decides, so that the rule for the other one would have no effect. Two to-many relationships
  /// get the pairs of both rules.
  private func checkBothRules(
    _ relationship: RelationshipDescription, _ inverse: RelationshipDescription, _ others: [Int], at own: Int,
    of mappingIndex: Int
  ) {
    guard let rule = mappings[mappingIndex].relationshipRules[relationship.name],
      !relationship.isToMany || !inverse.isToMany
    else { return }
    let value = mappings[mappingIndex].mapping.relationships[own].value
    for other in others {
      // Two rules that have objects are reported once.
      guard let otherRule = mappings[other].relationshipRules[inverse.name],
        otherRule.location != rule.location,
        value == .none || (other, inverse.name) < (mappingIndex, relationship.name),
        let otherValue = mappings[other].mapping.relationships.first(where: { $0.name == inverse.name })?
          .value,
        !isMirrored(value, of: mappingIndex, by: otherValue, of: other)
      else { continue }
      return problem(
        at: rule.location,
        "the rules for '\(relationship.name)' and for its inverse '\(inverse.name)' of "
          + "'\(mappings[other].destinationName)' may give different objects: write only one of them")
    }
  }

  /// Whether the values of a relationship and of its inverse give the same pairs of objects, or if no pair can belong to
  /// both mappings.
  private func isMirrored(
    _ value: RelationshipMapping.Value, of mappingIndex: Int, by otherValue: RelationshipMapping.Value,
    of other: Int
  ) -> Bool {
    guard leads(value, of: mappingIndex, to: other) || leads(otherValue, of: other, to: mappingIndex) else {
      return true
    }
    guard case .objects(let objects) = value, case .objects(let otherObjects) = otherValue else {
      return false
    }
    let (from, to) = (mappings[mappingIndex].sourceName, mappings[other].sourceName)
    if case .object = objects.kind, case .object = otherObjects.kind { return from == to }
    return source.relationships(of: from).contains { old in
      guard objects == .keyPath([old.name]), let back = source.inverse(of: old, in: from) else {
        return false
      }
      return otherObjects == .keyPath([back.name])
        && source.property(back.name, of: to) == .relationship(back)
    }
  }

  /// Whether the value of a relationship may contain objects that another mapping uses.
  private func leads(_ value: RelationshipMapping.Value, of mappingIndex: Int, to other: Int) -> Bool {
    guard case .objects(let objects) = value else { return false }
    guard let trail = self.trail(of: objects, from: mappings[mappingIndex].sourceName) else { return true }
    return concrete(trail.target).contains(mappings[other].sourceName)
  }
}

// Compares the rules for a relationship that is its own inverse.
extension StepBuilder {
  /// Whether a relationship of the destination is its own inverse.
  func isOwnInverse(_ relationship: RelationshipDescription, _ name: PropertyName) -> Bool {
    guard let inverse = destination.inverse(of: relationship, in: name.entity) else { return false }
    return destination.declaredName(of: inverse.name, in: relationship.destination) == name
  }

  /// Reports a rule for a relationship that is its own inverse, if the rule may give pairs of objects in one direction only.
  /// A to-many relationship gets these pairs in both directions, unless a rule says that one side has none.
  ///
  /// - Returns: Whether the relationship has a rule.
  private func checkOwnInverse(
    _ relationship: RelationshipDescription, at own: Int, of mappingIndex: Int
  ) -> Bool {
    let value = mappings[mappingIndex].mapping.relationships[own].value
    let rule = mappings[mappingIndex].relationshipRules[relationship.name]
    for other in mappings(intoHierarchyOf: relationship.destination) {
      guard let rule = rule ?? mappings[other].relationshipRules[relationship.name],
        let otherValue = mappings[other].mapping.relationships.first(where: { $0.name == relationship.name })?
          .value,
        otherValue != .inverse, !relationship.isToMany || otherValue == .none,
        !isMirrored(value, of: mappingIndex, by: otherValue, of: other)
      else { continue }
      problem(
        at: rule.location,
        "'\(relationship.name)' of '\(mappings[mappingIndex].destinationName)' is its own inverse, and with "
          + "this rule an object may refer to one that does not refer back: name a relationship that was its "
          + "own inverse, or write 'policy: custom'")
      return true
    }
    return rule != nil
  }
}

// Finds objects that several objects refer to by the inverse of a to-one relationship.
extension StepBuilder {
  /// Records that a to-one relationship gets its objects from its inverse, if several objects may refer to the same
  /// object by the inverse.
  ///
  /// - Parameter others: The mappings that give the inverse objects of its own.
  /// - Returns: Whether this may be so.
  @discardableResult
  private func noteShared(
    _ relationship: RelationshipDescription, _ name: PropertyName, _ inverse: RelationshipDescription,
    _ others: [Int], of mappingIndex: Int
  ) -> Bool {
    guard !relationship.isToMany, mayShare(inverse, others, mappingIndex) else { return false }
    // If the app's own code creates all objects that refer to the object, it also decides which of them stay related.
    let resolution: ModelChange.Resolution =
      others.allSatisfy { mappings[$0].isCustom }
      ? .custom : resolution(.needsRule, of: mappingIndex, hasRule: false)
    changes.add(
      .relationshipBecameToOne(
        name, inverse: destination.declaredName(of: inverse.name, in: relationship.destination)),
      .needsRule, resolution, mappings[mappingIndex].mapping)
    return true
  }

  /// Whether several migrated objects may refer to the same object of a mapping by a relationship.
  ///
  /// - Parameter others: The mappings that give the relationship objects of its own.
  private func mayShare(
    _ relationship: RelationshipDescription, _ others: [Int], _ mappingIndex: Int
  ) -> Bool {
    var inverses: [PropertyName]?
    var found: [String: [Int]] = [:]
    for other in others {
      guard
        case .objects(let value)? = mappings[other].mapping.relationships.first(where: {
          $0.name == relationship.name
        })?.value
      else { continue }
      guard let trail = self.trail(of: value, from: mappings[other].sourceName) else { return true }
      guard concrete(trail.target).contains(mappings[mappingIndex].sourceName) else { continue }
      // Two different ways to an object may begin at different objects.
      guard let way = trail.inverses, inverses ?? way == way else { return true }
      inverses = way
      found[mappings[other].sourceName, default: []].append(other)
    }
    // If several mappings use the same object, their filters are meant to separate the objects.
    return found.values.contains { list in
      list.count > 1 && list.contains { mappings[$0].mapping.filter == nil }
    }
  }

  /// The source objects that an expression leads to.
  private struct Trail {
    var target: String
    /// The to-one inverses of the relationships on the way, by which at most one object leads to each target. Nil if one
    /// of the relationships has no to-one inverse.
    var inverses: [PropertyName]?
  }

  /// Follows an expression of relationships. Nil if the expression has other parts.
  private func trail(of value: ValueExpression, from entity: String) -> Trail? {
    switch value.kind {
    case .object: return Trail(target: entity, inverses: [])
    case .subquery(let collection, _, _): return trail(of: collection, from: entity)
    case .path(let base, let steps):
      guard var trail = self.trail(of: base, from: entity) else { return nil }
      for step in steps {
        switch step {
        case .key(let key):
          guard case .relationship(let relationship)? = source.property(key, of: trail.target) else {
            return nil
          }
          if let inverse = source.inverse(of: relationship, in: trail.target), !inverse.isToMany {
            trail.inverses?.append(source.declaredName(of: inverse.name, in: relationship.destination))
          } else {
            trail.inverses = nil
          }
          trail.target = relationship.destination
        case .first, .last, .index: continue
        default: return nil
        }
      }
      return trail
    default: return nil
    }
  }

  /// The to-many relationship of the source that contained the objects which refer to an object by the inverse of a
  /// relationship of the destination; nil if there was none.
  func formerInverse(of relationship: RelationshipDescription, in entity: String) -> String? {
    guard let inverse = destination.inverse(of: relationship, in: entity) else { return nil }
    for builder in mappings
    where builder.hasObjects && destination.isKind(builder.destinationName, of: relationship.destination) {
      guard let name = builder.properties[inverse.name],
        case .relationship(let old)? = source.property(name, of: builder.sourceName),
        let former = source.inverse(of: old, in: builder.sourceName), former.isToMany
      else { continue }
      return former.name
    }
    return nil
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
    _ new: RelationshipDescription, _ name: PropertyName, _ old: RelationshipDescription,
    of mappingIndex: Int, hasRule: Bool
  ) -> Bool {
    let oldName = source.declaredName(of: old.name, in: mappings[mappingIndex].sourceName)
    var isEnough = true
    if isInferred(mappingIndex), new.name != old.name {
      changes.add(.relationshipRenamed(from: oldName, to: name))
    } else if isInferred(mappingIndex), match.entities[name.entity] != oldName.entity {
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
    if new.isMandatoryToOne, !old.isOptional, !old.isToMany,
      let inverse = unenforcedInverse(of: old, as: new, mappingIndex)
    {
      let kind = ModelChange.Kind.relationshipBecameMandatory(name, unenforced: inverse)
      if isFiltered(old, in: mappings[mappingIndex]) {
        changes.add(kind, .needsRule, .mapped, mappings[mappingIndex].mapping)
      } else {
        note(kind, .needsRule)
      }
    }
    compareInverses(new, name, old, of: mappingIndex, note)
    return isEnough
  }

  /// The inverse of a source relationship whose rule `noAction` could leave references to deleted objects; nil if there
  /// are no such references, or if they may stay.
  func unenforcedInverse(
    of old: RelationshipDescription, as new: RelationshipDescription, _ mappingIndex: Int
  ) -> PropertyName? {
    let (from, to) = (mappings[mappingIndex].sourceName, mappings[mappingIndex].destinationName)
    // If the other side holds the reference, it was deleted together with its object.
    guard let inverse = source.inverse(of: old, in: from), inverse.deleteRule.leavesReferences,
      source.holdsReference(old, from),
      destination.inverse(of: new, in: to)?.deleteRule.leavesReferences != true
    else { return nil }
    return source.declaredName(of: inverse.name, in: old.destination)
  }

  /// Whether a mapping's filter leaves out the objects whose relationship leads to no object.
  func isFiltered(_ old: RelationshipDescription, in builder: MappingBuilder) -> Bool {
    let condition = FetchPredicate(.keyPath([old.name]), .notEqualTo, .null)
    return switch builder.mapping.filter?.kind {
    case .and(let parts)?: parts.contains(condition)
    case _?: builder.mapping.filter == condition
    case nil: false
    }
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
      let fits = isSure && migratedObjects(of: entity, become: new.destination)
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
