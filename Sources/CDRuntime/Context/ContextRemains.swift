/// What is left of a context that nobody holds any more while somebody still holds objects of it.
///
/// An object keeps readable what it reads from for as long as it lives. It does not keep its context, which keeps its
/// objects: a cycle would leak every context that is let go of. When a context goes it leaves these remains to those of its
/// objects that somebody holds. They know these objects weakly, and how to make a context of the same kind for them: it
/// has them as its own, with their changes, and lives as long as somebody uses it. So a relationship can be read and a
/// change be saved, by way of ``ManagedObject/managedObjectContext``, whoever has held the first context.
///
/// Changes of objects that nobody holds go with the context: nobody could save them.
final class ContextRemains {
  let coordinator: PersistentStoreCoordinator
  let parent: ManagedObjectContext?
  /// By the place of the entity.
  fileprivate var scopes: [WeakScope] = []
  /// By the place of the root entity.
  fileprivate(set) var tables: [OrphanTable?] = []
  /// Objects with changes, in the order in which they were first changed.
  private var pending: [WeakObject] = []

  /// The rest of what the context was.
  var state: ManagedObjectContext.State?

  init(coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?) {
    self.coordinator = coordinator
    self.parent = parent
  }

  /// Objects with changes that are still alive.
  var livePending: [ManagedObject] { pending.compactMap(\.object) }

  /// Takes over what a context leaves.
  ///
  /// - Returns: Whether anybody holds anything of it.
  func takeOver(_ scopes: [ObjectScope], _ maps: [IdentityMap?], pending: [WeakObject]) -> Bool {
    self.scopes = scopes.map(WeakScope.init)
    self.pending = pending
    tables = maps.map { $0?.disown() }
    self.pending.removeAll { $0.object == nil }
    return tables.contains { $0?.isEmpty == false }
  }

  /// The scopes of the objects, for a context that is made for them; nil where no object has one.
  var liveScopes: [ObjectScope?] { scopes.map(\.scope) }
}

/// The objects of one inheritance root that have outlived their context, by key.
final class OrphanTable {
  private var objects: [ObjectKey: WeakObject] = [:]
  /// How many there may be before those that are gone are looked for.
  private var limit = 64

  var isEmpty: Bool { objects.isEmpty }

  func add(_ object: ManagedObject) {
    if objects.count >= limit {
      objects = objects.filter { $0.value.object != nil }
      limit = max(64, objects.count * 2)
    }
    objects[object.key] = WeakObject(object)
  }

  /// Gives an object away that is still alive.
  func take(_ key: ObjectKey) -> ManagedObject? { objects.removeValue(forKey: key)?.object }

  func remove(_ key: ObjectKey) { objects[key] = nil }

  /// Gives all objects away that are still alive.
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
