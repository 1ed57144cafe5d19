/// A rule that says when a derived attribute of one object changes because another object does. The attribute's
/// expression reads the other object through relationships.
struct DerivationTrigger: Sendable {
  /// The index of the entity that declares the attribute.
  let owner: Int
  /// The index of the entity whose objects are read.
  let entity: Int
  /// The properties of the other object that the expression reads; empty if only the relation to the object counts.
  private(set) var properties: Set<String>
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
        add(key, of: entity, path, from: plan, to: &triggers)
      }
      guard let relationship = entity.slot(key)?.relationship else { return }
      path.append(relationship)
      entity = entities[relationship.destination]
    }
    if !path.isEmpty { add(nil, of: entity, path, from: plan, to: &triggers) }
  }

  /// Adds a property to the trigger of a path, so that a change follows each path only once.
  private static func add(
    _ property: String?, of entity: EntityPlan, _ path: [RelationshipPlan], from plan: EntityPlan,
    to triggers: inout [DerivationTrigger]
  ) {
    let properties: Set = property.map { [$0] } ?? []
    let same = triggers.firstIndex {
      $0.owner == plan.index && $0.entity == entity.index && $0.path.elementsEqual(path, by: ===)
    }
    if let same {
      triggers[same].properties.formUnion(properties)
    } else {
      triggers.append(
        DerivationTrigger(owner: plan.index, entity: entity.index, properties: properties, path: path))
    }
  }

  /// Whether the attribute may change with a change of the other object.
  ///
  /// - Parameter hasChanged: Whether a property has changed; nil if the object is inserted or deleted.
  func isMet(_ hasChanged: ((String) -> Bool)?) -> Bool {
    guard let hasChanged else { return true }
    return properties.contains(where: hasChanged)
  }
}

extension EntityPlan {
  /// The relationships that an expression of this entity follows, in the order of its key paths.
  ///
  /// - Parameter entities: All entities of the model.
  @_optimize(none)
  func relationships(readBy part: ExpressionPart, among entities: [EntityPlan]) -> [RelationshipPlan] {
    var walk = KeyPathWalk()
    walk.visit(part)
    var result: [RelationshipPlan] = []
    for path in walk.paths {
      var current = self
      for case .key(let key) in path {
        guard let relationship = current.slot(key)?.relationship else { break }
        result.append(relationship)
        current = entities[relationship.destination]
      }
    }
    return result
  }

  /// The entities whose objects a derivation of this entity reads through relationships.
  ///
  /// - Parameter entities: All entities of the model.
  @_optimize(none)
  func entities(readBy derivation: ValueExpression, among entities: [EntityPlan]) -> [EntityPlan] {
    relationships(readBy: .value(derivation), among: entities).map { entities[$0.destination] }
  }
}
