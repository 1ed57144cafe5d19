// What goes with objects that a filter leaves behind: those that they own by relationships whose rule is `cascade`.
extension StepBuilder {
  /// The entities of the source of which objects may go with their owners, each with the relationships that lead to it.
  func findOwned() -> [String: [PropertyName]] {
    var reached: [String: [PropertyName]] = [:]
    var waiting = source.version.entities.filter { !$0.isAbstract && isFiltered($0.name) }.map(\.name)
    var seen = Set(waiting)
    while let owner = waiting.popLast() {
      guard owned(of: owner) == .drop else { continue }
      for relationship in source.relationships(of: owner) where relationship.deleteRule == .cascade {
        let declaring = source.declaringEntity(of: relationship.name, in: owner)?.name ?? owner
        let name = PropertyName(declaring, relationship.name)
        for target in concrete(relationship.destination) {
          // What becomes of the objects of custom mappings is for the app's own code to say.
          if (takers[target] ?? []).contains(where: { mappings[$0].isCustom }) { continue }
          if reached[target]?.contains(name) != true { reached[target, default: []].append(name) }
          if seen.insert(target).inserted { waiting.append(target) }
        }
      }
    }
    return reached
  }

  /// Whether a filter decides which objects of a source entity go on.
  func isFiltered(_ entity: String) -> Bool {
    let places = takers[entity] ?? []
    return !places.isEmpty
      && places.allSatisfy { mappings[$0].mapping.filter != nil && !mappings[$0].isCustom }
  }

  /// What becomes of the objects that those of a source entity own; of several mappings the most careful one decides.
  func owned(of entity: String) -> OwnedObjects {
    let all = (takers[entity] ?? []).map { mappings[$0].mapping.owned }
    return all.contains(.refuse) ? .refuse : all.contains(.keep) ? .keep : .drop
  }

  /// Whether objects of a source entity may be left behind: by a filter, or with their owners.
  func mayBeLeft(_ entity: String) -> Bool {
    ownedEntities[entity] != nil || !(takers[entity] ?? []).contains { mappings[$0].mapping.filter == nil }
  }

  /// Whether an object of a mapping goes with the one that a relationship of its source leads to.
  func follows(_ relationship: RelationshipDescription, to owner: String, of place: Int) -> Bool {
    let entity = mappings[place].sourceName
    guard !mappings[place].isCustom, owned(of: owner) == .drop,
      let inverse = source.inverse(of: relationship, in: entity)
    else { return false }
    return inverse.deleteRule == .cascade && !(takers[owner] ?? []).contains { mappings[$0].isCustom }
  }

  /// The plan shows what goes with its owner, as it shows what a filter leaves.
  func compareOwned() {
    for entity in source.version.entities {
      guard let owners = ownedEntities[entity.name] else { continue }
      for place in takers[entity.name] ?? [] {
        changes.add(
          .ownedObjectsLeft(entity.name, owners: owners), .losesData, .mapped, mappings[place].mapping)
      }
    }
  }

  /// Says where nothing is owned, or where the app's own code decides.
  func checkOwned(_ rule: EntityRule, _ entity: EntityDescription, _ place: Int) {
    guard rule.owned != .drop else { return }
    if rule.isCustom {
      return problem(
        at: .owned(entity: place),
        "with 'policy: custom' the app's own code decides what becomes of other objects")
    }
    guard let from = rule.source ?? match.entities[entity.name],
      !source.relationships(of: from).contains(where: { $0.deleteRule == .cascade })
    else { return }
    problem(
      .warning, at: .owned(entity: place),
      "'\(from)' of \(sourceName) owns nothing: none of its relationships has the rule 'cascade'")
  }
}
