import CDModel

// What becomes of the objects that belong to objects which a filter leaves behind.
extension StepBuilder {
  /// Whether an object of a mapping stays behind with the one that a relationship of its source leads to.
  func follows(_ relationship: RelationshipDescription, to owner: String, of place: Int) -> Bool {
    guard !mappings[place].isCustom,
      let inverse = source.inverse(of: relationship, in: mappings[place].sourceName)
    else { return false }
    return ownership.follows(inverse, to: owner)
  }

  /// Notes as losses which objects stay behind with their owners. The loss is confirmed: the rule that leaves the owners
  /// behind says so.
  func compareOwned() {
    for entity in source.version.entities {
      guard let owners = ownership.reached[entity.name] else { continue }
      for place in takers[entity.name] ?? [] {
        changes.add(
          .ownedObjectsLeft(entity.name, owners: owners), .losesData, .mapped, mappings[place].mapping)
      }
    }
  }

  /// Reports an `owned` that decides nothing: the entity owns no objects, or the app's own code decides.
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
