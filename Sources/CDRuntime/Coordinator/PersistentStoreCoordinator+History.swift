import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// The history of saves, by any context or process.
extension PersistentStoreCoordinator {
  /// Returns a token for the newest entries in the stores' histories.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read.
  public func currentHistoryToken() throws -> HistoryToken {
    try HistoryReader.read(engine) { try $0.currentToken() }
  }

  /// Returns the saves and batches since a point of the history, the oldest first. With several stores, the
  /// transactions of each store stay together.
  ///
  /// - Parameters:
  ///   - token: The point after which to begin; nil for everything that the stores still have.
  ///   - author: The author of the saves to return; nil for all authors.
  ///   - limit: The maximum number of transactions for each store; nil for all.
  /// - Throws: ``HistoryError/expiredToken(storeID:)`` if some of the transactions have been purged, or if the token names none
  ///   of the stores; ``StoreError``.
  public func history(
    after token: HistoryToken? = nil, author: String? = nil, limit: Int? = nil
  ) throws -> [HistoryTransaction] {
    try HistoryReader.read(engine) {
      try $0.transactions(after: token, author: author, limit: limit)
    }
  }

  /// Deletes the entries of the stores' histories from before a date. The newest entry stays, because contexts compare
  /// it with what they have seen. A context that has not seen the deleted entries reads everything anew.
  ///
  /// - Throws: ``StoreError``.
  public func purgeHistory(before date: Date) throws {
    try purge(.before(date)) { _ in true }
  }

  /// Deletes the entries of the stores' histories up to a token, for example the token up to which you have updated a
  /// copy elsewhere. The newest entry stays.
  ///
  /// - Throws: ``StoreError``.
  @_optimize(none)
  public func purgeHistory(upTo token: HistoryToken) throws {
    for (id, save) in token.saves {
      try purge(.upTo(save)) { $0.storeID.uuidString == id }
    }
  }

  private func purge(_ range: HistoryRange, _ isIncluded: (any AttachedStore) -> Bool) throws {
    try engine.write { session in
      for store in session.reader.stores.all where !store.isReadOnly && isIncluded(store) {
        try session.write(to: store) { try session.deleteEntries(range, of: store) }
      }
    }
  }

  // MARK: As it happens

  /// Returns the saves and batches of all contexts and of other processes as they happen, from now on or from a point
  /// of the history on.
  ///
  /// Saves of this coordinator's contexts arrive at once. Saves of other coordinators and processes arrive within a
  /// quarter of a second. As long as a sequence exists, the store is checked for changes that often, which takes some
  /// microseconds. Transactions wait in memory until an iteration takes them. A sequence that has been released costs
  /// nothing.
  ///
  /// ```swift
  /// for try await transaction in try coordinator.changes() where !transaction.isOwn {
  ///   print("somebody else has changed", transaction.changes.updated.count, "objects")
  /// }
  /// ```
  ///
  /// While another program is writing to a store for long, or a server cannot be reached, is starting or is too slow, the
  /// sequence waits. Later it reports all that was saved in the meantime. It checks a server that is away at intervals that
  /// grow to four seconds.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read. The sequence throws ``HistoryError`` or ``StoreError`` if it
  ///   cannot continue.
  public func changes(
    after token: HistoryToken? = nil
  ) throws -> AsyncThrowingStream<HistoryTransaction, any Error> {
    // The start is read now, not at the first iteration, so that no save in between is missed.
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
