import CDMapping
import CDModel

// The references between this store and the other stores of the coordinator. No step moves objects between stores, and no
// store learns which keys the migration of another one gives to objects.
extension StepPlan {
  /// Whether references to objects of a source entity keep their keys. The objects belong to another store before the step,
  /// after it, or both.
  ///
  /// In a new store, or in the table of an entity that no mapping makes of them, unrelated objects have these keys.
  @_optimize(none)
  func keepsOuterKeys(of old: EntityPlan, as new: EntityPlan) -> Bool {
    guard old.storeIndex != 0, new.storeIndex != 0 else { return false }
    return mapped.contains { old.subtree.contains($0.from.index) && new.subtree.contains($0.to.index) }
  }

  /// The relationships of other stores that keep the keys of a source entity's objects, and lead to a destination entity
  /// after the step. Each has the destination entity whose table contains the keys.
  @_optimize(none)
  private func keptReferences(
    to old: EntityPlan, as new: EntityPlan
  ) -> [(holder: EntityPlan, relationship: RelationshipPlan)] {
    var found: [(holder: EntityPlan, relationship: RelationshipPlan)] = []
    for (each, from, holder) in mapped where from.storeIndex != 0 && holder.storeIndex != 0 {
      for rule in each.relationships {
        guard case .objects(let value) = rule.value, let before = plainRelationship(value, of: from),
          let after = holder.slot(rule.name)?.relationship,
          source.graph.holdsRows(of: before.description, from.name),
          destination.graph.holdsRows(of: after.description, holder.name),
          source.entities[before.destination].subtree.contains(old.index),
          destination.entities[after.destination].subtree.contains(new.index)
        else { continue }
        found.append((holder, after))
      }
    }
    return found
  }

  /// The entities whose objects this store loses although another store refers to them, because they leave it and a rule
  /// confirms the loss. Each has the error for a store that has objects of it.
  ///
  /// The other store may have nothing to migrate. Then it would keep the references, and they would lead to objects of the
  /// store that gets the entity.
  @_optimize(none)
  var lostTargets: [(entity: EntityPlan, error: MigrationError)] {
    var found: [(entity: EntityPlan, error: MigrationError)] = []
    for (_, from, to) in mapped where from.storeIndex == 0 && to.storeIndex != 0 {
      // Without a rule, the step is refused if there are objects.
      guard !leaving.contains(where: { $0 === from }),
        let reference = keptReferences(to: from, as: to).first(where: {
          !isInSameStore($0.holder, to, in: destination)
        })
      else { continue }
      let (path, name) = (reference.relationship.path, reference.relationship.name)
      let reason =
        "'\(path)' of another store refers to objects of '\(from.name)', which this store loses; write "
        + "'\(name): nil' in the mapping of '\(reference.relationship.owner)'"
      found.append((from, error(.notProven([reason]), to.name)))
    }
    return found
  }

  /// Throws an error if another store refers to objects of an entity, of which a rule for duplicates deletes some. It would
  /// keep the references to the deleted objects.
  ///
  /// - Parameter key: The key of an object that the rule deletes.
  @_optimize(none)
  func checkDuplicates(of entity: EntityPlan, deleting key: ObjectKey?) throws(MigrationError) {
    for each in sourceMappings where entity.subtree.contains(each.destination.index) {
      guard let reference = keptReferences(to: each.source, as: each.destination).first else { continue }
      let (path, name) = (reference.relationship.path, reference.relationship.name)
      let reason =
        "'\(path)' of another store refers to objects of '\(entity.name)', of which a rule would delete "
        + "duplicates; make the objects unique with the old version, or write '\(name): nil' in the mapping of "
        + "'\(reference.relationship.owner)'"
      throw error(.notProven([reason]), entity.name, key)
    }
  }

  /// Whether two entities of a version, neither of which belongs to this store, belong to the same one. If the coordinator
  /// has no store for them, the configurations tell.
  @_optimize(none)
  private func isInSameStore(_ entity: EntityPlan, _ other: EntityPlan, in model: ModelPlan) -> Bool {
    if entity.storeIndex != nil || other.storeIndex != nil { return entity.storeIndex == other.storeIndex }
    let names = model.graph.configurations(of: entity.name)
    let others = model.graph.configurations(of: other.name)
    return names.isEmpty ? others.isEmpty : names.contains { others.contains($0) }
  }
}

