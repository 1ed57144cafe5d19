#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The rules of the schema, checked at a save for all changed objects.
extension ManagedObjectContext {
  /// Checks all changed objects.
  ///
  /// - Parameter refusals: What objects' own validation has thrown.
  /// - Throws: ``SaveError/validation(_:)`` with every mistake.
  func validate(_ refusals: [ObjectIdentifier: [ValidationError]]) throws {
    var errors: [ValidationError] = []
    var hasDeleted = false
    if model.hasPairMinimums { checkPairMinimums(&errors) }
    for object in pending {
      if isOfRemovedStore(object) {
        guard object.isPending, !object.flags.isSuperset(of: [.inserted, .deleted]) else { continue }
        errors.append(
          ValidationError(
            reason: .storeRemoved, entity: object.scope.plan.name, property: nil, objectID: object.objectID))
      } else if object.flags.contains(.deleted) {
        hasDeleted = true
        guard !object.flags.contains(.inserted) else { continue }
        // What the parent has deleted too is related to nothing.
        if parent != nil, original(of: object) == nil { continue }
        checkDenials(of: object, &errors)
        if !refusals.isEmpty { errors += refusals[ObjectIdentifier(object)] ?? [] }
      } else if object.isPending, !isGoneWithParent(object) {
        addMistakes(of: object, settlesZeros: true, to: &errors)
        if !refusals.isEmpty { errors += refusals[ObjectIdentifier(object)] ?? [] }
      }
    }
    if hasDeleted, !model.oneSidedMinimums.isEmpty { checkOneSidedOwners(&errors) }
    if !errors.isEmpty { throw SaveError.validation(errors) }
    // Not before: a save that is refused leaves the graph as it is.
    if hasDeleted { clearDeleted() }
  }

  /// Whether all that an unsaved object of a child has are relationships, and the parent has deleted the object: nothing of it
  /// is given to the parent.
  private func isGoneWithParent(_ object: ManagedObject) -> Bool {
    guard parent != nil, !object.flags.contains(.inserted), !object.needsRow else { return false }
    return original(of: object) == nil
  }

  /// The rules that an object breaks; none where it could be saved.
  public func validationErrors(of object: ManagedObject) -> [ValidationError] {
    guard object.scope.context === self else { return [] }
    var errors: [ValidationError] = []
    addMistakes(of: object, to: &errors)
    return errors + refusals(of: object)
  }

  /// Checks the many-to-many relationships that lose a deleted object and may not be without objects. Others may have put it
  /// there since. The pairs go with the row, and no foreign key tells of them.
  private func checkPairMinimums(_ errors: inout [ValidationError]) {
    var checked: [ObjectIdentifier: Set<Int>] = [:]
    for object in pending where object.flags.contains(.deleted) && !object.flags.contains(.inserted) {
      for case let relationship? in object.scope.plan.relationships {
        guard case .join = relationship.storage, relationship.description.deleteRule != .deny,
          let inverse = inverse(of: relationship), inverse.hasMinimum
        else { continue }
        for owner in storedMembers(of: object, relationship) {
          // Those that have changes of the relationship are checked with the rest.
          guard !owner.isDeleted, owner.extras?.changed.contains(inverse.slot) != true,
            checked[ObjectIdentifier(owner), default: []].insert(inverse.slot).inserted
          else { continue }
          let count = storedMembers(of: owner, inverse).count { !$0.isDeleted }
          let minimum = max(inverse.description.minimumCount ?? 0, inverse.description.isOptional ? 0 : 1)
          if count >= minimum { continue }
          errors.append(
            ValidationError(
              reason: .wrongCount(count), entity: owner.scope.plan.name, property: inverse.name,
              objectID: owner.objectID))
        }
      }
    }
  }

  /// The objects that a relationship has in the store or the parent.
  private func storedMembers(of object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject] {
    let stored = ToManyState()
    load(object, relationship, stored)
    return (stored.keys?.keys ?? []).compactMap { self.object($0, relationship) }
  }

  private func checkDenials(of object: ManagedObject, _ errors: inout [ValidationError]) {
    for case let relationship? in object.scope.plan.relationships
    where relationship.description.deleteRule == .deny {
      let isDenied =
        relationship.isToMany
        ? object.relatedObjects(relationship).contains { !$0.isDeleted }
        : object.relatedObject(relationship).map { !$0.isDeleted } ?? false
      if isDenied {
        errors.append(
          ValidationError(
            reason: .deleteDenied, entity: object.scope.plan.name, property: relationship.name,
            objectID: object.objectID))
      }
    }
  }

  /// Checks the objects whose one-sided relationships lose an object that is deleted. They are not changed by that.
  private func checkOneSidedOwners(_ errors: inout [ValidationError]) {
    let deleted = pending.filter { $0.flags.contains(.deleted) && !$0.flags.contains(.inserted) }
    for relationship in model.oneSidedMinimums {
      let lost = deleted.filter { $0.scope.plan.lineage.contains(relationship.destination) }
      if lost.isEmpty { continue }
      let keys = Set(lost.map(\.key))
      for owner in oneSidedOwners(of: relationship, to: Set(lost)).sorted(by: { $0.key < $1.key }) {
        // The others have been checked.
        guard !owner.isDeleted, !owner.flags.contains(.inserted),
          owner.extras?.changed.contains(relationship.slot) != true,
          hadAny(of: keys, owner, relationship), let reason = mistake(of: owner, relationship)
        else { continue }
        errors.append(
          ValidationError(
            reason: reason, entity: owner.scope.plan.name, property: relationship.name,
            objectID: owner.objectID))
      }
    }
  }

