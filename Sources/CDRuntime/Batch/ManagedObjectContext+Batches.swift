extension ManagedObjectContext {
  /// Inserts rows, without an object for each, in one transaction.
  ///
  /// The store alone counts: unsaved changes of contexts have no part in it. This context learns of the rows at once,
  /// others when they next read.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:)``, ``FetchError/abstractEntity(_:)``, ``PropertyError``, ``BatchError``
  ///   or ``StoreError``; nothing has been written then.
  @discardableResult
  public func execute<Object>(_ request: BatchInsertRequest<Object>) throws -> BatchResult {
    guard let plan = model.entity(request.entityName) else {
      throw FetchError.unknownEntity(request.entityName)
    }
    guard !plan.description.isAbstract else { throw FetchError.abstractEntity(plan.name) }
    return try runBatch(plan) { try $0.insert(request.rows, request.uniqueness) }
  }

  /// Sets values of all objects that meet a condition, without an object for each, in one transaction.
  ///
  /// The store alone counts: unsaved changes of contexts have no part in it. The rows' versions are raised, so that the
  /// save of an object with unsaved changes finds a conflict. Objects of this context without any are read again, those of
  /// other contexts when these next read.
  ///
  /// - Throws: ``FetchError``, ``PropertyError``, ``BatchError`` or ``StoreError``; nothing has been written then.
  @discardableResult
  public func execute<Object>(_ request: BatchUpdateRequest<Object>) throws -> BatchResult {
    let plan = try entityPlan(of: request.fetchRequest)
    return try MatchBudget.run(isCancellable: true) { try runBatch(plan) { try $0.update(request) } }
  }

  /// Deletes all objects that meet a condition, without an object for each, in one transaction.
  ///
  /// Delete rules are followed, by the store: what a rule of `cascade` reaches is deleted too, with its own rules;
  /// references of others become nil; and where a rule of `deny` meets an object that is not deleted by the same batch,
  /// nothing is. The store alone counts: unsaved changes of contexts have no part in it.
  ///
  /// - Throws: ``FetchError``, ``BatchError`` or ``StoreError``; nothing has been written then.
  @discardableResult
  public func execute<Object>(_ request: BatchDeleteRequest<Object>) throws -> BatchResult {
    let plan = try entityPlan(of: request.fetchRequest)
    return try MatchBudget.run(isCancellable: true) {
      try runBatch(plan) { try $0.delete(request.fetchRequest) }
    }
  }

  private func runBatch(_ plan: EntityPlan, _ body: (BatchRun) throws -> Int) throws -> BatchResult {
    endReading()
    let result = try engine.write { session in
      let run = BatchRun(self, session, plan)
      return try run.run { try body(run) }
    }
    // The sequence may have read in this context, from a state without the batch.
    endReading()
    engine.watch.announce()
    // What this context has in memory follows at once.
    if session != nil || parent != nil || !seenSaves.isEmpty { try learnOfSaves() }
    return result
  }
}
