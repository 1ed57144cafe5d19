#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A store that a coordinator has open.
package protocol AttachedStore: AnyObject, Sendable {
  /// The index of the store in the coordinator.
  var index: Int { get }
  /// The URL that errors show.
  var url: URL { get }
  var storeID: UUID { get }
  var isReadOnly: Bool { get }
  /// Whether the store is in memory. Such a store has no snapshots to read from.
  var isInMemory: Bool { get }
  /// The files of large values; nil if the rows contain all values.
  var files: ExternalFiles? { get }
  /// The migration that the opening of the store did; nil if none was needed.
  var migration: MigrationResult? { get }

  /// Throws an error if the store's file was removed or replaced.
  func checkIdentity() throws(StoreError)
}

/// The current stores of a coordinator, in the order in which the coordinator was made with them. Removed stores are
/// not included.
package struct StoreSet: Sendable {
  /// The stores in order.
  package let all: [any AttachedStore]
  /// The number of removed stores.
  package let removals: Int
  private let byIndex: [(any AttachedStore)?]

  /// Creates a set of stores.
  ///
  /// - Parameter removals: The number of stores that have been removed.
  package init(_ stores: [any AttachedStore], removals: Int) {
    all = stores
    self.removals = removals
    var byIndex: [(any AttachedStore)?] = []
    for store in stores {
      while byIndex.count <= store.index { byIndex.append(nil) }
      byIndex[store.index] = store
    }
    self.byIndex = byIndex
  }

  /// Whether one of the stores is in memory. Such a store has no snapshots to read from.
  package var isInMemory: Bool { all.contains(where: \.isInMemory) }

  /// Whether all stores are in memory. Then nobody but their coordinator writes to them.
  package var isOnlyInMemory: Bool { all.allSatisfy(\.isInMemory) }

  /// The store with a UUID; nil if it is not one of these.
  package subscript(id: UUID) -> (any AttachedStore)? { all.first { $0.storeID == id } }

  /// The store that holds an entity's objects; nil if no attached store does.
  package func store(of plan: EntityPlan) -> (any AttachedStore)? {
    guard let index = plan.storeIndex, index < byIndex.count else { return nil }
    return byIndex[index]
  }
}

/// Holds a coordinator's stores open: SQLite, or an engine that an app adds.
///
/// An engine serves several contexts at the same time. Each context reads through its own session. Only one context
/// writes at a time.
package protocol StoreEngine: AnyObject, Sendable {
  var model: ModelPlan { get }
  var stores: StoreSet { get }
  /// The number of removed stores. A context compares it to notice a removal.
  var removalCount: Int { get }
  /// The files of large values, by the index of the store; nil for a store that has no such files.
  var files: [ExternalFiles?] { get }
  /// Marks the saves of this engine in the history, to tell them from the saves of other engines.
  var origin: String { get }
  /// Notifies a listener about saves.
  var watch: HistoryWatch { get }
  /// Whether the stores have several engines, so that a relationship may lead from one to another.
  var isCombined: Bool { get }

  /// Returns a session for reading. The caller gives it back after use.
  func takeSession() throws -> any StoreSession
  /// - Parameter session: A session from ``takeSession()``. The caller must not use it any more.
  func returnSession(_ session: any StoreSession)
  /// Throws an error if reading would wait for the calling thread's own write.
  func checkIsReadable() throws

  /// Runs a body with a session for writing. The body must not keep the session.
  ///
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread is already writing.
  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R

  /// Runs a body that writes a save or a batch, as ``write(_:)`` does.
  ///
  /// An engine may run the body again, in a new transaction, if something outside of the save ended its transaction
  /// and nothing of it was written.
  ///
  /// - Parameter isRepeatable: Returns whether the body can run again, after it has failed.
  func save<R>(
    isRepeatable: () -> Bool, _ body: (any StoreWriteSession) throws -> R
  ) throws -> R

  /// Reserves keys for new objects: unused keys that were given back to this engine, or new keys that no process has
  /// reserved before.
  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey>
  /// Takes back reserved keys that no object has used.
  func returnKeys(_ keys: Range<ObjectKey>, of root: Int)

  /// Closes a store and removes it from the stores.
  ///
  /// - Returns: Whether the store was one of the stores.
  func remove(_ id: UUID) throws -> Bool
  /// Adds an observer of store removals. After each removal, `tell` is called on the thread that removes the store.
  func observeRemovals(_ observer: AnyObject, _ handler: @escaping @Sendable () -> Void)
  func stopObservingRemovals(_ id: ObjectIdentifier)
}

extension StoreEngine {
  package var isCombined: Bool { false }

  /// Runs a body that writes a save, and that can run again.
  package func save<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R {
    try save(isRepeatable: { true }, body)
  }

  package func save<R>(
    isRepeatable: () -> Bool, _ body: (any StoreWriteSession) throws -> R
  ) throws -> R {
    try write(body)
  }
}
