#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The observers of changes in a context. A context has none until one is added.
final class ChangeObservers {
  private var streams: [UUID: AsyncStream<ObjectChanges>.Continuation] = [:]
  private var handlers: [ObjectIdentifier: (ObjectChanges) -> Void] = [:]

  func stream() -> AsyncStream<ObjectChanges> {
    let (stream, continuation) = AsyncStream<ObjectChanges>.makeStream()
    streams[UUID.random()] = continuation
    return stream
  }

  func add(_ owner: AnyObject, _ handler: @escaping (ObjectChanges) -> Void) {
    handlers[ObjectIdentifier(owner)] = handler
  }

  func remove(_ owner: ObjectIdentifier) { handlers[owner] = nil }

  func notify(_ changes: ObjectChanges) {
    guard !changes.isEmpty else { return }
    for (id, stream) in streams {
      if case .terminated = stream.yield(changes) { streams[id] = nil }
    }
    for handler in handlers.values { handler(changes) }
  }

  deinit { for stream in streams.values { stream.finish() } }
}

extension ManagedObjectContext {
  /// The changes of the context from now on: each of its own saves, and each time that it learns of other contexts'
  /// saves, whose updates are in ``ObjectChanges/refreshed``. Each access returns a new sequence, which ends with the
  /// context and buffers changes that have not been read yet.
  ///
  /// For a parent, a child's save is another context's save. When a parent learns of changes, the observers of its
  /// children are notified too.
  ///
  /// A context learns of other contexts' saves when it reads, or when changes are merged into it; see
  /// ``PersistentContainer/automaticallyMergesChangesFromParent``.
  ///
  /// ```swift
  /// for await changes in context.changes {
  ///   if changes.deleted.contains(book.objectID) { print("the book is gone") }
  /// }
  /// ```
  public var changes: AsyncStream<ObjectChanges> { requireChangeObservers().stream() }

  func requireChangeObservers() -> ChangeObservers {
    if let changeObservers { return changeObservers }
    let observers = ChangeObservers()
    changeObservers = observers
    return observers
  }

  /// The changes that a save has written.
  func changes(of plan: SavePlan) -> ObjectChanges {
    let related = plan.related.filter { !$0.flags.contains(.inserted) && !$0.flags.contains(.updated) }
    return ObjectChanges(
      inserted: ManagedObjectIDs(plan.inserted.map(\.objectID)),
      updated: ManagedObjectIDs((plan.updated + related).map(\.objectID)),
      deleted: ManagedObjectIDs(plan.deleted.map(\.objectID)))
  }
}
