// Notifications that are delivered later.
//
// The context learns of other contexts' saves while it reads: in the middle of a statement's rows, or of tracked
// reads, which are observed only after all of them. It notifies observers once the snapshot has been released.
extension ManagedObjectContext {
  /// A notification for the observers of an object.
  struct Notice {
    let object: ManagedObject
    let slots: SlotSet
  }

  /// Schedules a notification that properties of an object may have changed: all of them, or those that meet a
  /// condition.
  func noteChange(of object: ManagedObject, where isIncluded: (PropertyPlan) -> Bool = { _ in true }) {
    guard object.flags.contains(.observed) else { return }
    var slots = SlotSet()
    for slot in object.scope.plan.slots where isIncluded(slot) { slots.insert(slot.number) }
    if !slots.isEmpty { notices.append(Notice(object: object, slots: slots)) }
  }

  /// Delivers all scheduled notifications.
  func notifyObservers() {
    if !children.isEmpty { for child in children { child.context?.notifyObservers() } }
    if notices.isEmpty, laterChanges.isEmpty { return }
    let (told, changes) = (notices, laterChanges)
    notices.removeAll()
    laterChanges.removeAll()
    for notice in told {
      notice.object.willChange { notice.slots.contains($0.number) }
      notice.object.didChange { notice.slots.contains($0.number) }
    }
    for change in changes { change() }
  }

  /// Delivers the notifications now, unless a snapshot is held: then they are delivered at its end.
  @inline(__always) func notifyObserversUnlessReading() {
    if !notices.isEmpty || !children.isEmpty, !isReading, !storeReader.isReadingRows { notifyObservers() }
  }

  /// Whether a snapshot is held, or would be if the store had snapshots. A child reads through its parent.
  var isReading: Bool { parent?.isReading ?? storeReader.isReading }

  /// Schedules a closure for the end of the snapshot.
  func noteLater(_ change: @escaping () -> Void) {
    laterChanges.append(change)
  }

  // MARK: Relationships that a deletion of their objects does not change

  /// Records an object that observes a relationship which the deletion of its objects does not change: the
  /// relationship has no inverse, or the inverse has a rule that leaves it unchanged.
  func noteObserver(_ object: ManagedObject, of relationship: RelationshipPlan) {
    guard keepsDeletedObjects(relationship) else { return }
    if unnotifiedObservers.count >= unnotifiedObserversLimit {
      unnotifiedObservers.removeAll { $0.object == nil }
      unnotifiedObserversLimit = max(256, unnotifiedObservers.count * 2)
    }
    unnotifiedObservers.append(FollowedObject(object: object))
  }

  private func keepsDeletedObjects(_ relationship: RelationshipPlan) -> Bool {
    inverse(of: relationship)?.description.deleteRule.separates != true
  }

  /// Schedules notifications for relationships that may have lost objects, or got them back, without having been
  /// changed.
  func noteDeletionsUnnotified(to roots: Set<Int>) {
    guard !unnotifiedObservers.isEmpty, !roots.isEmpty else { return }
    for follower in unnotifiedObservers {
      guard let object = follower.object else { continue }
      noteChange(of: object) { slot in
        guard let relationship = slot.relationship, keepsDeletedObjects(relationship) else { return false }
        return roots.contains(model.entities[relationship.destination].root)
      }
    }
  }
}
