/// Which objects were changed: by a save, by a batch, or by several of them together.
///
/// ```swift
/// let changes = try context.execute(BatchUpdateRequest<Book>(set: [.set(\.language, to: .german)])).changes
/// container.viewContext.mergeChanges(from: changes)
/// ```
public struct ObjectChanges: Hashable, Sendable {
  /// New objects.
  public var inserted: ManagedObjectIDs
  /// Objects with other values or relationships.
  public var updated: ManagedObjectIDs
  /// Objects that are gone.
  public var deleted: ManagedObjectIDs
  /// Objects of a context whose values are read again, since somebody else has changed them. Stores have none.
  public var refreshed: ManagedObjectIDs

  /// Changes as given; none unless some are given.
  public init(
    inserted: ManagedObjectIDs = ManagedObjectIDs(), updated: ManagedObjectIDs = ManagedObjectIDs(),
    deleted: ManagedObjectIDs = ManagedObjectIDs(), refreshed: ManagedObjectIDs = ManagedObjectIDs()
  ) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
    self.refreshed = refreshed
  }

  /// Whether nothing was changed.
  public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty }

  /// The same changes for a context that somebody else has made them for.
  var asRefreshed: ObjectChanges {
    ObjectChanges(inserted: inserted, deleted: deleted, refreshed: updated.union(refreshed))
  }

  /// These changes and later ones, as one: what was inserted and then deleted is not among them, what was inserted and
  /// then updated is an insertion.
  public func followed(by later: ObjectChanges) -> ObjectChanges {
    let passing = inserted.subtracting(inserted.subtracting(later.deleted))
    let inserted = inserted.subtracting(later.deleted).union(later.inserted)
    let deleted = deleted.union(later.deleted.subtracting(passing))
    return ObjectChanges(
      inserted: inserted,
      updated: updated.union(later.updated).subtracting(inserted).subtracting(deleted).subtracting(passing),
      deleted: deleted,
      refreshed: refreshed.union(later.refreshed).subtracting(deleted).subtracting(passing))
  }
}
