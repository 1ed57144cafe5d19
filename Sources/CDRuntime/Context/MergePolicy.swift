/// What a save does where somebody else has changed the same rows since they were read.
///
/// A context's ``ManagedObjectContext/mergePolicy`` is ``error`` at first: the save throws, and nothing is written.
/// The others resolve each conflict in the context and save again, until there is none.
///
/// ```swift
/// context.mergePolicy = .mergeByPropertyObjectTrump
/// book.title = "Walden; or, Life in the Woods"
/// try context.save()
/// ```
///
/// | | row changed | row deleted | partner taken | unique values taken |
/// |---|---|---|---|---|
/// | ``mergeByPropertyStoreTrump`` | what others changed stays theirs, the rest is saved | the object is gone | the relationship is nil | a new object becomes the existing one, which keeps its values; a changed one has its former unique values again |
/// | ``mergeByPropertyObjectTrump`` | what the context changed is saved, the rest is theirs | the row is written anew | the other one loses the partner | a new object becomes the existing one, which takes the values that it was given; for a changed one the save throws |
/// | ``overwrite`` | all the object's values are saved | the row is written anew | the other one loses the partner | as before, and the existing one takes all values |
/// | ``rollback`` | the object's changes are dropped | the object is gone | the object's changes are dropped, a new one's relationship is nil | a new object is gone; a changed one's changes are dropped |
///
/// A policy looks at values. A row that others have written, and that has the values that the context had read, is no
/// conflict for it; ``error`` throws for that one, too.
///
/// An object that an undo has brought back, and whose row others have written anew since, is one whose row has changed. All
/// of its values are changes of the context and of the others: ``mergeByPropertyStoreTrump`` leaves theirs.
///
/// Where the context has deleted a row that others have changed, the policies of the store (``rollback`` too) take
/// the deletion of that object back, and those of the object carry it out. What others have deleted and the context
/// deletes too is no conflict.
///
/// It is a conflict too if the context has deleted an object that others have since related one of theirs to. The
/// policies of the store take the deletion back. Those of the object apply the delete rule to what others have related:
/// `nullify` clears the reference, and the save throws if that is mandatory; `cascade` deletes the other object too. A
/// rule of `deny` refuses the save under every policy. Pairs with a deleted object are a conflict only if the rule is
/// `cascade` or `deny`; otherwise they go with it.
///
/// Conflicts of unique values come before these: a new object becomes the existing one, though a rule of `cascade` is about
/// to delete that one with an object that others have related to it. With ``overwrite`` the existing one then has the
/// new one's references, which may keep it.
///
/// An object whose deletion is taken back has its references and pairs again. What these lead to comes back with it, if
/// the context has deleted it and one of these conflicts is about it. What the context itself has taken out of a
/// relationship without an inverse stays out of it: that is a change of the owner.
///
/// A reference to a row that others have deleted is set to nil under every policy but
/// ``error``; where it is mandatory the save throws. Pairs of a many-to-many relationship are added and removed one
/// by one, so that those of several savers come together without a conflict; of an order, the last one saved stays. The
/// pairs of an object whose changes are dropped are among these; those of a relationship without an inverse are changes
/// of its owner only. A row that is written anew has the pairs that the context had read.
///
/// The rules of relationships hold for what the policies make: the save throws if it would leave an owner without objects
/// that needs some, also one that others have given the object to.
///
/// A new object that becomes an existing one is gone after the save, like a deleted one, and what was related to it
/// is related to the existing object, which ``ManagedObjectContext/survivor(of:)`` gives. Its identifier is never
/// used. ``mergeByPropertyObjectTrump`` takes those of its values that are not the attributes' defaults; `now()` and
/// `uuid()` are defaults too.
///
/// A policy of one's own looks at each conflict:
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
  /// What becomes of one conflict.
  public enum Resolution: Hashable, Sendable {
    /// As ``MergePolicy/mergeByPropertyStoreTrump``.
    case storeWins
    /// As ``MergePolicy/mergeByPropertyObjectTrump``.
    case objectWins
    /// As ``MergePolicy/overwrite``.
    case overwrite
    /// As ``MergePolicy/rollback``.
    case rollback
    /// As ``objectWins``, with these values by their keys. The save throws a ``PropertyError`` for a key that is
    /// none of a stored attribute or to-one relationship, and for a value of another type.
    case values([String: FetchedValue])
  }

  enum Kind: Sendable {
    case error
    case resolution(Resolution)
    case custom(@Sendable (SaveConflict) throws -> Resolution)
  }

  let kind: Kind

  private init(_ kind: Kind) { self.kind = kind }

  /// A policy of one's own.
  ///
  /// - Parameter resolve: Called for each conflict, with the newest values of the store; again where somebody else has
  ///   been faster once more. What it throws, the save throws. It is to leave the context alone: a save in it throws
  ///   ``SaveError/nested(in:)``, and after a rollback or a reset nothing of the conflict is left to be saved.
  public init(_ resolve: @escaping @Sendable (SaveConflict) throws -> Resolution) {
    kind = .custom(resolve)
  }

  /// Conflicts are errors: the save throws ``SaveError/conflict(_:)`` or
  /// ``SaveError/notUnique(_:)``.
  public static let error = MergePolicy(.error)
  /// Property by property, what others have changed in the store wins.
  public static let mergeByPropertyStoreTrump = MergePolicy(.resolution(.storeWins))
  /// Property by property, what the context has changed wins.
  public static let mergeByPropertyObjectTrump = MergePolicy(.resolution(.objectWins))
  /// The object wins, as a whole: what others have changed of it is lost.
  public static let overwrite = MergePolicy(.resolution(.overwrite))
  /// The store wins, as a whole: what the context has changed of the object is lost.
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
