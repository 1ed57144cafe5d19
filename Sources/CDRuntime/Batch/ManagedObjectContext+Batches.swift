extension ManagedObjectContext {
  /// Inserts rows in one transaction, without creating an object for each row.
  ///
  /// Only the store counts: unsaved changes of contexts have no effect. This context learns of the rows at once, or when
  /// it next reads if the store cannot be read now. Other contexts learn of them when they next read.
  ///
  /// If a server interrupts the batch, it is written again, as a save is. For this, the rows are read again from their
  /// first one. If they are a sequence that is no `Collection`, and the first row has been read, the batch fails instead.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:suggestion:)``, ``FetchError/abstractEntity(_:)``, ``PropertyError``, ``BatchError``
  ///   or ``StoreError``; nothing has been written then. The exception is
  ///   ``BatchError/partlyWritten(written:missing:reason:)``: some of several stores have been written.
  @discardableResult
  public func execute<Object>(_ request: BatchInsertRequest<Object>) throws -> BatchResult {
    guard let plan = model.entity(request.entityName) else {
      throw unknownEntity(request.entityName)
    }
    guard !plan.description.isAbstract else { throw FetchError.abstractEntity(plan.name) }
    return try runBatch(plan) { try $0.insert(request.rows, request.uniqueness) }
  }

  /// Sets values of all objects that meet a condition, in one transaction, without creating an object for each.
  ///
  /// Only the store counts: unsaved changes of contexts have no effect. The batch increases the rows' versions, so
  /// that the save of an object with unsaved changes detects a conflict. Objects without unsaved changes are read
  /// again: those of this context at once, those of other contexts when these next read.
  ///
  /// - Throws: ``FetchError``, ``PropertyError``, ``BatchError`` or ``StoreError``; nothing has been written then. The
  ///   exception is ``BatchError/partlyWritten(written:missing:reason:)``: some of several stores have been written.
  @discardableResult
  public func execute<Object>(_ request: BatchUpdateRequest<Object>) throws -> BatchResult {
    let plan = try entityPlan(of: request.fetchRequest)
    return try MatchBudget.run(isCancellable: true) { try runBatch(plan) { try $0.update(request) } }
  }

  /// Deletes all objects that meet a condition, in one transaction, without creating an object for each.
  ///
  /// The store applies delete rules: objects that a `cascade` rule reaches are deleted too, with their own rules;
  /// references of other objects become nil. If a `deny` rule protects an object from deletion, because it still has
  /// objects that the batch does not delete, nothing is deleted. Only the store counts: unsaved changes of contexts
  /// have no effect.
  ///
  /// - Throws: ``FetchError``, ``BatchError`` or ``StoreError``; nothing has been written then. The exception is
  ///   ``BatchError/partlyWritten(written:missing:reason:)``: some of several stores have been written. The error lists the
  ///   objects that are left to be deleted. The same request may not find them again.
  @discardableResult
  public func execute<Object>(_ request: BatchDeleteRequest<Object>) throws -> BatchResult {
    let plan = try entityPlan(of: request.fetchRequest)
    return try MatchBudget.run(isCancellable: true) {
      try runBatch(plan) { try $0.delete(request.fetchRequest) }
    }
  }

  private func runBatch(_ plan: EntityPlan, _ body: (BatchRun) throws -> Int) throws -> BatchResult {
    try learningOfBatch {
      do {
        return try writeBatch(plan, excludesOthers: false, body)
      } catch is OutdatedBatch {
        return try writeBatch(plan, excludesOthers: true, body)
      }
    }
  }

  /// Runs a body that writes a batch. This context then learns of what the batch has written, also if that is only a part.
  func learningOfBatch(_ body: () throws -> BatchResult) throws -> BatchResult {
    endReading()
    do {
      let result = try body()
      let changes = result.changes
      let groups = changes.inserted.groups + changes.updated.groups + changes.deleted.groups
      let written = Set(groups.map(\.storeID))
      learnOfBatch { written.contains($0.storeID) }
      return result
    } catch let error as BatchError {
      if case .partlyWritten(let written, _, _) = error { learnOfBatch { written.contains($0.url) } }
      throw error
    }
  }

  /// Updates the objects of this context to a batch that has been written.
  ///
  /// It never throws: the caller would take the error for a batch that has written nothing, and write it twice. If the
  /// stores cannot be read now, the context learns of the batch when it next reads.
  ///
  /// - Parameter isWritten: Whether the batch has written to a store. The others may be on a server that is away.
  private func learnOfBatch(_ isWritten: (any AttachedStore) -> Bool) {
    // The sequence of rows may have made this context read a state without the batch.
    endReading()
    engine.watch.announce()
    if storeReader.hasSession || parent != nil || !historyPosition.isEmpty {
      try? learnOfSaves(in: isWritten)
    }
  }

  private func writeBatch(
    _ plan: EntityPlan, excludesOthers: Bool, _ body: (BatchRun) throws -> Int
  ) throws -> BatchResult {
    var canRepeat = true
    func isRepeatable() -> Bool { canRepeat }
    return try engine.save(isRepeatable: isRepeatable) { session in
      let run = BatchRun(self, session, plan, excludesOthers: excludesOthers)
      defer { canRepeat = run.isRepeatable }
      return try run.run { try body(run) }
    }
  }
}
