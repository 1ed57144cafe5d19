#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Who wants to know what changes in a context. A context has none until somebody asks.
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

  func tell(_ changes: ObjectChanges) {
    guard !changes.isEmpty else { return }
    for (id, stream) in streams {
      if case .terminated = stream.yield(changes) { streams[id] = nil }
    }
    for handler in handlers.values { handler(changes) }
  }

  deinit { for stream in streams.values { stream.finish() } }
}

extension ManagedObjectContext {
  /// What changes in the context from now on: each save of its own, and each time that it learns of what others have
  /// saved, whose updates are among ``ObjectChanges/refreshed``. Each call gives a new sequence, which ends with the
  /// context. What is not taken waits.
  ///
  /// To a parent, a child's save is one of others. What a parent learns of, its children's observers are told too.
  ///
  /// A context learns of others' saves when it reads, or is told to merge them; see
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

  /// What a save has written.
  func changes(of plan: SavePlan) -> ObjectChanges {
    let related = plan.related.filter { !$0.flags.contains(.inserted) && !$0.flags.contains(.updated) }
    return ObjectChanges(
      inserted: ManagedObjectIDs(plan.inserted.map(\.objectID)),
      updated: ManagedObjectIDs((plan.updated + related).map(\.objectID)),
      deleted: ManagedObjectIDs(plan.deleted.map(\.objectID)))
  }
}
