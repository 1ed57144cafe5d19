/// Compares objects that have changes with their snapshots: values that were set and set back need no save.
///
/// Attributes and references are compared with the values before their first change. A relationship that other
/// objects store follows from their references. For pairs and orders that have not been loaded, the stored state is
/// unknown, so their changes always count.
struct SnapshotComparison {
  private let context: ManagedObjectContext
  /// Computed once, for the first object that needs it.
  private var contested: Set<OneToOnePartner>?

  init(_ context: ManagedObjectContext) { self.context = context }

  /// Whether a save would write something for the object itself.
  func isToWrite(_ object: ManagedObject) -> Bool {
    let (isNew, isDeleted) = (object.flags.contains(.inserted), object.flags.contains(.deleted))
    if isNew || isDeleted { return isNew != isDeleted }
    guard object.isPending, let extras = object.extras else { return false }
    return !extras.faults.isEmpty || hasChangedValues(object, extras, countsDerived: false)
      || object.scope.plan.relationships.contains { relationship in
        relationship.map { hasChangedRows(object, $0, extras) } ?? false
      }
  }

  /// Whether a changed stored object has other values or related objects than in its snapshot.
  mutating func isUpdated(_ object: ManagedObject) -> Bool {
    guard object.hasUpdatedFlags, let extras = object.extras else { return false }
    if !extras.faults.isEmpty || hasChangedValues(object, extras, countsDerived: true) { return true }
    for case let relationship? in object.scope.plan.relationships
    where extras.changed.contains(relationship.slot) {
      if hasChangedRows(object, relationship, extras) { return true }
      switch relationship.storage {
      case .reference, .join: continue
      case .inverseReference:
        let known = contested ?? context.contestedPartners()
        contested = known
        if known.contains(OneToOnePartner(relationship, object.key, context.model)) { return true }
      case .referencesOfOthers: if hasOtherMembers(object, relationship, extras) { return true }
      }
    }
    return false
  }

  private func hasChangedValues(
    _ object: ManagedObject, _ extras: ObjectExtras, countsDerived: Bool
  ) -> Bool {
    let slots = object.scope.plan.slots
    return extras.old.contains { slot, value in
      (countsDerived || !slots[slot].isDerived) && object.isChanged(slot, from: value)
    }
  }

  /// Whether a save would write rows of pairs, or positions, for a relationship.
  private func hasChangedRows(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ extras: ObjectExtras
  ) -> Bool {
    guard let state = extras.toManyState(relationship.slot), state.isChanged else { return false }
    if case .join = relationship.storage, hasChangedPairs(object, relationship, state) { return true }
    return relationship.isOrdered && state.isOrderChanged && !state.hasStoredOrder
  }

  /// Whether pairs have been added or removed, if either side has loaded the stored state. Pairs that another context
  /// has changed too count: the save must make sure of them.
  private func hasChangedPairs(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) -> Bool {
    if state.keys != nil { return !state.added.isEmpty || !state.removed.isEmpty }
    let root = context.model.entities[relationship.destination].root
    return (state.added.keys + state.removed.keys).contains { key in
      guard let slot = relationship.inverseSlot,
        let other = context.registered(key, root: root)?.extras?.toManyState(slot), other.keys != nil
      else { return true }
      return other.added.contains(object.key) || other.removed.contains(object.key)
    }
  }

  /// Whether a relationship that other objects store has gained or lost objects.
  private func hasOtherMembers(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ extras: ObjectExtras
  ) -> Bool {
    guard let state = extras.toManyState(relationship.slot), let slot = relationship.inverseSlot else {
      return false
    }
    let root = context.model.entities[relationship.destination].root
    return (state.added.keys + state.removed.keys).contains { key in
      guard let member = context.registered(key, root: root), !member.flags.contains(.deletionSaved) else {
        return true
      }
      let old = member.extras?.oldValue(slot)
      let wasRelated =
        !member.flags.contains(.inserted)
        && (old.map { $0 == .int(object.key) } ?? (member.referenceKey(slot) == object.key))
      return wasRelated != (!member.isDeleted && member.referenceKey(slot) == object.key)
    }
  }
}

/// An object to which others can refer in a one-to-one relationship.
struct OneToOnePartner: Hashable {
  let root: Int
  /// The entity that declares the reference: entities that share a table may have different references at one slot.
  private let owner: String
  let slot: Int
  let key: ObjectKey

  /// - Parameter relationship: The side without the reference.
  init(_ relationship: RelationshipPlan, _ key: ObjectKey, _ model: ModelPlan) {
    let destination = model.entities[relationship.destination]
    root = destination.root
    slot = relationship.inverseSlot ?? 0
    owner = destination.slots[slot].owner
    self.key = key
  }

  /// - Parameter reference: The side with the reference.
  init(_ reference: RelationshipPlan, of object: ManagedObject, to key: ObjectKey) {
    root = object.scope.plan.root
    (owner, slot) = (reference.owner, reference.slot)
    self.key = key
  }
}

extension ManagedObjectContext {
  /// The objects that unsaved one-to-one references lead to now, or led to before.
  func contestedPartners() -> Set<OneToOnePartner> {
    var result: Set<OneToOnePartner> = []
    for object in pending where object.isPending {
      let isWhole = !object.flags.isDisjoint(with: [.inserted, .deleted])
      for case let relationship? in object.scope.plan.relationships where relationship.isOneToOne {
        guard case .reference = relationship.storage else { continue }
        let slot = relationship.slot
        guard isWhole || object.extras?.changed.contains(slot) == true else { continue }
        let key = object.referenceKey(slot)
        let old = object.extras?.oldValue(slot)
        if !isWhole, let old, old == (key == 0 ? .null : .int(key)) { continue }
        result.insert(OneToOnePartner(relationship, of: object, to: key))
        if case .int(let old)? = old { result.insert(OneToOnePartner(relationship, of: object, to: old)) }
      }
    }
    return result
  }

  /// Forgets changes of values that were set back, so that neither rules nor the save consider them.
  @_optimize(speed)
  func forgetSetBackValues() {
    for object in pending where object.flags.contains(.updated) { forgetEqualChanges(of: object) }
  }
}
