#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The rules of the schema, checked at a save for all changed objects.
extension ManagedObjectContext {
  /// Checks all changed objects.
  ///
  /// - Parameter refusals: The errors of objects' own validation methods.
  /// - Returns: Whether objects follow rows of other contexts from now on, so that attributes must be derived anew.
  /// - Throws: ``SaveError/validation(_:)`` with every mistake, or the error of a store that cannot be read.
  func validate(_ refusals: [ObjectIdentifier: [ValidationError]]) throws -> Bool {
    var errors: [ValidationError] = []
    let failures = readFailures.count
    var hasDeleted = false
    if model.hasPairMinimums { checkPairMinimums(&errors) }
    for object in pending {
      if isOfRemovedStore(object) {
        guard object.isPending, !object.flags.isSuperset(of: [.inserted, .deleted]) else { continue }
        errors.append(ValidationError(.storeRemoved, of: object))
      } else if object.flags.contains(.deleted) {
        hasDeleted = true
        guard !object.flags.contains(.inserted) else { continue }
        // An object that the parent has deleted too has no related objects.
        if parent != nil, try parentInstanceForCaller(of: object) == nil { continue }
        checkDenials(of: object, &errors)
        if !refusals.isEmpty { errors += refusals[ObjectIdentifier(object)] ?? [] }
      } else if object.isPending, try !isGoneWithParent(object) {
        addMistakes(of: object, replacesMinusZeros: true, to: &errors)
        if !refusals.isEmpty { errors += refusals[ObjectIdentifier(object)] ?? [] }
      }
    }
    if hasDeleted, !model.oneSidedMinimums.isEmpty { checkOneSidedOwners(&errors) }
    // A relationship that could not be read seems to have fewer objects, or none.
    try checkReadsOfSave(since: failures)
    if !errors.isEmpty { throw SaveError.validation(errors) }
    // Not earlier: a save that is refused leaves the graph unchanged.
    return hasDeleted && clearDeleted()
  }

  /// Whether the parent has deleted an object of which this child context has changed only relationships. The child then
  /// does not pass these changes to the parent.
  private func isGoneWithParent(_ object: ManagedObject) throws -> Bool {
    guard parent != nil, !object.flags.contains(.inserted), !object.needsRow else { return false }
    return try parentInstanceForCaller(of: object) == nil
  }

  /// Returns the rules that an object breaks; empty if it could be saved.
  public func validationErrors(of object: ManagedObject) -> [ValidationError] {
    guard object.scope.context === self else { return [] }
    var errors: [ValidationError] = []
    addMistakes(of: object, to: &errors)
    return errors + refusals(of: object)
  }

  /// Checks many-to-many relationships with a minimum that lose a deleted object. Another context may have added the
  /// object since. The pairs are deleted with the row, and no foreign key reports them.
  @_optimize(none)
  private func checkPairMinimums(_ errors: inout [ValidationError]) {
    var checked: [ObjectIdentifier: Set<Int>] = [:]
    for object in pending where object.flags.contains(.deleted) && !object.flags.contains(.inserted) {
      for case let relationship? in object.scope.plan.relationships {
        guard case .join = relationship.storage, !relationship.description.deleteRule.refusesDeletion,
          let inverse = inverse(of: relationship), inverse.hasMinimum
        else { continue }
        for owner in storedMembers(of: object, relationship) {
          // Owners with changes of this relationship are checked with the other objects.
          guard !owner.isDeleted, owner.extras?.changed.contains(inverse.slot) != true,
            checked[ObjectIdentifier(owner), default: []].insert(inverse.slot).inserted
          else { continue }
          let count = storedMembers(of: owner, inverse).count { !$0.isDeleted }
          if count >= inverse.minimumCount { continue }
          errors.append(ValidationError(.wrongCount(count), of: owner, inverse.name))
        }
      }
    }
  }

  /// The objects of a relationship in the store or in the parent.
  private func storedMembers(of object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject] {
    let stored = ToManyState()
    load(object, relationship, stored)
    return (stored.keys?.keys ?? []).compactMap { self.object($0, relationship) }
  }

