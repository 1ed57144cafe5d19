/// The objects that a save, a batch, or several of them together have changed.
///
/// ```swift
/// let changes = try context.execute(BatchUpdateRequest<Book>(set: [.set(\.language, to: .german)])).changes
/// container.viewContext.mergeChanges(from: changes)
/// ```
public struct ObjectChanges: Hashable, Sendable {
  /// New objects.
  public var inserted: ManagedObjectIDs
  /// Objects whose values or relationships have changed.
  public var updated: ManagedObjectIDs
  /// Deleted objects.
  public var deleted: ManagedObjectIDs
  /// Objects of a context whose values are read again because another context or process has changed them. A store's
  /// own changes contain no refreshed objects.
  public var refreshed: ManagedObjectIDs

  /// Creates changes. By default, they are empty.
  public init(
    inserted: ManagedObjectIDs = ManagedObjectIDs(), updated: ManagedObjectIDs = ManagedObjectIDs(),
    deleted: ManagedObjectIDs = ManagedObjectIDs(), refreshed: ManagedObjectIDs = ManagedObjectIDs()
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.refreshed = refreshed
  }

  /// Whether there are no changes.
  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty }

  /// The same changes, from the view of a context that did not make them.
  var asRefreshed: ObjectChanges {
    ObjectChanges(inserted: inserted, deleted: deleted, refreshed: updated.union(refreshed))
  }

  /// Returns these changes combined with later changes. An object that was inserted and then deleted is left out. An
  /// object that was inserted and then updated is an inserted object. An object that was deleted and then inserted again is
  /// in both sets.
  public func followed(by later: ObjectChanges) -> ObjectChanges {
    let passing = inserted.subtracting(inserted.subtracting(later.deleted))
    let inserted = inserted.subtracting(later.deleted).union(later.inserted)
    let deleted = deleted.union(later.deleted.subtracting(passing))
    return ObjectChanges(
      inserted: inserted,
      updated: updated.union(later.updated).subtracting(inserted).subtracting(deleted).subtracting(passing),
      deleted: deleted,
      refreshed: refreshed.subtracting(later.deleted).union(later.refreshed))
  }
}

/// Changes that are combined one after another, such as those of thousands of saves.
///
/// A part is combined only with another one that is as long. So the time grows little faster than the number of changes.
struct CombinedChanges {
  /// The changes in their order. Each part consists of more of them than the next one.
  private(set) var parts: [(length: Int, changes: ObjectChanges)] = []

  /// Adds later changes.
  mutating func append(_ later: ObjectChanges) {
    var added = (length: 1, changes: later)
    while let last = parts.last, last.length <= added.length {
      parts.removeLast()
      added = (length: last.length + added.length, changes: last.changes.followed(by: added.changes))
    }
    parts.append(added)
  }

  /// All changes, as by ``ObjectChanges/followed(by:)``.
  var all: ObjectChanges {
    var result = ObjectChanges()
    for part in parts.reversed() { result = part.changes.followed(by: result) }
    return result
  }
}
