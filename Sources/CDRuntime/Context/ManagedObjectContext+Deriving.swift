// Derived attributes: computed from an object with all its changes, at each save, and before a fetch that reads them.
extension ManagedObjectContext {
  /// Computes the derived attributes of all changed objects, and of all objects whose derived attributes read these,
  /// in memory or not.
  ///
  /// - Throws: ``StoreError`` if a value could not be read; ``SaveError/validation(_:)`` with the error of every derivation
  ///   that fails.
  func deriveAttributes() throws {
    guard model.hasDerivedSlots else { return }
    var errors: [ValidationError] = []
    let count = readFailures.count
    derive(&errors)
    // A value would be missing, or an object to derive for.
    try checkReadsOfSave(since: count)
    if !errors.isEmpty { throw SaveError.validation(errors) }
  }

  /// Computes derived attributes for a fetch that includes unsaved changes. If a derivation fails, the attribute
  /// keeps its value: the save reports the error. The fetch reports reads that have failed.
  func deriveForFetch() {
    // A derivation may fetch: that fetch reads the current values.
    guard !activity.isDeriving else { return }
    var errors: [ValidationError] = []
    derive(&errors)
  }

  private func derive(_ errors: inout [ValidationError]) {
    followRowsOfSetBackObjects()
    activity.derive { deriveAll(&errors) }
  }

  private func deriveAll(_ errors: inout [ValidationError]) {
    // One evaluator, so that all derivations use the same current time.
    let evaluator = PredicateEvaluator()
    let kept = slotsDerivedFromMissingStores()
    var objects = pending.filter(\.isPending)
    var stored: [ManagedObject] = []
    // An attribute may be derived from another object's derived attribute. The schema allows no circles.
    for round in 0...model.derivedCount where !objects.isEmpty {
      var changed: [ManagedObject] = []
      for object in objects where !object.flags.contains(.deleted) {
        // An undo or a merge policy may insert an object that has had a row.
        let isNew = object.isInserted && object.version == 0
        let kept = isNew ? nil : kept[object.scope.plan.index]
        if derive(object, except: kept, evaluator, &errors) { changed.append(object) }
      }
      stored += objects.filter {
        !$0.scope.plan.derivedSlots.isEmpty && $0.flags.isDisjoint(with: [.inserted, .deleted])
      }
      // After the first round, only derived values have changed.
      objects = dependents(of: round == 0 ? objects : changed).filter { !$0.flags.contains(.deleted) }
        .sorted { $0.key < $1.key }
    }
    pendingChanges.setDerived(stored)
  }

  /// Whether a context has all stores whose objects a derivation reads.
  func canRead(_ derivation: ValueExpression, of plan: EntityPlan) -> Bool {
    plan.entities(readBy: derivation, among: model.entities).allSatisfy(storeReader.hasStore)
  }

  /// The derived attributes that read objects of stores that the context does not have, by the index of the entity.
  ///
  /// Relationships to these objects seem to be empty. So the attributes of stored objects keep their values. Nothing is
  /// related to a new object yet, so its attributes are computed.
  func slotsDerivedFromMissingStores() -> [Int: Set<Int>] {
    if model.entities.allSatisfy(storeReader.hasStore) { return [:] }
    var slots: [Int: Set<Int>] = [:]
    for plan in model.entities {
      for number in plan.derivedSlots {
        guard let derivation = plan.slots[number].attribute?.derivation else { continue }
        if !canRead(derivation, of: plan) { slots[plan.index, default: []].insert(number) }
      }
    }
    return slots
  }

  /// - Parameter kept: The attributes that keep their values.
  /// - Returns: Whether a value has changed.
  private func derive(
    _ object: ManagedObject, except kept: Set<Int>?, _ evaluator: PredicateEvaluator,
    _ errors: inout [ValidationError]
  ) -> Bool {
    var hasChanged = false
    for slot in object.scope.plan.derivedSlots where kept?.contains(slot) != true {
      do {
        if try derive(object, object.scope.plan.slots[slot], evaluator) { hasChanged = true }
      } catch {
        let name = object.scope.plan.slots[slot].name
        errors.append(ValidationError(.notDerivable("\(error)"), of: object, name))
      }
    }
    return hasChanged
  }

  /// The objects with derived attributes that read something that has changed in the given objects.
  private func dependents(of objects: [ManagedObject]) -> Set<ManagedObject> {
    var result: Set<ManagedObject> = []
    for trigger in model.triggers {
      var found = Set(objects.lazy.filter { Self.isMet(trigger, by: $0) })
      for relationship in trigger.path.reversed() where !found.isEmpty {
        found = owners(of: relationship, to: found)
      }
      result.formUnion(found)
    }
    return result
  }

  /// The keys of the objects whose derived attributes were computed for a save that does not write their rows, by root
  /// entity.
  var derivedUnwrittenKeys: [Int: Set<ObjectKey>] {
    var keys: [Int: Set<ObjectKey>] = [:]
    for object in pendingChanges.derived where object.flags.isDisjoint(with: [.inserted, .updated, .deleted])
    {
      keys[object.scope.plan.root, default: []].insert(object.key)
    }
    return keys
  }

