#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The moment at which a wait ends with an error.
struct Deadline {
  private let end: ContinuousClock.Instant

  /// - Parameter seconds: How long to wait from now.
  init(seconds: Double) {
    // A limit of some years is no different from a greater one, which the clock could not hold. NaN is not greater than 0.
    end = .now + .seconds(seconds > 0 ? min(seconds, 100_000_000) : 0)
  }

  var isOver: Bool { ContinuousClock.now >= end }

  /// The time that is left, in seconds.
  var seconds: Double {
    let rest = (end - .now).components
    return max(0, Double(rest.seconds) + Double(rest.attoseconds) / 1e18)
  }

  /// The time that is left, in milliseconds: at least 0, and at most what `poll` accepts.
  var milliseconds: Int32 { Int32(clamping: Int64((seconds * 1000).rounded(.up))) }

  /// The earlier one of this moment and another.
  func orSooner(seconds: Double) -> Deadline {
    seconds < self.seconds ? Deadline(seconds: seconds) : self
  }
}

/// Pauses between attempts.
enum Waiting {
  /// Waits for a random time, which grows with each attempt to at most a second.
  static func pause(_ attempt: Int) {
    let longest = min(1, 0.01 * Double(1 << min(max(attempt, 0), 10)))
    usleep(UInt32(Double.random(in: longest / 2...longest) * 1_000_000))
  }
}

/// The task of the calling code, whose cancellation ends waits.
enum WaitingTask {
  /// The time between two looks whether the task is cancelled, in milliseconds. Synchronous code is not told of it.
  static let interval: Int32 = 20

  /// Whether the calling code belongs to a task.
  static var exists: Bool { withUnsafeCurrentTask { $0 != nil } }

  static var isCancelled: Bool { Task<Never, Never>.isCancelled }
}
