// Notifications that are delivered later.
//
// The context learns of other contexts' saves while it reads: in the middle of a statement's rows, or of tracked
// reads, which are observed only after all of them. It notifies observers once the snapshot has been released.
extension ManagedObjectContext {
  /// Schedules a notification that properties of an object may have changed: all of them, or those that meet a
  /// condition.
  func noteChange(of object: ManagedObject, where isIncluded: (PropertyPlan) -> Bool = { _ in true }) {
    guard object.flags.contains(.observed) else { return }
    var slots = SlotSet()
    for slot in object.scope.plan.slots where isIncluded(slot) { slots.insert(slot.number) }
    if !slots.isEmpty { changeNotices.schedule(object, slots) }
  }

  /// Delivers all scheduled notifications, unless a child's save is pushing its values.
  func notifyObservers() {
    if changeNotices.isHeld { return }
    if !children.isEmpty { children.visitAll { $0.notifyObservers() } }
    changeNotices.deliver()
  }

  /// Delivers the notifications now, unless a snapshot is held: then they are delivered at its end.
  @inline(__always) func notifyObserversUnlessReading() {
    if changeNotices.isAnyDue || !children.isEmpty, !isReading, !storeReader.isReadingRows {
      notifyObservers()
    }
  }

  /// Whether a snapshot is held, or would be if the store had snapshots. A child reads through its parent.
  var isReading: Bool { parent?.isReading ?? storeReader.isReading }

  // MARK: Relationships that a deletion of their objects does not change

  /// Records an object that observes a relationship which the deletion of its objects does not change: the
  /// relationship has no inverse, or the inverse has a rule that leaves it unchanged.
  func noteObserver(_ object: ManagedObject, of relationship: RelationshipPlan) {
    if keepsDeletedObjects(relationship) { changeNotices.addUnnotifiedObserver(object) }
  }

  /// Whether the deletion of a relationship's object does not change the relationship's owner.
  func keepsDeletedObjects(_ relationship: RelationshipPlan) -> Bool {
    inverse(of: relationship)?.description.deleteRule.separates != true
  }

  /// Schedules notifications for relationships that may have lost objects, or got them back, without having been
  /// changed.
  func noteDeletionsUnnotified(to roots: Set<Int>) {
    guard changeNotices.hasUnnotifiedObservers, !roots.isEmpty else { return }
    for object in changeNotices.unnotifiedObjects {
      noteChange(of: object) { slot in
        guard let relationship = slot.relationship, keepsDeletedObjects(relationship) else { return false }
        return roots.contains(model.entities[relationship.destination].root)
      }
    }
  }
}

// Observers of the context.
extension ManagedObjectContext {
  /// The changes of the context from now on: each of its own saves, and each time that it learns of other contexts'
  /// saves, whose updates are in ``ObjectChanges/refreshed``. Each access returns a new sequence, which ends with the
  /// context and buffers changes that have not been read yet.
  ///
  /// For a parent, a child's save is another context's save. When a parent learns of changes, the observers of its
  /// children are notified too.
  ///
  /// A context learns of other contexts' saves when it reads, or when changes are merged into it; see
  /// ``PersistentContainer/automaticallyMergesChangesFromParent``.
  ///
  /// ```swift
  /// for await changes in context.changes {
  ///   if changes.deleted.contains(book.objectID) { print("the book is gone") }
  /// }
  /// ```
  public var changes: AsyncStream<ObjectChanges> { changeNotices.stream() }

  /// The changes that a save has written.
  func changes(of plan: SavePlan) -> ObjectChanges {
    let related = plan.related.filter { !$0.flags.contains(.inserted) && !$0.flags.contains(.updated) }
    return ObjectChanges(
      inserted: ManagedObjectIDs(plan.inserted.map(\.objectID)),
      updated: ManagedObjectIDs((plan.updated + related).map(\.objectID)),
      deleted: ManagedObjectIDs(plan.deleted.map(\.objectID)))
  }
}
