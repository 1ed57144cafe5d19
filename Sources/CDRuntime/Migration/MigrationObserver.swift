import Synchronization

/// The progress of a migration.
///
/// ```swift
/// let observer = MigrationObserver { progress in
///   print(Int(progress.fraction * 100), "%", progress.entity ?? "")
/// }
/// ```
public struct MigrationProgress: Hashable, Sendable {
  /// The part of the work that is done, from 0 to 1. It never decreases.
  public let fraction: Double
  /// The number of the source version of the current migration step.
  public let source: Int
  /// The number of the destination version of the current migration step.
  public let destination: Int
  /// The destination entity whose objects are being created; nil while the work concerns no single entity.
  public let entity: String?
}

/// A function that receives the progress of a migration, on the thread that opens the store.
///
/// ```swift
/// let handler: ProgressHandler = { progress in print(progress.fraction) }
/// let observer = MigrationObserver(progress: handler)
/// ```
public typealias ProgressHandler = @Sendable (MigrationProgress) -> Void

/// An object that follows the progress of a migration and can cancel it.
///
/// ```swift
/// var description = PersistentStoreDescription(.sqlite(url))
/// description.migrationObserver = MigrationObserver { progress in print(progress.fraction) }
/// ```
///
/// Two observers are equal if one is a copy of the other. A migration is also cancelled if the task that it runs in is
/// cancelled.
public struct MigrationObserver: Hashable, Sendable {
  private struct Handlers: Sendable {
    let progress: ProgressHandler
    let isCancelled: @Sendable () -> Bool
  }

  private let handlers: IdentityBox<Handlers>

  /// Creates an observer from two functions.
  ///
  /// - Parameters:
  ///   - progress: A function that is called a few times for each entity.
  ///   - isCancelled: A function that is called often, also during long statements, so it should be quick. If it
  ///     returns true, the migration ends and the store stays as it was.
  public init(
    progress: @escaping ProgressHandler = { _ in }, isCancelled: @escaping @Sendable () -> Bool = { false }
  ) {
    handlers = IdentityBox(Handlers(progress: progress, isCancelled: isCancelled))
  }

  func report(_ progress: MigrationProgress) { handlers.value.progress(progress) }

  var isCancelled: Bool { handlers.value.isCancelled() }
}