  /// The root entities of the objects that decide about the derived attributes of a save.
  func derivationSources(of plan: SavePlan) -> Set<Int> {
    var sources: Set<Int> = []
    func add(_ trigger: DerivationTrigger) {
      sources.insert(model.entities[trigger.entity].root)
      for relationship in trigger.path { sources.insert(model.entities[relationship.destination].root) }
    }
    var visited: Set<Int> = []
    for object in plan.inserted + plan.updated where visited.insert(object.scope.plan.index).inserted {
      for trigger in model.triggers where object.scope.plan.lineage.contains(trigger.owner) { add(trigger) }
    }
    // Others may have related objects to these, and nobody has related any to a new object.
    for object in plan.updated + plan.deleted + plan.related where !object.flags.contains(.inserted) {
      for trigger in model.triggers where Self.isMet(trigger, by: object) {
        add(trigger)
        sources.insert(model.entities[trigger.owner].root)
      }
    }
    return sources
  }

  private static func isMet(_ trigger: DerivationTrigger, by object: ManagedObject) -> Bool {
    let plan = object.scope.plan
    guard plan.lineage.contains(trigger.entity) else { return false }
    guard object.flags.isDisjoint(with: [.inserted, .deleted]) else { return true }
    return trigger.isMet { name in
      plan.slot(name).map { object.extras?.changed.contains($0.number) == true } ?? false
    }
  }

  /// The objects with a relationship that leads to any of the given objects.
  private func owners(
    of relationship: RelationshipPlan, to objects: Set<ManagedObject>
  ) -> Set<ManagedObject> {
    guard let slot = relationship.inverseSlot else { return oneSidedOwners(of: relationship, to: objects) }
    var result: Set<ManagedObject> = []
    for object in objects {
      // The slot belongs to the destination; the object's entity inherits it.
      guard let inverse = object.scope.plan.relationship(slot) else { continue }
      if inverse.isToMany {
        if object.flags.contains(.inaccessible) { continue }
        result.formUnion(objectsWithOthers(of: object, inverse))
      } else {
        if let related = object.relatedObject(inverse) { result.insert(related) }
        result.formUnion(relatedByOthers(to: object, inverse))
      }
    }
    return result
  }

  /// The objects that another context has related to an object by a to-one relationship since the object's changes, or its
  /// deletion, have kept it from being read again. Their stored values count the object without these changes.
  private func relatedByOthers(to object: ManagedObject, _ relationship: RelationshipPlan) -> [ManagedObject]
  {
    guard object.isPending, !object.flags.contains(.inserted) else { return [] }
    do {
      switch relationship.storage {
      case .reference:
        // Nothing marks a child's object that differs from the parent's one.
        guard parent != nil || object.flags.contains(.outdated),
          let reference = try newestReference(of: object, relationship.slot)
        else { return [] }
        return self.object(reference.key, relationship).map { [$0] } ?? []
      case .inverseReference:
        guard parent != nil || object.extras?.hasOutdatedPartners == true else { return [] }
        return try readReferrers(of: object, relationship) ?? []
      case .join, .referencesOfOthers: return []
      }
    } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return []
    }
  }

  /// The owners of a relationship without an inverse that lead to any of the given objects: found by rows and by
  /// unsaved changes. Some may lead to other objects by now.
  func oneSidedOwners(
    of relationship: RelationshipPlan, to objects: Set<ManagedObject>
  ) -> Set<ManagedObject> {
    guard let owner = model.entity(relationship.owner), storeReader.hasStore(of: owner) else { return [] }
    let slot = relationship.slot
    let keys = Set(objects.map(\.key))
    var result = Set(
      pending.lazy.filter { referrer in
        guard referrer.isPending, !referrer.isDeleted, referrer.scope.plan.isKind(of: owner) else {
          return false
        }
        guard relationship.isToMany else { return keys.contains(referrer.referenceKey(slot)) }
        guard let state = referrer.extras?.toManyState(slot) else { return false }
        return !keys.isDisjoint(with: state.keys?.keys ?? state.added.keys)
      })
    let known = objects.filter(\.mayHaveRowsOfOthers)
    if known.isEmpty { return result }
    if let parent {
      let originals = parent.oneSidedOwners(
        of: relationship, to: Set(known.compactMap { parentInstance(of: $0) }))
      result.formUnion(childInstances(of: originals.filter(\.exists).sorted { $0.key < $1.key }))
      return result
    }
    do {
      let rows = try reader().rows(
        of: owner, whose: relationship, leadsToAny: known.map(\.key).sorted())
      result.formUnion(try self.objects(from: rows, of: owner))
    } catch {
      observe(.readFailed("\(error)"), owner.name, relationship.name)
    }
    return result
  }

  /// - Returns: Whether the value has changed.
  private func derive(_ object: ManagedObject, _ slot: PropertyPlan, _ evaluator: PredicateEvaluator) throws
    -> Bool
  {
    let failures = readFailures.count
    let value = try derivedValue(of: object, slot, evaluator)
    try checkReads(since: failures)
    guard let value else { return false }
    object.willSet(slot.number)
    object.setStoredValues([slot.number: value])
    object.didChange(slot.number)
    return true
  }

  /// Takes back the derived values of an object whose row has no other changes. Other contexts determine its row, and
  /// its attributes are derived again when the objects that they read have changes.
  func forgetDerivedChanges(of object: ManagedObject) {
    guard object.hasOnlyDerivedChanges, let extras = object.extras else { return }
    let old = extras.old
    noteChange(of: object) { slot in old.contains { $0.slot == slot.number } }
    object.setStoredValues(
      Dictionary(old.map { ($0.slot, $0.value) }, uniquingKeysWith: { first, _ in first }))
    for entry in old { extras.changed.remove(entry.slot) }
    extras.old.removeAll()
    object.flags.remove(.updated)
  }

  /// The new value of a derived attribute; nil if the attribute has it already.
  func derivedValue(
    of object: ManagedObject, _ slot: PropertyPlan, _ evaluator: PredicateEvaluator
  ) throws -> AttributeValue? {
    guard case .attribute(let attribute, let storageType) = slot.kind, let derivation = attribute.derivation
    else { return nil }
    object._willRead()
    guard !object.isInaccessible else { return nil }
    guard let result = try evaluator.value(of: derivation, for: object).single else {
      throw FetchError.evaluation("the derivation has no single value")
    }
    guard let fitted = storageType.fitted(result) else {
      throw FetchError.evaluation(
        "the value of the derivation is \(result.typeName), but the attribute's type is \(attribute.type.schemaName)"
      )
    }
    return fitted == object.storedValue(slot.number) ? nil : fitted
  }
}

