extension FetchRun {
  func objects() throws -> [ManagedObject] {
    try answer { run in
      if let parent = context.parent { return try run.objects(by: parent) }
      if ignoresChanges, let keys = try run.keysRegardlessOfChanges() { return try run.objects(of: keys) }
      return pending.isEmpty ? try run.storedObjects() : try run.objectsWithChanges()
    }
  }

  func count() throws -> Int {
    try answer { run in
      if let parent = context.parent {
        return run.isParents ? try run.run(in: parent).count() : try run.objects(by: parent).count
      }
      if ignoresChanges, let keys = try run.keysRegardlessOfChanges() { return keys.count }
      guard storeDecides else { return try run.objectsWithChanges().count }
      let query = try run.stored()
      guard query.isExact else {
        return pending.isEmpty ? try run.storedObjects().count : try run.objectsWithChanges().count
      }
      let changed = try matchingChanged().count
      let all = try query.count(without: pendingKeys) + changed
      return min(limit ?? Int.max, max(0, all - offset))
    }
  }

  /// The keys of what is fetched, with the places of the objects' entities.
  func keys() throws -> [FetchedKey] {
    try answer { run in
      if let parent = context.parent { return try run.keys(by: parent) }
      if ignoresChanges, let keys = try run.keysRegardlessOfChanges() { return keys }
      return try run.storedKeys()
        ?? run.objects().map { FetchedKey(key: $0.key, entity: $0.scope.plan.index) }
    }
  }

  // MARK: With nothing unsaved

  private func storedObjects() throws -> [ManagedObject] {
    let query = try stored()
    guard query.isSorted else {
      SQLLog.note(evaluationInMemory(query))
      let candidates = try context.objects(of: query, isSorted: false)
      return window(try evaluator.sorted(try matching(candidates), by: sortKeys))
    }
    return try context.objects(of: query, window)
  }

  // MARK: With unsaved changes

  private func objectsWithChanges() throws -> [ManagedObject] {
    var objects: [ManagedObject]
    if storeDecides {
      let query = try self.stored()
      let stored: [ManagedObject]
      if query.isSorted, let limit, storeSorts {
        // No more than these can be among the wanted, however many of them have changes.
        let (most, isTooLarge) = limit.addingReportingOverflow(pending.count)
        let (end, isTooFar) = most.addingReportingOverflow(offset)
        stored = try context.objects(of: query, StoreWindow(limit: isTooLarge || isTooFar ? nil : end))
      } else {
        stored = try context.objects(of: query, isSorted: false)
      }
      objects = stored.filter { !$0.isPending && !$0.isDeleted }
      if !query.isExact {
        SQLLog.note(evaluationInMemory(query))
        objects = try matching(objects)
      }
      objects += try matchingChanged()
    } else {
      SQLLog.note(
        "cdgen: the fetch of '\(plan.name)' is evaluated in memory: it reads objects with unsaved changes")
      // Rows say nothing of objects that are not in a table yet, and may say anything of the changed ones.
      objects = try allRows().filter { !$0.isDeleted && !$0.isInserted }
      objects += pending.filter { $0.isInserted && isWanted($0) }
      objects = try matching(objects)
    }
    // The order of insertion, which is that of the keys.
    objects.sort { $0.key < $1.key }
    return window(try evaluator.sorted(objects, by: sortKeys))
  }

  // MARK: Keys

  /// The keys by SQL alone; nil where that is not enough.
  private func storedKeys() throws -> [FetchedKey]? {
    guard storeDecides, storeSorts else { return nil }
    let query = try stored()
    guard query.isSorted else { return nil }
    if pending.isEmpty { return try keys(query, window) }
    let changed = try matchingChanged()
    if changed.isEmpty { return window(try keys(query, without: pendingKeys)) }
    if !sortKeys.isEmpty { return try keys(query, beside: changed, without: pendingKeys) }
    var keys = try keys(query, without: pendingKeys)
    keys += changed.map { FetchedKey(key: $0.key, entity: $0.scope.plan.index) }
    keys.sort { $0.key < $1.key }
    return window(keys)
  }

  /// The keys of what the store alone would answer, where the context has changes; nil where it has none that
  /// could be mistaken for the store's values.
  private func keysRegardlessOfChanges() throws -> [FetchedKey]? {
    if let keys = try storedKeys() { return keys }
    // The evaluator would read the changed values: another context has none.
    let other = ManagedObjectContext(context.persistentStoreCoordinator)
    return try withExtendedLifetime(other) {
      try FetchRun(request(), of: plan, in: other).objects().map {
        FetchedKey(key: $0.key, entity: $0.scope.plan.index)
      }
    }
  }

  private func objects(of keys: [FetchedKey]) throws -> [ManagedObject] {
    try context.objects(of: keys[...], plan)
  }

  /// The keys of objects of the table whose rows do not count.
  private var pendingKeys: [ObjectKey] {
    // Others may have written the row anew of an object that an undo has brought back.
    pending.filter { $0.scope.plan.root == plan.root && (!$0.isInserted || $0.version != 0) }.map(\.key)
  }
}
