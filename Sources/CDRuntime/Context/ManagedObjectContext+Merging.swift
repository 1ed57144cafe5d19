// Changes that somebody names.
extension ManagedObjectContext {
  /// Brings the objects in memory up to changes that were made elsewhere: objects whose rows were changed read them
  /// again when they are next used, those whose rows were deleted are inaccessible, and relationships are read again.
  /// Objects with unsaved changes keep them; their save finds out.
  ///
  /// A context does so by itself when it next reads: what others have saved, batches included, is in the stores'
  /// histories. This is for who cannot wait for that, or has changed rows by other means. What the changes name of
  /// other stores and other models is passed over.
  ///
  /// ```swift
  /// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
  /// container.viewContext.mergeChanges(from: result.changes)
  /// ```
  public func mergeChanges(from changes: ObjectChanges) {
    endReading()
    var roots: Set<Int> = []
    var lost: Set<Int> = []
    var holders: Set<Int> = []
    for group in changes.inserted.groups {
      guard let plan = plan(of: group) else { continue }
      roots.insert(plan.root)
      noteReturn(to: group.keys, of: plan.root)
      holders.formUnion(forgetReferences(to: group.keys, of: plan.root))
    }
    for group in changes.updated.groups + changes.refreshed.groups {
      guard let plan = plan(of: group) else { continue }
      roots.insert(plan.root)
      merge(group.keys, of: plan.root) { noteUpdate(of: $0) }
    }
    for group in changes.deleted.groups {
      guard let plan = plan(of: group) else { continue }
      roots.insert(plan.root)
      lost.insert(plan.root)
      merge(group.keys, of: plan.root) { noteDeletion(of: $0) }
    }
    if !roots.isEmpty { forgetRelationships(to: roots, lost: lost) }
    let told = changes.asRefreshed
    if !children.isEmpty { tellChildren(told, of: roots.union(holders)) }
    changeObservers?.tell(told)
    tellObservers()
  }

  private func plan(of group: ManagedObjectIDs.Group) -> EntityPlan? {
    guard let plan = model.entity(group.entityName), scopes[plan.index].storeID == group.storeID else {
      return nil
    }
    return plan
  }
}
