import Dispatch

/// The isolation of background tasks.
actor BackgroundWorker {
  private let executor = BackgroundExecutor()
  private let coordinator: PersistentStoreCoordinator

  init(_ coordinator: PersistentStoreCoordinator) {
    self.coordinator = coordinator
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func perform<R>(_ body: @Sendable (ManagedObjectContext) throws -> sending R) throws -> sending R {
    let context = ManagedObjectContext(coordinator)
    // The whole block reads one state, unless it saves in between.
    context.holdSnapshots {}
    return try body(context)
  }
}

/// Runs background tasks one after another on a queue of its own: they wait for the disk, which tasks on the
/// common pool of threads must not.
final class BackgroundExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "cdgen.background")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}
