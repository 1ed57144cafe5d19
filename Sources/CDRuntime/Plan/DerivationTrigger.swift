/// A rule that says when a derived attribute of one object changes because another object does. The attribute's
/// expression reads the other object through relationships.
struct DerivationTrigger: Sendable {
  /// The part of the other object that the expression reads.
  enum Reading: Sendable {
    case property(String)
    /// Only whether the object is related.
    case existence
  }

  /// The index of the entity that declares the attribute.
  let owner: Int
  /// The index of the entity whose objects are read.
  let entity: Int
  let reading: Reading
  /// The relationships from the object with the attribute to the object that is read.
  let path: [RelationshipPlan]

  /// The triggers of all derived attributes of a model.
  @_optimize(none)
  static func all(in entities: [EntityPlan]) -> [DerivationTrigger] {
    var triggers: [DerivationTrigger] = []
    for plan in entities {
      for slot in plan.derivedSlots where plan.slots[slot].owner == plan.name {
        guard let derivation = plan.slots[slot].attribute?.derivation else { continue }
        var walk = KeyPathWalk()
        walk.visit(derivation)
        for path in walk.paths { add(path, from: plan, entities, to: &triggers) }
      }
    }
    return triggers
  }

  private static func add(
    _ steps: [PathStep], from plan: EntityPlan, _ entities: [EntityPlan],
    to triggers: inout [DerivationTrigger]
  ) {
    var entity = plan
    var path: [RelationshipPlan] = []
    for step in steps {
      guard case .key(let key) = step else { continue }
      if !path.isEmpty, entity.slot(key) != nil {
        triggers.append(
          DerivationTrigger(owner: plan.index, entity: entity.index, reading: .property(key), path: path))
      }
      guard let relationship = entity.slot(key)?.relationship else { return }
      path.append(relationship)
      entity = entities[relationship.destination]
    }
    guard !path.isEmpty else { return }
    triggers.append(
      DerivationTrigger(owner: plan.index, entity: entity.index, reading: .existence, path: path))
  }

  /// Whether the attribute may change with a change of the other object.
  ///
  /// - Parameter hasChanged: Whether a property has changed; nil if the object is inserted or deleted.
  func isMet(_ hasChanged: ((String) -> Bool)?) -> Bool {
    guard let hasChanged else { return true }
    return switch reading {
    case .property(let name): hasChanged(name)
    case .existence: false
    }
  }
}
