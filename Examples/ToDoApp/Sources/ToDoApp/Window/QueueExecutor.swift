import Dispatch

/// Runs the jobs of an actor on a dispatch queue. A read or a write of a store then blocks no thread of Swift's pool.
final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// Random texts that cannot be guessed.
enum Secret {
  static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    let numbers: [UInt64] = [generator.next(), generator.next()]
    return numbers.map { String($0, radix: 36) }.joined()
  }
}
