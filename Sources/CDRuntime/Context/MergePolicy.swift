/// The rule that a save applies when another context or process has changed the same rows since they were read.
///
/// A context's ``ManagedObjectContext/mergePolicy`` is ``error`` by default: the save throws, and nothing is written.
/// The other policies resolve each conflict in the context and save again, until there are no conflicts.
///
/// ```swift
/// context.mergePolicy = .mergeByPropertyObjectTrump
/// book.title = "Walden; or, Life in the Woods"
/// try context.save()
/// ```
///
/// | | row changed | row deleted | partner taken | unique values taken |
/// |---|---|---|---|---|
/// | ``mergeByPropertyStoreTrump`` | properties changed in the store keep the store's values, the other changes are saved | the object is gone | the relationship is nil | a new object becomes the existing object, which keeps its values; a changed object gets its former unique values back |
/// | ``mergeByPropertyObjectTrump`` | properties changed in the context are saved, the others take the store's values | the row is inserted again | the other object loses the partner | a new object becomes the existing object, which takes the values that the new object was given; for a changed object the save throws |
/// | ``overwrite`` | all the object's values are saved | the row is inserted again | the other object loses the partner | as above, but the existing object takes all values |
/// | ``rollback`` | the object's changes are dropped | the object is gone | the object's changes are dropped; the relationship of a new object is nil | a new object is gone; a changed object's changes are dropped |
///
/// A policy compares values. If another context has written a row without changing the values that this context had
/// read, policies see no conflict. ``error`` throws for such a row too.
///
/// If undo has brought an object back and another context has inserted its row again since, the row counts as
/// changed. All of its values count as changes of both contexts: ``mergeByPropertyStoreTrump`` keeps the store's
/// values.
///
/// If the context has deleted a row that another context has changed, the store's policies
/// (``mergeByPropertyStoreTrump`` and ``rollback``) take the deletion back. The object's policies
/// (``mergeByPropertyObjectTrump`` and ``overwrite``) carry it out. If both contexts have deleted the row, there is
/// no conflict.
///
/// There is also a conflict if another context has related one of its objects to an object that this context has
/// deleted. The store's policies take the deletion back. The object's policies apply the delete rule to the newly
/// related objects: `nullify` clears their references, and the save throws if a reference is mandatory; `cascade`
/// deletes these objects too. A `deny` rule refuses the save under every policy. Pairs (rows of a many-to-many
/// relationship) with a deleted object are a conflict only if the rule is `cascade` or `deny`; otherwise they are
/// deleted with the object.
///
/// Conflicts of unique values are resolved before these: a new object becomes the existing object, even if a
/// `cascade` rule is about to delete the existing object because another context has related it to a deleted one.
/// With ``overwrite`` the existing object then has the references of the new one, which may save it from that
/// deletion.
///
/// An object whose deletion is taken back gets its references and pairs back. The objects that these lead to come
/// back as well if the context has deleted them and one of these conflicts is about them. An object that the context
/// itself has removed from a relationship without an inverse stays removed: the removal is a change of the owner.
///
/// Under every policy but ``error``, a reference to a row that another context has deleted becomes nil; if the
/// reference is mandatory, the save throws. Pairs are added and removed one by one, so that the pairs of several
/// saves are combined without a conflict. Of the orders that several contexts save, the last one stays. When a policy
/// drops an object's changes, it drops the changes of pairs too; pairs of a relationship without an inverse are
/// changes of the owner only. A row that is inserted again gets the pairs that the context had read.
///
/// The rules of relationships also apply to the result of a policy: the save throws if an owner would be left without
/// the objects that it needs, even if another context has given the object to that owner.
///
/// A new object that becomes an existing object is gone after the save, like a deleted object. The objects that were
/// related to it are related to the existing object instead, which ``ManagedObjectContext/survivor(of:)`` returns.
/// The new object's identifier is never used. ``mergeByPropertyObjectTrump`` takes only the new object's values that
/// are not defaults of their attributes; values of `now()` and `uuid()` are defaults too.
///
/// A custom policy decides each conflict:
///
/// ```swift
/// context.mergePolicy = MergePolicy { conflict in
///   guard conflict.reason == .changed, let rank = conflict.value(forKey: "salesRank"),
///     case .int(let mine)? = rank.object.attribute, case .int(let old)? = rank.snapshot.attribute,
///     case .int(let theirs)? = rank.store?.attribute
///   else { return .objectWins }
///   // Two counters that went up: both count.
///   return .values(["salesRank": .attribute(.int(theirs + mine - old))])
/// }
/// ```
public struct MergePolicy: Sendable {
  /// The resolution of one conflict.
  public enum Resolution: Hashable, Sendable {
    /// Resolves the conflict like ``MergePolicy/mergeByPropertyStoreTrump``.
    case storeWins
    /// Resolves the conflict like ``MergePolicy/mergeByPropertyObjectTrump``.
    case objectWins
    /// Resolves the conflict like ``MergePolicy/overwrite``.
    case overwrite
    /// Resolves the conflict like ``MergePolicy/rollback``.
    case rollback
    /// Resolves the conflict like ``objectWins``, and then sets these values by their keys.
    ///
    /// The save throws a ``PropertyError`` for a key of no property, for a property that cannot be set, and for a value of
    /// another type. It throws ``FetchError/unknownObject(_:)`` for an object that does not exist. In each of these cases, no
    /// value is set. The conflict remains, and the next save finds it again.
    case values([String: FetchedValue])
  }

  enum Kind: Sendable {
    case error
    case resolution(Resolution)
    case custom(@Sendable (SaveConflict) throws -> Resolution)
  }

  let kind: Kind

  private init(_ kind: Kind) { self.kind = kind }

  /// Creates a custom policy.
  ///
  /// - Parameter resolve: Called for each conflict, with the newest values of the store, and called again if another
  ///   context has saved in the meantime. The save throws the errors that it throws, and the next save meets the
  ///   conflict and those after it again. It must not change the context:
  ///   a save in it throws ``SaveError/nested(in:)``, and after a rollback or a reset nothing of the conflict is left
  ///   to save.
  public init(_ resolve: @escaping @Sendable (SaveConflict) throws -> Resolution) {
    kind = .custom(resolve)
  }

  /// Conflicts are errors: the save throws ``SaveError/conflict(_:)`` or ``SaveError/notUnique(_:)``.
  public static let error = MergePolicy(.error)
  /// For each property, a change in the store wins over a change of the context.
  public static let mergeByPropertyStoreTrump = MergePolicy(.resolution(.storeWins))
  /// For each property, a change of the context wins over a change in the store.
  public static let mergeByPropertyObjectTrump = MergePolicy(.resolution(.objectWins))
  /// The object wins as a whole: the save overwrites the changes that another context has made to it.
  public static let overwrite = MergePolicy(.resolution(.overwrite))
  /// The store wins as a whole: the context's changes of the object are lost.
  public static let rollback = MergePolicy(.resolution(.rollback))

  var isError: Bool {
    if case .error = kind { return true }
    return false
  }

  func resolution(of conflict: SaveConflict) throws -> Resolution {
    switch kind {
    case .error: throw SaveError.conflict([conflict])
    case .resolution(let resolution): return resolution
    case .custom(let resolve): return try resolve(conflict)
    }
  }
}