  private func checkDenials(of object: ManagedObject, _ errors: inout [ValidationError]) {
    for case let relationship? in object.scope.plan.relationships
    where relationship.description.deleteRule.refusesDeletion {
      let count =
        relationship.isToMany
        ? object.relatedObjects(relationship).count { !$0.isDeleted }
        : object.relatedObject(relationship).map { $0.isDeleted ? 0 : 1 } ?? 0
      if count > 0 {
        errors.append(ValidationError(.deleteDenied, of: object, relationship.name, denyingCount: count))
      }
    }
  }

  /// Checks the owners of relationships without an inverse that lose a deleted object. The deletion does not change
  /// these owners.
  @_optimize(none)
  private func checkOneSidedOwners(_ errors: inout [ValidationError]) {
    let deleted = pending.filter { $0.flags.contains(.deleted) && !$0.flags.contains(.inserted) }
    for relationship in model.oneSidedMinimums {
      let lost = deleted.filter { $0.scope.plan.lineage.contains(relationship.destination) }
      if lost.isEmpty { continue }
      let keys = Set(lost.map(\.key))
      for owner in oneSidedOwners(of: relationship, to: Set(lost)).ordered(by: { $0.key < $1.key }) {
        // The other owners have been checked.
        guard !owner.isDeleted, !owner.flags.contains(.inserted),
          owner.extras?.changed.contains(relationship.slot) != true,
          hadAny(of: keys, owner, relationship), let reason = mistake(of: owner, relationship)
        else { continue }
        errors.append(ValidationError(reason, of: owner, relationship.name))
      }
    }
  }

  /// Whether an object's relationship has deleted objects. A parent may have removed them before, although the
  /// store's rows still lead to them.
  private func hadAny(
    of keys: Set<ObjectKey>, _ owner: ManagedObject, _ relationship: RelationshipPlan
  ) -> Bool {
    guard relationship.isToMany else {
      owner._willRead()
      return keys.contains(owner.referenceKey(relationship.slot))
    }
    _ = objects(of: owner, relationship)
    return owner.extras?.toManyState(relationship.slot)?.keys?.keys.contains(where: keys.contains) == true
  }

  /// Returns all rules that an object breaks, for unchanged properties too.
  func ruleErrors(of object: ManagedObject) -> [ValidationError] {
    var errors: [ValidationError] = []
    addMistakes(of: object, isWhole: true, to: &errors)
    return errors
  }

  /// - Parameters:
  ///   - isWhole: Whether to check properties that have not been changed.
  ///   - settlesZeros: Whether to replace minus zeros by the zeros that the store will have, before a save.
  @_optimize(speed)
  private func addMistakes(
    of object: ManagedObject, isWhole: Bool = false, replacesMinusZeros: Bool = false,
    to errors: inout [ValidationError]
  ) {
    object._willRead()
    let plan = object.scope.plan
    if let faults = object.extras?.faults, !faults.isEmpty { errors += faults }
    func add(
      _ reason: ValidationError.Reason, _ property: String?, _ bound: ValidationError.BrokenBound? = nil
    ) {
      errors.append(ValidationError(reason, of: object, property, bound))
    }
    if object.isInaccessible {
      // The merge policy decides.
      if object.needsRow, mergePolicy.isError { add(.inaccessible, nil) }
      return
    }
    let isNew = object.flags.contains(.inserted)
    let unassigned =
      isNew && object.flags.contains(.draft)
      ? plan.requiredSlots.filter { object.extras?.assigned.contains($0) != true } : []
    let ruled: [Int]
    if !unassigned.isEmpty {
      ruled = Array(Set(plan.ruledSlots + unassigned)).sorted()
    } else {
      // All at once: to look at one slot's plan after the other counts references.
      ruled = isNew && object.hasPlainValues() ? plan.furtherRuledSlots : plan.ruledSlots
    }
    for number in ruled where isNew || isWhole || object.extras?.changed.contains(number) == true {
      // Before the plan of the property is copied, which counts references.
      if plan.slots[number].isMerelyMandatory, object.hasPlainValue(number) { continue }
      let slot = plan.slots[number]
      // A value that has not been read has not been changed.
      if slot.isReadLater, object.isUnread(slot.number) { continue }
      if unassigned.contains(slot.number) {
        add(.missingValue, slot.name)
        continue
      }
      if let relationship = slot.relationship {
        // The relationships of a migration are complete only after its last object.
        if importTarget == nil, let reason = mistake(of: object, relationship) { add(reason, slot.name) }
        continue
      }
      switch slot.kind {
      case .attribute(let attribute, let storageType):
        if importTarget != nil, attribute.derivation != nil { continue }
        let value = object.storedValue(slot.number)
        if replacesMinusZeros, value.isMinusZero {
          object.setStoredValues([slot.number: value.withPlainZero])
        }
        if let reason = AttributeRules.mistake(value, attribute, storageType, model.graph) {
          add(reason, slot.name, AttributeRules.brokenBound(reason, value, attribute))
        }
      case .composite(let attribute, let fields):
        let value = object.storedValue(slot.number)
        guard case .composite(let values) = value else {
          if !attribute.isOptional, fields.contains(where: { !$0.description.isOptional }) {
            add(.missingValue, slot.name)
          }
          continue
        }
        if replacesMinusZeros, values.values.contains(where: \.isMinusZero) {
          object.setStoredValues([slot.number: .composite(values.mapValues(\.withPlainZero))])
        }
        for field in fields {
          let value = values[field.description.name] ?? .null
          if let reason = AttributeRules.mistake(value, field.description, field.storageType, model.graph) {
            add(
              reason, "\(slot.name).\(field.description.name)",
              AttributeRules.brokenBound(reason, value, field.description))
          }
        }
      case .relationship: continue
      }
    }
  }