extension ManagedObject {
  /// Whether derived attributes are the only changes of the object's row.
  final var hasOnlyDerivedChanges: Bool {
    guard flags.contains(.updated), flags.isDisjoint(with: [.inserted, .deleted]),
      !scope.plan.derivedSlots.isEmpty, let extras, !extras.old.isEmpty, extras.faults.isEmpty
    else { return false }
    return extras.old.allSatisfy { scope.plan.slots[$0.slot].isDerived }
  }
}

// Derived attributes of a parent's unsaved objects. The fetch that a child sends to its parent may lack the predicate
// and the order that read them.
extension ManagedObjectContext {
  /// Whether the context or one of its ancestors has objects with changes.
  var hasPendingInLineage: Bool { !pending.isEmpty || parent?.hasPendingInLineage == true }

  /// Updates objects whose only changes are derived attributes to their newest state in the ancestors. Called before
  /// a fetch, which treats objects with changes separately, and after an undo.
  func followWithDerivedChanges() {
    guard let parent else { return }
    parent.followWithDerivedChanges()
    for object in pending where object.hasOnlyDerivedChanges {
      let parentObject = newestParentInstance(of: object)
      if let parentObject, parentObject.hasSameValues(as: object) { continue }
      forgetDerivedChanges(of: object)
      if object.isPending { continue }
      noteChange(of: object)
      object.flags.insert(.fault)
    }
  }

  /// The parent's instance of an object, updated from the ancestors of the parent.
  private func newestParentInstance(of object: ManagedObject) -> ManagedObject? {
    guard let parent, let parentObject = parentInstance(of: object) else { return nil }
    // The ancestors do not know objects that the parent has inserted.
    guard parent.parent != nil, !parentObject.isInserted else { return parentObject }
    return parent.newestParentInstance(of: parentObject).flatMap { parent.childInstances(of: [$0]).first }
  }

  /// Computes derived attributes for a fetch. Parents compute theirs first, because the child's attributes are
  /// derived from them.
  func deriveLineageForFetch() {
    if let parent {
      parent.deriveLineageForFetch()
      copyDerivedValues(from: parent)
    }
    if !pending.isEmpty { deriveForFetch() }
  }

  /// Updates objects without changes whose derived attributes have changed in the parent since they were read. The
  /// fetch may read these objects without fetching them, in order to sort others for example.
  private func copyDerivedValues(from parent: ManagedObjectContext) {
    for object in registry.objects {
      let slots = object.scope.plan.derivedSlots
      guard !slots.isEmpty, !object.isPending, object.exists, !object.isFault,
        let parentObject = parent.registered(object.key, root: object.scope.plan.root), parentObject.exists
      else { continue }
      parentObject._willRead()
      if slots.contains(where: { parentObject.storedValue($0) != object.storedValue($0) }) {
        _ = childInstances(of: [parentObject])
      }
    }
  }
}

extension ManagedObject {
  /// Whether another context's instance has the same values, except for derived attributes.
  fileprivate func hasSameValues(as other: ManagedObject) -> Bool {
    scope.plan.storedSlots.allSatisfy { slot in
      // A value that the other one has not read is read from this one.
      scope.plan.slots[slot].isDerived || other.isUnread(slot) || storedValue(slot) == other.storedValue(slot)
    }
  }
}
