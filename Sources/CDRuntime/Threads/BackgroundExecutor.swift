import Dispatch

/// Runs background tasks one after another on a queue of its own. They wait for the disk, which tasks in the common
/// thread pool must not do.
final class BackgroundExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "cdgen.background")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}
