// Changes that are not told where they are made.
//
// What others have saved is learnt in the middle of reading: of a statement's rows, or of the reads that somebody has
// tracked, which are followed only once all are done. It is told when the state that is read from has been let go of.
extension ManagedObjectContext {
  /// What is to be told of an object.
  struct Notice {
    let object: ManagedObject
    let slots: SlotSet
  }

  /// Has it told that an object's properties may have changed: all, or those that a condition holds for.
  func noteChange(of object: ManagedObject, where isMeant: (PropertyPlan) -> Bool = { _ in true }) {
    guard object.flags.contains(.observed) else { return }
    var slots = SlotSet()
    for slot in object.scope.plan.slots where isMeant(slot) { slots.insert(slot.number) }
    if !slots.isEmpty { notices.append(Notice(object: object, slots: slots)) }
  }

  /// Tells what is to be told.
  func tellObservers() {
    if !children.isEmpty { for child in children { child.context?.tellObservers() } }
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

  /// Tells it now, where no state of the store is held at whose end it will be.
  @inline(__always) func tellObserversUnlessReading() {
    if !notices.isEmpty || !children.isEmpty, !isReading, runningReads == 0 { tellObservers() }
  }

  /// Whether a state of the store is held, or would be if the store had such: a child reads by its parent.
  var isReading: Bool { parent?.isReading ?? (reading.isOpen || reading.isInTurn) }

  /// Has it told at the end of the state that is read from.
  func noteLater(_ change: @escaping () -> Void) {
    laterChanges.append(change)
  }

  // MARK: Relationships whose objects are deleted without their being told

  /// Notes who follows a relationship that the deletion of its objects does not change: one by one side alone, or one
  /// whose other side has a rule that leaves it as it is.
  func noteFollower(_ object: ManagedObject, of relationship: RelationshipPlan) {
    guard isLoose(relationship) else { return }
    if looseFollowers.count >= looseLimit {
      looseFollowers.removeAll { $0.object == nil }
      looseLimit = max(256, looseFollowers.count * 2)
    }
    looseFollowers.append(FollowedObject(object: object))
  }

  private func isLoose(_ relationship: RelationshipPlan) -> Bool {
    guard let inverse = inverse(of: relationship) else { return true }
    switch inverse.description.deleteRule {
    case .noAction, .deny: return true
    case .cascade, .nullify: return false
    }
  }

  /// Has it told that relationships have lost objects, or have them again, of which they were not told.
  func noteLoose(to roots: Set<Int>) {
    guard !looseFollowers.isEmpty, !roots.isEmpty else { return }
    for follower in looseFollowers {
      guard let object = follower.object else { continue }
      noteChange(of: object) { slot in
        guard let relationship = slot.relationship, isLoose(relationship) else { return false }
        return roots.contains(model.entities[relationship.destination].root)
      }
    }
  }
}
