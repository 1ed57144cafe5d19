import CDModel

// What differs between a relationship and the one that it was.
extension StepBuilder {
  /// - Returns: Whether the objects of before will do.
  func compare(
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
    let element = VersionElement.relationship(entity: name.entity, name: name.name)
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
      // Objects that are lost altogether are a matter of their entity, unless one of them is needed.
      if places.isEmpty, !new.isMandatoryToOne { continue }
      // A mandatory reference needs them all, unless its own object stays behind with its owner.
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

  /// An inverse that came, went or is another is no matter for the objects as long as only one side has them.
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
