import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// What has been saved, by whomever.
extension PersistentStoreCoordinator {
  /// The point of the history that the stores have reached.
  ///
  /// - Throws: ``StoreError`` where a store cannot be read.
  public func currentHistoryToken() throws -> HistoryToken {
    try HistoryReader.read(engine) { try $0.currentToken() }
  }

  /// The saves and batches since a point of the history, the oldest first; of several stores, those of each together.
  ///
  /// - Parameters:
  ///   - token: The point; nil for all that the stores still know.
  ///   - author: Whose saves are wanted; nil for everybody's.
  ///   - limit: The most transactions of each store; nil for all.
  /// - Throws: ``HistoryError/expiredToken(storeID:)`` where some of it has been purged, or ``StoreError``.
  public func history(
    after token: HistoryToken? = nil, author: String? = nil, limit: Int? = nil
  ) throws -> [HistoryTransaction] {
    try HistoryReader.read(engine) {
      try $0.transactions(after: token, author: author, limit: limit)
    }
  }

  /// Forgets what the stores' histories tell of the time before a date. The newest entry stays: it is how contexts know
  /// what they have seen. One that has not seen what is forgotten reads everything anew.
  ///
  /// - Throws: ``StoreError``.
  public func purgeHistory(before date: Date) throws {
    try purge(.before(date)) { _ in true }
  }

  /// Forgets what the stores' histories tell of the time up to a point, for instance the one that a copy elsewhere has
  /// been brought up to. The newest entry stays.
  ///
  /// - Throws: ``StoreError``.
  public func purgeHistory(upTo token: HistoryToken) throws {
    for (id, save) in token.saves {
      try purge(.upTo(save)) { $0.storeID.uuidString == id }
    }
  }

  private func purge(_ range: HistoryRange, _ isMeant: (any AttachedStore) -> Bool) throws {
    try engine.write { session in
      for store in session.reader.stores.all where !store.isReadOnly && isMeant(store) {
        try session.write(to: store) { try session.deleteEntries(range, of: store) }
      }
    }
  }

  // MARK: As it happens

  /// The saves and batches of all contexts and of other processes, as they are made: from now on, or from a point of the
  /// history on.
  ///
  /// What this coordinator's contexts write comes at once, what other coordinators and processes write within a quarter
  /// of a second: as long as somebody listens, the store is asked that often whether it has changed, which takes some
  /// microseconds. What is not taken waits; a listener that is let go of costs nothing.
  ///
  /// ```swift
  /// for try await transaction in try coordinator.changes() where !transaction.isOwn {
  ///   print("somebody else has changed", transaction.changes.updated.count, "objects")
  /// }
  /// ```
  ///
  /// - Throws: ``StoreError`` where a store cannot be read. The sequence throws ``HistoryError`` and ``StoreError`` where
  ///   it cannot go on.
  public func changes(
    after token: HistoryToken? = nil
  ) throws -> AsyncThrowingStream<HistoryTransaction, any Error> {
    // Now, and not when somebody first asks: nothing is missed in between.
    let start = try token ?? currentHistoryToken()
    let watcher = engine.watcher()
    let (stream, continuation) = AsyncThrowingStream<HistoryTransaction, any Error>.makeStream()
    let id = UUID.random()
    engine.watch.listeners.add(1, ordering: .sequentiallyConsistent)
    continuation.onTermination = { [weak engine] _ in
      engine?.watch.listeners.subtract(1, ordering: .sequentiallyConsistent)
      Task { await watcher.remove(id) }
    }
    Task { await watcher.add(id, continuation, after: start) }
    return stream
  }
}