// The rules that need objects of another store.
extension StepPlan {
  /// The error for a rule of this store that reads objects of another one; nil if there is none.
  ///
  /// While a store is migrated, empty stores take the places of the others. A rule would find no object in them: a filter
  /// would exclude objects, for example.
  @_optimize(none)
  var readError: MigrationError? {
    for sourceMapping in sourceMappings {
      let entity = sourceMapping.destination.name
      for (rule, part) in rules(of: sourceMapping) {
        let followed = sourceMapping.source.relationships(readBy: part, among: source.entities)
        guard let read = followed.first(where: { !$0.isWithinStore }) else { continue }
        let reason =
          "\(rule) of '\(entity)' reads objects of another store by '\(read.path)'; let it read only "
          + "properties of this store"
        return error(.notProven([reason]), entity)
      }
    }
    return nil
  }

  /// The expressions that a step evaluates for each object of a mapping, with their descriptions.
  @_optimize(none)
  private func rules(of sourceMapping: SourceMapping) -> [(rule: String, part: ExpressionPart)] {
    var found: [(rule: String, part: ExpressionPart)] = []
    if let filter = sourceMapping.mapping.filter { found.append(("the filter", .predicate(filter))) }
    for each in sourceMapping.mapping.attributes {
      found.append(("the rule for '\(each.name)'", .value(each.value)))
    }
    for each in sourceMapping.mapping.relationships {
      // The references themselves are copied. They are in this store, or not needed here.
      guard case .objects(let value) = each.value,
        plainRelationship(value, of: sourceMapping.source) == nil
      else { continue }
      found.append(("the rule for '\(each.name)'", .value(value)))
    }
    return found
  }
}

// Derived attributes that read another store. No step can compute them.
extension StepPlan {
  /// A derived attribute whose derivation reads another store.
  struct OuterDerivation {
    /// The relationship that leads to the other store.
    let relationship: RelationshipPlan
    /// Whether migrated objects have the value of the old version, and the step changes nothing that the derivation reads.
    let isKept: Bool
  }

  /// The derived attributes of an entity of the destination that read another store, by their slots.
  @_optimize(none)
  func outerDerivations(of entity: EntityPlan) -> [Int: OuterDerivation] {
    var found: [Int: OuterDerivation] = [:]
    for number in entity.derivedSlots {
      let slot = entity.slots[number]
      guard slot.isStored, let derivation = slot.attribute?.derivation,
        let relationship = entity.relationships(readBy: .value(derivation), among: destination.entities)
          .first(where: { !$0.isWithinStore })
      else { continue }
      let column = entity.columns[slot.columns.lowerBound]
      let isKept = sourceMappings.allSatisfy { sourceMapping in
        sourceMapping.destination !== entity
          || !sourceMapping.isCustom && copiedDerived(column, for: sourceMapping) != nil
      }
      found[number] = OuterDerivation(
        relationship: relationship, isKept: isKept && keepsProperties(readBy: derivation, of: entity))
    }
    return found
  }

  /// Whether an object of the destination was created from an object of the source. Its key tells, because the app's own
  /// code gives other keys to further objects.
  @_optimize(none)
  func isMigrated(_ key: ObjectKey, of entity: EntityPlan) -> Bool {
    guard hasCustom else { return true }
    return sourceMappings.contains { sourceMapping in
      let old = key - sourceMapping.offset
      return sourceMapping.destination === entity && old > 0
        && old < nextSourceKeys[sourceMapping.source.root] ?? 0
    }
  }

  /// The error for an object whose derived attribute reads another store and does not keep its value.
  @_optimize(none)
  func derivationError(
    _ slot: PropertyPlan, _ derivation: OuterDerivation, of entity: EntityPlan, _ key: ObjectKey
  ) -> MigrationError {
    let reason =
      "no rule can give a value to '\(slot.name)' of '\(entity.name)': it is derived from objects of another "
      + "store by '\(derivation.relationship.path)', and would have to be computed again; keep the "
      + "attribute, its derivation, and the values and objects that it reads, or make it an attribute that "
      + "is not derived"
    return error(.notProven([reason]), entity.name, key)
  }

