/// What becomes of a store that was written with a draft of the model which has changed since, so that it cannot follow
/// without a loss.
///
/// A version is a draft until `cdgen lock` locks it. While it is worked on, stores that were written with an earlier state
/// of it follow where nothing is lost. Where something is, a store of the developer's own is in the way and nothing else:
///
/// ```swift
/// var description = PersistentStoreDescription(.sqlite(url))
/// description.changedDraftPolicy = .eraseInDebugBuilds
/// let coordinator = try PersistentStoreCoordinator(for: ToDoModel.self, stores: [description])
/// if coordinator.migrations.contains(where: \.hasErasedStore) { print("begun anew") }
/// ```
///
/// A store is erased only where the model says, by its `lockedVersionNumbers`, that the
/// version is not locked: users may have stores of one that is. No policy erases those.
public enum ChangedDraftPolicy: Hashable, Sendable, CaseIterable {
  /// The store stays as it is, and opening it throws a ``MigrationError``.
  case refuse
  /// In a build with `DEBUG`, which a debug build with SwiftPM or Xcode is, the store and all that belongs to it are
  /// removed, and a new one is made. In any other build the store is refused.
  case eraseInDebugBuilds
  /// The same in every build. For apps alone of which nobody has a store that matters.
  case eraseInEveryBuild

  /// Whether this build erases.
  var erases: Bool {
    switch self {
    case .refuse: return false
    case .eraseInEveryBuild: return true
    case .eraseInDebugBuilds:
      #if DEBUG
        return true
      #else
        return false
      #endif
    }
  }
}
