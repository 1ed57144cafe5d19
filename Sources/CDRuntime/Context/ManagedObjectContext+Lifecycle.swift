// Calling the app's lifecycle methods, which may do anything with the context.
extension ManagedObjectContext {
  /// The most rounds of ``ManagedObjectLifecycle/willSave()`` in one save.
  private static let maximumRounds = 1000

  /// Calls ``ManagedObjectLifecycle/willSave()`` once for each object of a save, including objects that join the save
  /// meanwhile.
  private func prepareForSave(_ visited: inout VisitedObjects) throws {
    for _ in 0..<Self.maximumRounds {
      let round = visited.remaining(in: pending)
      if round == 0 { return }
      for _ in 0..<round {
        guard let object = visited.next(in: pending) else { return }
        guard object.isPending, !object.flags.isSuperset(of: [.inserted, .deleted]),
          let lifecycle = object.lifecycle
        else { continue }
        activity.run(.willSave) { lifecycle.willSave() }
      }
    }
    throw unstableError(visited)
  }

  private func unstableError(_ visited: VisitedObjects) -> SaveError {
    .unstableObjects(visited.others(in: pending).filter { $0.scope.plan.hasLifecycle }.map(\.objectID))
  }

  /// Prepares the changes for writing: calls hooks, computes derived attributes, checks rules. Afterwards there may
  /// be nothing left to write.
  ///
  /// A hook may change any object, including objects whose hooks have been called. The schema's rules are checked
  /// last, for the values that will be written. An object's own methods are called once each.
  ///
  /// - Throws: ``SaveError/validation(_:)`` with every mistake, ``SaveError/unstableObjects(_:)``, and ``StoreError`` if the
  ///   history cannot be read.
  func prepareToWrite(_ hooks: inout SaveHooks) throws {
    try learnOfFormerRows()
    // Cancelling the task must not make the save fail halfway.
    try MatchBudget.run(isCancellable: false) { try prepareChanges(&hooks) }
  }

  /// Learns of the saves of others if the save will insert a row again. The history may have the deletion of the former row.
  /// If the context read it after the save, it would take the object for deleted.
  ///
  /// The context reads only the histories of the stores that get such a row. Another store may be on a server that is away.
  private func learnOfFormerRows() throws {
    guard parent == nil, importTarget == nil else { return }
    var storeIndices: Set<Int> = []
    for object in pending where object.isInserted && object.version != 0 {
      if let index = object.scope.plan.storeIndex { storeIndices.insert(index) }
    }
    if storeIndices.isEmpty { return }
    endSnapshot()
    let session = try reader()
    try catchUp(session, with: storeReader.stores.all.filter { storeIndices.contains($0.index) })
  }

  private func prepareChanges(_ hooks: inout SaveHooks) throws {
    guard model.hasLifecycle else {
      // A migration derives attributes once all objects exist.
      repeat {
        if importTarget == nil { try deriveAttributes() }
        forgetSetBackValues()
      } while try validate([:])
      return
    }
    for _ in 0..<Self.maximumRounds {
      try prepareForSave(&hooks.prepared)
      if !hasChanges { return }
      if importTarget == nil { try deriveAttributes() }
      let mark = pendingChanges.changeCount
      collectRefusals(&hooks)
      if pendingChanges.changeCount != mark { continue }
      forgetSetBackValues()
      do {
        let isOutdated = try validate(hooks.refusals)
        if !isOutdated, pendingChanges.changeCount == mark { return }
      } catch  where pendingChanges.changeCount != mark {
        // Reading values for the rules has notified observers, which have changed objects: try again.
      }
    }
    throw unstableError(hooks.validated)
  }

  /// Calls the validation methods of the objects of a save, each object's once.
  private func collectRefusals(_ hooks: inout SaveHooks) {
    let isTracked = undoManager != nil
    let new = isTracked ? [] : pending.filter { $0.flags.contains(.inserted) }
    // Counts the changes of new objects while the methods run.
    for object in new { object.flags.insert(.tracked) }
    defer { if undoManager == nil { for object in new { object.flags.remove(.tracked) } } }
    while let object = hooks.validated.next(in: pending) {
      guard object.isPending, !object.flags.isSuperset(of: [.inserted, .deleted]), !isOfRemovedStore(object)
      else { continue }
      let errors = refusals(of: object)
      if !errors.isEmpty { hooks.refusals[ObjectIdentifier(object)] = errors }
    }
  }

  /// The objects whose ``ManagedObjectLifecycle/didSave()`` will be called after the save.
  func savedObjects(_ plan: SavePlan) -> [any ManagedObjectLifecycle] {
    guard model.hasLifecycle else { return [] }
    return (plan.inserted + plan.updated + plan.deleted).compactMap(\.lifecycle)
  }

  /// The errors of an object's own validation methods.
  func refusals(of object: ManagedObject) -> [ValidationError] {
    guard let lifecycle = object.lifecycle else { return [] }
    do {
      try activity.run(.validation) {
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
      return [ValidationError(.refused("\(error)"), of: object)]
    }
  }

  /// Calls ``ManagedObjectLifecycle/awakeFromFetch()`` of the objects whose rows have been read since the last call.
  /// By now their statements are finished, so the app's methods can use them again.
  func awakeFetched() {
    while let objects = storeReader.takeFetched() {
      for object in objects {
        if let lifecycle = object.lifecycle { activity.awake(lifecycle) }
      }
    }
  }
}

/// The hooks that one save has called.
struct SaveHooks {
  var prepared = VisitedObjects()
  var validated = VisitedObjects()
  /// Whether conflicts have been resolved, which may have given objects the values of other contexts.
  var hasResolved = false
  /// The errors of validation methods. `validated` retains the objects, so that no other object gets the same
  /// identity.
  var refusals: [ObjectIdentifier: [ValidationError]] = [:]

  /// Forgets which objects were validated, because their values have changed.
  mutating func validateAnew() {
    validated = VisitedObjects()
    refusals.removeAll()
  }
}

/// The objects of a context's list for which a lifecycle method was called. The method may add objects to the list
/// and remove any object.
struct VisitedObjects {
  private var visited: [ManagedObject] = []
  /// The index after the last visited object, as long as no object before it has been removed.
  private var index = 0
  /// The same objects, once an object has been removed.
  private var known: Set<ObjectIdentifier>?

  private func isIndexValid(_ pending: [ManagedObject]) -> Bool {
    guard index > 0, let last = visited.last else { return index == 0 }
    return index <= pending.count && pending[index - 1] === last
  }

  /// Returns the number of objects that are still to be visited, or more.
  func remaining(in pending: [ManagedObject]) -> Int {
    isIndexValid(pending) ? pending.count - index : pending.count
  }

  /// The next object whose hook has not been called in this save; nil if there is none.
  mutating func next(in pending: [ManagedObject]) -> ManagedObject? {
    if !isIndexValid(pending) {
      if known == nil { known = Set(visited.map { ObjectIdentifier($0) }) }
      index = 0
    }
    while index < pending.count {
      let object = pending[index]
      index += 1
      if known?.insert(ObjectIdentifier(object)).inserted == false { continue }
      visited.append(object)
      return object
    }
    return nil
  }

  /// Returns the objects of a list that have not been visited.
  func others(in pending: [ManagedObject]) -> [ManagedObject] {
    let known = Set(visited.map { ObjectIdentifier($0) })
    return pending.filter { !known.contains(ObjectIdentifier($0)) }
  }
}
