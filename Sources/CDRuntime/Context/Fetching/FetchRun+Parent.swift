// A child's fetch: the parent answers it, and the child's own changes are counted in.
extension FetchRun {
  /// Whether the parent's answer is the child's.
  var isParents: Bool { (pending.isEmpty || !includesChanges) && variables["FETCH_SOURCE"] == nil }

  /// The same fetch in the parent.
  func run(in parent: ManagedObjectContext) throws -> FetchRun {
    try FetchRun(parentRequest(), of: plan, in: parent)
  }

  private func parentRequest() -> FetchRequest<ManagedObject> {
    var request = request()
    request.includesPendingChanges = includesChanges
    return request
  }

  func objects(by parent: ManagedObjectContext) throws -> [ManagedObject] {
    context.noticeDeletions()
    if isParents {
      let originals = try run(in: parent).objects()
      if includesChanges { return context.copies(of: originals) }
      // The child's objects, whatever their changes.
      return originals.map(context.copy)
    }
    var request = parentRequest()
    (request.limit, request.offset, request.sortKeys) = (nil, 0, [])
    let storeDecides = storeDecides && variables["FETCH_SOURCE"] == nil
    if !storeDecides { request.predicate = nil }
    let originals = try FetchRun(request, of: plan, in: parent).objects()
    var objects = context.copies(of: originals)
    if storeDecides {
      objects = try objects.filter { !$0.isPending && !$0.isDeleted } + matchingChanged()
    } else {
      objects = objects.filter { !$0.isDeleted && !$0.isInserted }
      objects += pending.filter { $0.isInserted && isWanted($0) }
      objects = try matching(objects)
    }
    objects.sort { $0.key < $1.key }
    return window(try evaluator.sorted(objects, by: sortKeys))
  }

  func keys(by parent: ManagedObjectContext) throws -> [FetchedKey] {
    context.noticeDeletions()
    if isParents { return try run(in: parent).keys() }
    return try objects(by: parent).map { FetchedKey(key: $0.key, entity: $0.scope.plan.index) }
  }
}

// Derived attributes of a parent's unsaved objects. The parent's part of a child's fetch may be without the predicate and
// the order that read them.
extension ManagedObjectContext {
  /// Whether the context or one that it descends from has objects with changes.
  var hasPendingInLineage: Bool { !pending.isEmpty || parent?.hasPendingInLineage == true }

  /// Lets objects of which nothing but derived attributes has changed be what the contexts above have made of them since.
  /// Called before a fetch, which counts objects with changes apart, and after an undo.
  func followWithDerivedChanges() {
    guard let parent else { return }
    parent.followWithDerivedChanges()
    for object in pending where object.hasOnlyDerivedChanges {
      let original = newestOriginal(of: object)
      if let original, original.hasSameValues(as: object) { continue }
      forgetDerivedChanges(of: object)
      if object.isPending { continue }
      noteChange(of: object)
      object.flags.insert(.fault)
    }
  }

  /// The parent's instance of an object, with what contexts above the parent have made of it.
  private func newestOriginal(of object: ManagedObject) -> ManagedObject? {
    guard let parent, let original = original(of: object) else { return nil }
    // The contexts above know nothing of what the parent has inserted.
    guard parent.parent != nil, !original.isInserted else { return original }
    return parent.newestOriginal(of: original).flatMap { parent.copies(of: [$0]).first }
  }

  /// Computes derived attributes for a fetch, those of parents first: the child's are derived from them.
  func deriveLineageForFetch() {
    if let parent {
      parent.deriveLineageForFetch()
      takeDerived(from: parent)
    }
    if !pending.isEmpty { deriveForFetch() }
  }

  /// Gives objects without changes what the parent has derived since they were read: the fetch may read them on its way to
  /// others, by an order for instance, and then it does not find them.
  private func takeDerived(from parent: ManagedObjectContext) {
    for object in maps.flatMap({ $0?.objects ?? [] }) {
      let slots = object.scope.plan.derivedSlots
      guard !slots.isEmpty, !object.isPending, object.exists, !object.isFault,
        let original = parent.registered(object.key, root: object.scope.plan.root), original.exists
      else { continue }
      original._willRead()
      if slots.contains(where: { original.storedValue($0) != object.storedValue($0) }) {
        _ = copies(of: [original])
      }
    }
  }
}

extension ManagedObject {
  /// Whether another context's instance has the same values, derived ones apart.
  fileprivate func hasSameValues(as other: ManagedObject) -> Bool {
    scope.plan.storedSlots.allSatisfy { slot in
      scope.plan.slots[slot].attribute?.derivation != nil || storedValue(slot) == other.storedValue(slot)
    }
  }
}
