/// The data of a released context, kept for objects of it that other code still holds.
///
/// An object stays readable as long as it lives. It does not retain its context, because the context retains its
/// objects: this cycle would leak every released context. A context that is released leaves this data to those of
/// its objects that other code holds. The data refers to these objects weakly, and suffices to create a replacement
/// context for them. The replacement takes over the objects and their changes, and lives as long as it is used. So
/// reading a relationship and saving a change still work, through ``ManagedObject/managedObjectContext``, after the
/// first context has been released.
///
/// Changes of objects that no other code holds are lost with the context.
final class ReleasedContext {
  let coordinator: PersistentStoreCoordinator
  let parent: ManagedObjectContext?
  /// By entity index.
  fileprivate var scopes: [WeakScope] = []
  /// By the index of the root entity.
  fileprivate(set) var tables: [OrphanTable?] = []
  /// Objects with changes, in the order of their first changes.
  private var pending: [WeakObject] = []

  /// The other state of the context.
  var state: ManagedObjectContext.State?

  init(coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?) {
    self.coordinator = coordinator
    self.parent = parent
  }

  /// Objects with changes that are still alive.
  var livePending: [ManagedObject] { pending.compactMap(\.object) }

  /// Takes over what a released context leaves.
  ///
  /// - Returns: Whether other code holds any of its objects.
  @_optimize(none)
  func adopt(_ scopes: [ObjectScope], _ maps: [IdentityMap?], pending: [WeakObject]) -> Bool {
    self.scopes = scopes.map(WeakScope.init)
    self.pending = pending
    tables = maps.map { $0?.disown() }
    self.pending.removeAll { $0.object == nil }
    return tables.contains { $0?.isEmpty == false }
  }

  /// The scopes of the objects, by entity index; nil for an entity without live objects.
  var liveScopes: [ObjectScope?] { scopes.map(\.scope) }
}

/// The objects of one inheritance root that have outlived their context, by key.
final class OrphanTable {
  private var objects: [ObjectKey: WeakObject] = [:]
  /// The count at which entries of released objects are removed.
  private var limit = 64

  var isEmpty: Bool { objects.isEmpty }

  /// Prepares the table for the objects of a released context, nearly all of which may be alive.
  func expect(_ count: Int) {
    objects.reserveCapacity(objects.count + count)
    limit = max(limit, (objects.count + count) * 2)
  }

  func add(_ object: ManagedObject) {
    if objects.count >= limit {
      objects = objects.filter { $0.value.object != nil }
      limit = max(64, objects.count * 2)
    }
    objects[object.key] = WeakObject(object)
  }

  /// Removes an object and returns it if it is still alive.
  func take(_ key: ObjectKey) -> ManagedObject? { objects.removeValue(forKey: key)?.object }

  func remove(_ key: ObjectKey) { objects[key] = nil }

  /// Removes all objects and returns those that are still alive.
  func takeAll() -> [ManagedObject] {
    defer { objects.removeAll() }
    return objects.values.compactMap(\.object)
  }
}

struct WeakObject {
  weak var object: ManagedObject?

  init(_ object: ManagedObject) { self.object = object }
}

private struct WeakScope {
  weak var scope: ObjectScope?

  init(_ scope: ObjectScope) { self.scope = scope }
}
