#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The observers of a context's changes, and the notifications of observed objects that are delivered later.
final class ChangeNotices {
  /// A notification for the observers of an object.
  private struct Notice {
    let object: ManagedObject
    var slots: SlotSet
  }

  private var streams: [UUID: AsyncStream<ObjectChanges>.Continuation] = [:]
  private var handlers: [ObjectIdentifier: (ObjectChanges) -> Void] = [:]
  /// Notifications for observers of objects, delivered when the snapshot ends.
  private var notices: [Notice] = []
  /// Notifications for other observers, delivered at the same time.
  private var laterChanges: [() -> Void] = []
  /// Observed objects with relationships whose objects can be deleted without a notification to the observed object.
  /// When their number reaches the limit, entries of released objects are removed.
  private var unnotifiedObservers: [FollowedObject] = []
  private var unnotifiedObserversLimit = 256

  deinit { for stream in streams.values { stream.finish() } }

  // MARK: Observers of the context

  /// Whether the context's changes have observers.
  var isObserved: Bool { !streams.isEmpty || !handlers.isEmpty }

  func stream() -> AsyncStream<ObjectChanges> {
    let (stream, continuation) = AsyncStream<ObjectChanges>.makeStream()
    streams[UUID.random()] = continuation
    return stream
  }

  func addObserver(_ observer: AnyObject, _ handler: @escaping (ObjectChanges) -> Void) {
    handlers[ObjectIdentifier(observer)] = handler
  }

  func removeObserver(_ observer: ObjectIdentifier) { handlers[observer] = nil }

  /// Notifies the observers of the context's changes.
  func publish(_ changes: ObjectChanges) {
    publishToStreams(changes)
    publishToHandlers(changes)
  }

  func publishToStreams(_ changes: ObjectChanges) {
    if streams.isEmpty || changes.isEmpty { return }
    for (id, stream) in streams {
      if case .terminated = stream.yield(changes) { streams[id] = nil }
    }
  }

  func publishToHandlers(_ changes: ObjectChanges) {
    if handlers.isEmpty || changes.isEmpty { return }
    for handler in handlers.values { handler(changes) }
  }

  /// Tells the observers of the context's present state to look again, after a save that had nothing to write. Streams
  /// report only what was written, so they report nothing here.
  func publishUnwritten() { for handler in handlers.values { handler(ObjectChanges()) } }

  // MARK: Later notifications

  /// Whether all notifications for observers of objects wait until a child's save has pushed its values.
  var isHeld = false

  /// Whether notifications for observers of objects are scheduled.
  @inline(__always) var isAnyDue: Bool { !notices.isEmpty }

  /// Schedules a notification that properties of an object may have changed.
  func schedule(_ object: ManagedObject, _ slots: SlotSet) {
    notices.append(Notice(object: object, slots: slots))
  }

  /// Schedules a notification that a property of an object has changed, while notifications wait.
  func hold(_ object: ManagedObject, _ slot: Int) {
    if notices.last?.object === object {
      notices[notices.count - 1].slots.insert(slot)
    } else {
      schedule(object, SlotSet(slot))
    }
  }

  /// Schedules a closure.
  func schedule(_ change: @escaping () -> Void) { laterChanges.append(change) }

  /// Delivers all scheduled notifications.
  func deliver() {
    if notices.isEmpty, laterChanges.isEmpty { return }
    let (due, changes) = (notices, laterChanges)
    notices.removeAll()
    laterChanges.removeAll()
    for notice in due {
      notice.object.willChange { notice.slots.contains($0.number) }
      notice.object.didChange { notice.slots.contains($0.number) }
    }
    for change in changes { change() }
  }

  /// Drops all scheduled notifications and the list of unnotified observers. Called when the context is released.
  func close() {
    notices.removeAll()
    laterChanges.removeAll()
    unnotifiedObservers.removeAll()
  }

  // MARK: Relationships that a deletion of their objects does not change

  var hasUnnotifiedObservers: Bool { !unnotifiedObservers.isEmpty }

  /// Records an object that observes a relationship which the deletion of its objects does not change.
  func addUnnotifiedObserver(_ object: ManagedObject) {
    if unnotifiedObservers.count >= unnotifiedObserversLimit {
      unnotifiedObservers.removeAll { $0.object == nil }
      unnotifiedObserversLimit = max(256, unnotifiedObservers.count * 2)
    }
    unnotifiedObservers.append(FollowedObject(object: object))
  }

  /// The recorded objects that are still alive.
  var unnotifiedObjects: [ManagedObject] { unnotifiedObservers.compactMap(\.object) }
}