  private func mistake(of object: ManagedObject, _ relationship: RelationshipPlan) -> ValidationError.Reason?
  {
    guard relationship.isToMany else {
      // A reference to an object that is deleted in this context counts as nil.
      return relationship.hasMinimum && object.relatedObject(relationship) == nil ? .missingValue : nil
    }
    guard relationship.minimumCount > 0 || relationship.maximumCount != nil else { return nil }
    let count = objectsWithOthers(of: object, relationship).count
    let isWrong = count < relationship.minimumCount || count > relationship.maximumCount ?? Int.max
    return isWrong ? .wrongCount(count) : nil
  }

  /// Clears references to objects that were deleted after the references were set.
  ///
  /// - Returns: Whether such a reference was the last change of an object whose row another context has changed.
  private func clearDeleted() -> Bool {
    guard pending.contains(where: { $0.flags.contains(.deleted) }) else { return false }
    var isAnySetBack = false
    // Clearing changes only pending objects, so it does not change the list.
    for object in pending where object.isPending && !object.flags.contains(.deleted) {
      let plan = object.scope.plan
      let isNew = object.flags.contains(.inserted)
      var isCleared = false
      for slot in plan.clearableSlots where isNew || object.extras?.changed.contains(slot) == true {
        guard let relationship = plan.relationships[slot] else { continue }
        let key = object.referenceKey(slot)
        guard key != 0,
          let other = registered(key, root: model.entities[relationship.destination].root), other.isDeleted
        else { continue }
        object.writeReference(0, slot)
        isCleared = true
      }
      dropPairsWithDeleted(of: object)
      // A reference to an object that was deleted later is not a change: a value that another context has set there
      // stays.
      if isCleared, !isNew {
        forgetEqualChanges(of: object)
        let isContested = !object.flags.isDisjoint(with: [.outdated, .rowDeletedElsewhere])
        if isContested, !object.flags.contains(.updated) { isAnySetBack = true }
      }
    }
    return isAnySetBack
  }

  /// Drops unsaved pairs with objects that were deleted after the pairs were made. Deletion itself removes only pairs
  /// of relationships with an inverse. A merge policy that takes a deletion back must not bring back the other pairs.
  private func dropPairsWithDeleted(of object: ManagedObject) {
    for (slot, state) in object.extras?.toMany ?? [] where !state.added.isEmpty {
      guard let relationship = object.scope.plan.relationships[slot], !relationship.hasInverse else {
        continue
      }
      let root = model.entities[relationship.destination].root
      for key in state.added.keys where registered(key, root: root)?.isDeleted == true {
        state.added.remove(key)
        state.keys?.remove(key)
        state.cache = nil
      }
    }
  }
}
