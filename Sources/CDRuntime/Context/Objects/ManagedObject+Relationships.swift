// Reading and changing relationships, by their plans.
extension ManagedObject {
  /// The object of a to-one relationship.
  final func relatedObject(_ relationship: RelationshipPlan) -> ManagedObject? {
    guard let context = scope.context else { return nil }
    if case .inverseReference = relationship.storage {
      noteStandIn(relationship, context)
      return context.partner(of: self, relationship)
    }
    _willRead()
    let key = referenceKey(relationship.slot)
    if key == 0 { return nil }
    noteStandIn(relationship, context)
    return context.object(key, relationship)
  }

  /// Reports that the app's own code of a migration reads objects of another store, in whose place it has an empty one.
  @inline(__always) private func noteStandIn(
    _ relationship: RelationshipPlan, _ context: ManagedObjectContext
  ) {
    if !relationship.isWithinStore, context.storeReader.hasStandIns {
      reportStandIn(relationship, context)
    }
  }

  @inline(never) private func reportStandIn(
    _ relationship: RelationshipPlan, _ context: ManagedObjectContext
  ) {
    context.observe(
      ObservedError(
        reason: .readFailed("its objects are in another store, which this migration cannot read"),
        entity: relationship.owner, property: relationship.name, objectID: objectID))
  }

  final func setRelatedObject(_ object: ManagedObject?, _ relationship: RelationshipPlan) {
    forgetFaults(relationship)
    _willRead()
    // Afterwards: an observer, which is told before the change, may fetch and find the row gone.
    defer { noteLostChange(relationship.slot) }
    guard let context = scope.context, accepts(object, relationship) else { return }
    if case .inverseReference = relationship.storage {
      context.setPartner(of: self, relationship, to: object)
    } else {
      context.setReference(of: self, relationship, to: object)
    }
  }

  /// The objects of a to-many relationship.
  final func relatedObjects(_ relationship: RelationshipPlan) -> [ManagedObject] {
    guard let context = scope.context, !flags.contains(.inaccessible) else { return [] }
    noteStandIn(relationship, context)
    return context.objects(of: self, relationship)
  }

  final func setRelatedObjects(_ objects: [ManagedObject], _ relationship: RelationshipPlan) {
    noteLostRelation(relationship)
    guard let context = scope.context else { return }
    forgetFaults(relationship)
    let accepted = objects.filter { accepts($0, relationship) }
    // An object that is gone, or whose values could not be read, has lost the change already.
    guard !flags.contains(.inaccessible) || isPending else { return }
    let former: [ManagedObject]
    do { former = try context.objectsForCaller(of: self, relationship) } catch {
      return context.noteFailure(error, of: self, slot: relationship.slot)
    }
    let wanted = Set(accepted)
    for object in former where !wanted.contains(object) {
      context.remove(object, from: self, relationship)
    }
    for object in accepted { context.add(object, to: self, relationship, at: nil) }
    toManyState(relationship.slot).isReplaced = true
    // Needs no `willChange`: the classes of a migration's new store are not observable.
    if context.importTarget != nil { noteChangeOutsideRow(relationship.slot) }
    if relationship.isOrdered { context.setOrder(of: self, relationship, to: accepted.map(\.key)) }
  }

  final func addRelated(_ object: ManagedObject, _ relationship: RelationshipPlan, at index: Int?) {
    noteLostRelation(relationship)
    guard let context = scope.context, accepts(object, relationship) else { return }
    context.add(object, to: self, relationship, at: index)
  }

  final func removeRelated(_ object: ManagedObject, _ relationship: RelationshipPlan) {
    noteLostRelation(relationship)
    guard let context = scope.context, accepts(object, relationship) else { return }
    context.remove(object, from: self, relationship)
  }

  private func noteLostRelation(_ relationship: RelationshipPlan) {
    _willRead()
    noteLostChange(relationship.slot)
  }

  /// The key in a reference of the object's row, without the changes of this context; 0 for nil, and for a new object.
  final func storedReferenceKey(_ slot: Int) -> ObjectKey {
    if flags.contains(.inserted) { return 0 }
    guard let old = extras?.oldValue(slot) else { return referenceKey(slot) }
    if case .int(let key) = old { return key }
    return 0
  }

  final func toManyState(_ slot: Int) -> ToManyState {
    let extras = requireExtras()
    if let state = extras.toManyState(slot) { return state }
    let state = ToManyState()
    extras.toMany.append((slot, state))
    return state
  }

  /// Forgets the refused values of a relationship that is being set again.
  private func forgetFaults(_ relationship: RelationshipPlan) {
    extras?.faults.removeAll { $0.property == relationship.name }
  }

  /// Whether an object can be related to this one. An object of another context, or an inaccessible one, is recorded,
  /// so that the save refuses it.
  private func accepts(_ object: ManagedObject?, _ relationship: RelationshipPlan) -> Bool {
    guard let object, object.scope.context !== scope.context || object.flags.contains(.inaccessible)
    else { return !flags.contains(.inaccessible) }
    requireExtras().faults.append(ValidationError(.foreignObject, of: self, relationship.name))
    if let context = scope.context { mark(.changedOutsideRow, in: context) }
    return false
  }
}
