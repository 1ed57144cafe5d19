// Asking objects at the turns of their lives. What is asked is code of the app's, and may do anything with the context.
extension ManagedObjectContext {
  /// A method of the app's in which the context cannot be saved.
  enum Hook: String {
    /// The initialiser that gives the object its values has not ended.
    case awakeFromInsert = "awakeFromInsert()"
    case willSave = "willSave()"
    case validation = "a method that validates"
    case awakeFromFetch = "awakeFromFetch()"
    case prepareForDeletion = "prepareForDeletion()"
    case mergePolicy = "the merge policy"
  }

  /// Runs code of the app's.
  func running<R>(_ hook: Hook, _ body: () throws -> R) rethrows -> R {
    let outer = runningHook
    runningHook = hook
    defer { runningHook = outer }
    return try body()
  }

  /// Refuses a save in the middle of something that needs the context's changes as they are.
  func checkMaySave() throws(SaveError) {
    if let runningHook { throw .nested(in: runningHook.rawValue) }
    if isWriting { throw .nested(in: "an observer, or by a value's own code,") }
    if saveDepth >= Self.mostNestedSaves { throw .nested(in: "didSave()") }
  }

  /// How many saves may run, each called by ``ManagedObjectLifecycle/didSave()`` of the one before: each takes room on
  /// the stack.
  private static let mostNestedSaves = 32

  /// The most rounds of ``ManagedObjectLifecycle/willSave()`` in one save.
  private static let mostRounds = 1000

  /// Lets all objects of a save prepare for it, and those that come to it by this, each once.
  private func prepareForSave(_ asked: inout AskedObjects) throws {
    for _ in 0..<Self.mostRounds {
      let round = asked.remaining(in: pending)
      if round == 0 { return }
      for _ in 0..<round {
        guard let object = asked.next(in: pending) else { return }
        guard object.isPending, !object.flags.isSuperset(of: [.inserted, .deleted]),
          let lifecycle = object.lifecycle
        else { continue }
        running(.willSave) { lifecycle.willSave() }
      }
    }
    throw unsettled(asked)
  }

  private func unsettled(_ asked: AskedObjects) -> SaveError {
    .unsettled(asked.others(in: pending).filter { $0.scope.plan.hasLifecycle }.map(\.objectID))
  }

  /// Makes the changes ready to be written: hooks, derived attributes, rules. Nothing may be left to write then.
  ///
  /// A hook may change any object, also one that has been asked already. The rules of the schema come last, for the
  /// values that are written; an object's own methods are called once each.
  ///
  /// - Throws: ``SaveError/validation(_:)`` with every mistake, ``SaveError/unsettled(_:)``.
  func prepareToWrite(_ hooks: inout SaveHooks) throws {
    // A save that is cancelled half way would be a save that fails: it goes on.
    try MatchBudget.run(isCancellable: false) { try prepareChanges(&hooks) }
  }

  private func prepareChanges(_ hooks: inout SaveHooks) throws {
    guard model.hasLifecycle else {
      // A migration derives when all objects are there.
      if importTarget == nil { try deriveAttributes() }
      forgetSetBackValues()
      return try validate([:])
    }
    for _ in 0..<Self.mostRounds {
      try prepareForSave(&hooks.prepared)
      if !hasChanges { return }
      if importTarget == nil { try deriveAttributes() }
      let mark = changeCount
      askForRefusals(&hooks)
      if changeCount != mark { continue }
      forgetSetBackValues()
      do {
        try validate(hooks.refusals)
        if changeCount == mark { return }
      } catch  where changeCount != mark {
        // Values were read for the rules, and who was told of that has changed objects.
      }
    }
    throw unsettled(hooks.validated)
  }

  /// Calls the validation methods of the objects of a save, each object's once.
  private func askForRefusals(_ hooks: inout SaveHooks) {
    let isTracked = currentUndoManager != nil
    let new = isTracked ? [] : pending.filter { $0.flags.contains(.inserted) }
    // Their changes are counted meanwhile.
    for object in new { object.flags.insert(.tracked) }
    defer { if currentUndoManager == nil { for object in new { object.flags.remove(.tracked) } } }
    while let object = hooks.validated.next(in: pending) {
      guard object.isPending, !object.flags.isSuperset(of: [.inserted, .deleted]), !isOfRemovedStore(object)
      else { continue }
      let errors = refusals(of: object)
      if !errors.isEmpty { hooks.refusals[ObjectIdentifier(object)] = errors }
    }
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
      try running(.validation) {
        if object.flags.contains(.deleted) {
          try lifecycle.validateForDelete()
        } else if object.flags.contains(.inserted) {
          try lifecycle.validateForInsert()
        } else {
          try lifecycle.validateForUpdate()
        }
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
  private func awake(_ object: ManagedObject) {
    guard let lifecycle = object.lifecycle else { return }
    let wasAwakening = isAwakening
    isAwakening = true
    defer { isAwakening = wasAwakening }
    running(.awakeFromFetch) { lifecycle.awakeFromFetch() }
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

/// The hooks that one save has called.
struct SaveHooks {
  var prepared = AskedObjects()
  var validated = AskedObjects()
  /// Whether a merge policy has given objects what others have saved.
  var hasResolved = false
  /// What validation methods have thrown. The objects are in `validated`, so that no other takes their identity.
  var refusals: [ObjectIdentifier: [ValidationError]] = [:]

  /// Forgets who was validated: their values are others now.
  mutating func validateAnew() {
    validated = AskedObjects()
    refusals.removeAll()
  }
}

/// The objects of a context's list that a method of theirs was called for. The method may add objects to the list, and
/// take any out.
struct AskedObjects {
  private var asked: [ManagedObject] = []
  /// The place behind the last one, as long as nobody has taken any out before it.
  private var place = 0
  /// The same objects, once somebody has.
  private var known: Set<ObjectIdentifier>?

  private func isInPlace(_ pending: [ManagedObject]) -> Bool {
    guard place > 0, let last = asked.last else { return place == 0 }
    return place <= pending.count && pending[place - 1] === last
  }

  /// How many are still to be asked, at the most.
  func remaining(in pending: [ManagedObject]) -> Int {
    isInPlace(pending) ? pending.count - place : pending.count
  }

  /// The next object whose hook has not been called in this save; nil if there is none.
  mutating func next(in pending: [ManagedObject]) -> ManagedObject? {
    if !isInPlace(pending) {
      if known == nil { known = Set(asked.map { ObjectIdentifier($0) }) }
      place = 0
    }
    while place < pending.count {
      let object = pending[place]
      place += 1
      if known?.insert(ObjectIdentifier(object)).inserted == false { continue }
      asked.append(object)
      return object
    }
    return nil
  }

  /// Those of a list that were not asked.
  func others(in pending: [ManagedObject]) -> [ManagedObject] {
    let known = Set(asked.map { ObjectIdentifier($0) })
    return pending.filter { !known.contains(ObjectIdentifier($0)) }
  }
}
