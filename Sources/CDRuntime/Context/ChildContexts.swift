/// The child contexts of a context, and the deletions that contexts of one lineage have told each other about.
final class ChildContexts {
  /// A weak reference to a child.
  private struct Reference {
    private(set) weak var context: ManagedObjectContext?
  }

  private var references: [Reference] = []
  /// The number of deletions in this context, including deletions that the parent has reported.
  private var deletionCount = 0
  /// The parent's `deletionCount` when this context last compared it.
  private var seenDeletions: Int

  /// - Parameter parent: The child contexts of the context's parent.
  init(ofParent parent: ChildContexts?) { seenDeletions = parent?.deletionCount ?? 0 }

  @inline(__always) var isEmpty: Bool { references.isEmpty }

  func add(_ child: ManagedObjectContext) {
    references.removeAll { $0.context == nil }
    references.append(Reference(context: child))
  }

  /// Calls a closure with each child that is alive.
  func visitAll(_ body: (ManagedObjectContext) -> Void) {
    for reference in references {
      if let child = reference.context { body(child) }
    }
  }

  /// Records a deletion in this context, which the children notice with their next fetch.
  func noteDeletion() { deletionCount += 1 }

  /// Returns whether the parent has deleted objects since the last call. They count as deletions in this context.
  ///
  /// - Parameter parent: The child contexts of the context's parent.
  func noticeDeletions(ofParent parent: ChildContexts) -> Bool {
    guard parent.deletionCount != seenDeletions else { return false }
    seenDeletions = parent.deletionCount
    deletionCount += 1
    return true
  }

  /// Takes over what a released context knew of its parent's deletions.
  func takeOver(_ former: ChildContexts) { seenDeletions = former.seenDeletions }
}