  /// Whether an object has some that are deleted in a relationship: a parent may have taken them from there before, though
  /// the store's rows lead to them.
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

  /// All rules that an object breaks, changed or not.
  func ruleErrors(of object: ManagedObject) -> [ValidationError] {
    var errors: [ValidationError] = []
    addMistakes(of: object, isWhole: true, to: &errors)
    return errors
  }

  /// - Parameters:
  ///   - isWhole: Whether properties are checked that have not been changed.
  ///   - settlesZeros: Whether an object that is about to be saved gets the zeros that the store will have.
  private func addMistakes(
    of object: ManagedObject, isWhole: Bool = false, settlesZeros: Bool = false,
    to errors: inout [ValidationError]
  ) {
    object._willRead()
    let plan = object.scope.plan
    if let faults = object.extras?.faults, !faults.isEmpty { errors += faults }
    func add(_ reason: ValidationError.Reason, _ property: String?) {
      errors.append(
        ValidationError(
          reason: reason, entity: plan.name, property: property, objectID: object.objectID))
    }
    if object.isInaccessible {
      // A policy is asked about it.
      if object.needsRow, mergePolicy.isError { add(.inaccessible, nil) }
      return
    }
    let isNew = object.flags.contains(.inserted)
    let unassigned =
      isNew && object.flags.contains(.draft)
      ? plan.requiredSlots.filter { object.extras?.assigned.contains($0) != true } : []
    let ruled = unassigned.isEmpty ? plan.ruledSlots : Set(plan.ruledSlots + unassigned).sorted()
    for slot in ruled where isNew || isWhole || object.extras?.changed.contains(slot) == true {
      let slot = plan.slots[slot]
      if slot.isMerelyMandatory, object.hasPlainValue(slot.number) { continue }
      if unassigned.contains(slot.number) {
        add(.missingValue, slot.name)
        continue
      }
      switch slot.kind {
      case .attribute(let attribute, let cell):
        if importTarget != nil, attribute.derivation != nil { continue }
        let value = object.storedValue(slot.number)
        if settlesZeros, value.isMinusZero { object.setStoredValues([slot.number: value.withPlainZero]) }
        if let reason = AttributeRules.mistake(value, attribute, cell, model.graph) {
          add(reason, slot.name)
        }
      case .composite(let attribute, let fields):
        let value = object.storedValue(slot.number)
        guard case .composite(let values) = value else {
          if !attribute.isOptional, fields.contains(where: { !$0.description.isOptional }) {
            add(.missingValue, slot.name)
          }
          continue
        }
        if settlesZeros, values.values.contains(where: \.isMinusZero) {
          object.setStoredValues([slot.number: .composite(values.mapValues(\.withPlainZero))])
        }
        for field in fields {
          let value = values[field.description.name] ?? .null
          if let reason = AttributeRules.mistake(value, field.description, field.cell, model.graph) {
            add(reason, "\(slot.name).\(field.description.name)")
          }
        }
      case .relationship(let relationship):
        // A migration's relationships are there when its last object is.
        if importTarget != nil { continue }
        if let reason = mistake(of: object, relationship) { add(reason, slot.name) }
      }
    }
  }

  private func mistake(of object: ManagedObject, _ relationship: RelationshipPlan) -> ValidationError.Reason?
  {
    let description = relationship.description
    guard relationship.isToMany else {
      // A reference to an object that is deleted in this context is none.
      return !description.isOptional && object.relatedObject(relationship) == nil ? .missingValue : nil
    }
    let minimum = max(description.minimumCount ?? 0, description.isOptional ? 0 : 1)
    guard minimum > 0 || description.maximumCount != nil else { return nil }
    let count = countWithOthers(of: object, relationship)
    let isWrong = count < minimum || count > description.maximumCount ?? Int.max
    return isWrong ? .wrongCount(count) : nil
  }

  /// Clears references whose objects were deleted after they were set.
  private func clearDeleted() {
    guard pending.contains(where: { $0.flags.contains(.deleted) }) else { return }
    // Clearing changes objects that are listed already, and lists no others.
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
      // A reference that has come and gone with its object is no change: what others have set there stays.
      if isCleared, !isNew { forgetEqualChanges(of: object) }
    }
  }

  /// Drops unsaved pairs with objects that were deleted after the pairs were made. Deletion itself tells only those of
  /// them that have an inverse, and a merge policy that takes a deletion back must not find the others again.
  private func dropPairsWithDeleted(of object: ManagedObject) {
    for (slot, state) in object.extras?.toMany ?? [] where !state.added.isEmpty {
      guard let relationship = object.scope.plan.relationships[slot], relationship.inverse == nil else {
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
