import Synchronization

/// How far a migration is.
///
/// ```swift
/// let observer = MigrationObserver { progress in
///   print(Int(progress.fraction * 100), "%", progress.entity ?? "")
/// }
/// ```
public struct MigrationProgress: Hashable, Sendable {
  /// The part of the work that is done, from 0 to 1. It never goes back.
  public let fraction: Double
  /// The number of the version that the step which is being made starts from.
  public let source: Int
  /// The number of the version that it leads to.
  public let destination: Int
  /// The entity of the destination whose objects are being made; nil for what concerns none.
  public let entity: String?
}

/// What is called with the progress of a migration, on the thread that opens the store.
///
/// ```swift
/// let handler: ProgressHandler = { progress in print(progress.fraction) }
/// let observer = MigrationObserver(progress: handler)
/// ```
public typealias ProgressHandler = @Sendable (MigrationProgress) -> Void

/// Who follows a migration and may end it.
///
/// ```swift
/// var description = PersistentStoreDescription(.sqlite(url))
/// description.migrationObserver = MigrationObserver { progress in print(progress.fraction) }
/// ```
///
/// Observers are equal where one is a copy of the other. A migration also ends where the task that it runs in is
/// cancelled.
public struct MigrationObserver: Hashable, Sendable {
  private final class Body: Sendable {
    let progress: ProgressHandler
    let isCancelled: @Sendable () -> Bool

    init(_ progress: @escaping ProgressHandler, _ isCancelled: @escaping @Sendable () -> Bool) {
      self.progress = progress
      self.isCancelled = isCancelled
    }
  }

  private let body: Body

  /// - Parameters:
  ///   - progress: Called a few times for each entity.
  ///   - isCancelled: Asked often, within long statements too: it should be quick. True ends the migration, whose
  ///     store then is as it was.
  public init(
    progress: @escaping ProgressHandler = { _ in }, isCancelled: @escaping @Sendable () -> Bool = { false }
  ) {
    body = Body(progress, isCancelled)
  }

  func report(_ progress: MigrationProgress) { body.progress(progress) }

  var isCancelled: Bool { body.isCancelled() }

  public static func == (left: MigrationObserver, right: MigrationObserver) -> Bool {
    left.body === right.body
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(body)) }
}