  /// Whether the step, in this store and in the others, keeps all values and objects that a derivation reads.
  @_optimize(none)
  private func keepsProperties(readBy derivation: ValueExpression, of entity: EntityPlan) -> Bool {
    var waiting = [(derivation: derivation, entity: entity)]
    // A schema has no circle of derivations, but a model made by a program can have one.
    var seen: Set<PropertyName> = []
    while let next = waiting.popLast() {
      var walk = KeyPathWalk()
      walk.visit(next.derivation)
      for path in walk.paths {
        var entity = next.entity
        for case .key(let key) in path {
          guard let slot = entity.slot(key) else { break }
          if slot.isDerived {
            guard let read = keptDerivation(key, of: entity) else { return false }
            let isNew = seen.insert(PropertyName(entity.name, key)).inserted
            if isNew { waiting.append((read, entity)) }
          } else if !keepsProperty(key, of: entity) {
            return false
          }
          guard let relationship = slot.relationship else { break }
          entity = destination.entities[relationship.destination]
          if !keepsObjects(of: entity) { return false }
        }
      }
    }
    return true
  }

  /// The derivation of an attribute; nil if the old version has another one, or if its value depends on more than objects.
  @_optimize(none)
  private func keptDerivation(_ name: String, of entity: EntityPlan) -> ValueExpression? {
    guard let slot = entity.slot(name), let derivation = slot.attribute?.derivation, derivation.isRepeatable
    else { return nil }
    let isSame = mappings(to: entity).allSatisfy { each in
      guard let from = each.source.flatMap(source.entity) else { return true }
      let old = from.slot(name)
      return old?.attribute?.derivation == derivation && old?.storageType == slot.storageType
    }
    return isSame ? derivation : nil
  }

  /// Whether all mappings copy a property to the objects of an entity.
  @_optimize(none)
  private func keepsProperty(_ name: String, of entity: EntityPlan) -> Bool {
    mappings(to: entity).allSatisfy { each in
      each.attributes.allSatisfy { attribute in
        attribute.name != name && !attribute.name.hasPrefix(name + ".") || isCopied(attribute, by: each)
      }
        && each.relationships.allSatisfy { relationship in
          relationship.name != name || relationship.value == .objects(.keyPath(name))
        }
    }
  }

  /// Whether a mapping copies an attribute or a field. An integer of a wider type is the same value.
  @_optimize(none)
  private func isCopied(_ attribute: PropertyMapping, by entityMapping: EntityMapping) -> Bool {
    let own = ValueExpression.keyPath(attribute.name)
    if attribute.value == own { return true }
    guard case .cast(let inner, .attribute(let type), otherwise: nil) = attribute.value.kind, inner == own,
      let entity = entityMapping.source,
      case .attribute(let old)? = source.graph.property(attribute.name, of: entity)
    else { return false }
    return TypeRules.isExact(old.type, as: type) && TypeRules.isExact(type, as: .int64)
  }

  /// Whether rules migrate all objects of an entity, and no others become objects of it.
  @_optimize(none)
  private func keepsObjects(of entity: EntityPlan) -> Bool {
    let own = mappings(to: entity)
    let roots = Set(own.compactMap { $0.source.flatMap(source.entity)?.root })
    let isComplete = mapping.entityMappings.allSatisfy { each in
      guard each.destination == nil, let removed = each.source.flatMap(source.entity) else { return true }
      return !roots.contains(removed.root)
    }
    // Objects are also lost with their owners in the same store, and if a configuration loses their entity.
    let owners = Ownership(in: source.graph, mapping.entityMappings.filter { $0.source != nil }) { name in
      guard let owner = source.entity(name) else { return false }
      return roots.contains { isInSameStore(source.entities[$0], owner, in: source) }
    }
    let hasLeft = step.changes.contains { change in
      guard case .entityLeftConfiguration(let name, let left) = change.kind else { return false }
      // An open store of another configuration has the objects, and they stay there.
      return own.contains { each in
        guard each.destination == name, let from = each.source.flatMap(source.entity) else { return false }
        return from.storeIndex.map { sourceConfigurations[$0] == left } ?? true
      }
    }
    return isComplete && !hasLeft
      && own.allSatisfy { each in
        each.kind != .custom && each.filter == nil
          && (each.source.map { owners.excludedWithOwners[$0] == nil } ?? true)
      }
      && !mapping.duplicates.contains { rule in
        destination.entity(rule.entity)?.root == entity.root
      }
  }

  /// The mappings that create objects of an entity of the destination and of its subentities, in any store.
  @_optimize(none)
  private func mappings(to entity: EntityPlan) -> [EntityMapping] {
    mapping.entityMappings.filter { each in
      each.destination.flatMap(destination.entity).map { entity.subtree.contains($0.index) } ?? false
    }
  }
}
