// Asking objects at the turns of their lives.
extension ManagedObjectContext {
  /// The most rounds of ``ManagedObjectLifecycle/willSave()`` in one save.
  private static let mostRounds = 1000

  /// Lets all objects of a save prepare for it, and those that come to it by this, each once.
  func prepareForSave() throws {
    guard model.hasLifecycle else { return }
    var asked = 0
    for _ in 0..<Self.mostRounds {
      let round = asked..<pending.count
      if round.isEmpty { return }
      for place in round {
        let object = pending[place]
        guard object.isPending, !object.flags.isSuperset(of: [.inserted, .deleted]) else { continue }
        object.lifecycle?.willSave()
      }
      asked = round.upperBound
    }
    throw SaveError.unsettled(pending[asked...].filter { $0.scope.plan.hasLifecycle }.map(\.objectID))
  }

  /// The objects that will have been saved, for ``ManagedObjectLifecycle/didSave()``.
  func savedObjects(_ plan: SavePlan) -> [any ManagedObjectLifecycle] {
    guard model.hasLifecycle else { return [] }
    return (plan.inserted + plan.updated + plan.deleted).compactMap(\.lifecycle)
  }

  /// The errors of an object's own validation.
  func refusals(of object: ManagedObject) -> [ValidationError] {
    guard let lifecycle = object.lifecycle else { return [] }
    do {
      if object.flags.contains(.deleted) {
        try lifecycle.validateForDelete()
      } else if object.flags.contains(.inserted) {
        try lifecycle.validateForInsert()
      } else {
        try lifecycle.validateForUpdate()
      }
      return []
    } catch let error as ValidationError {
      return [error]
    } catch {
      return [
        ValidationError(
          reason: .refused("\(error)"), entity: object.scope.plan.name, property: nil,
          objectID: object.objectID)
      ]
    }
  }

  /// Tells an object that its values have been read. Its changes are none meanwhile.
  func awake(_ object: ManagedObject) {
    guard let lifecycle = object.lifecycle else { return }
    let wasAwakening = isAwakening
    isAwakening = true
    defer { isAwakening = wasAwakening }
    lifecycle.awakeFromFetch()
  }

  /// Tells the objects whose rows have been read since the last call. Their statements are done with by now, which
  /// a method of the user's may use again.
  func awakeFetched() {
    guard runningReads == 0 else { return }
    while !fetched.isEmpty {
      let objects = fetched
      fetched.removeAll()
      for object in objects { awake(object) }
    }
  }
}
