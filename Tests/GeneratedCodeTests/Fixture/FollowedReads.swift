import CDRuntime
import Observation
import Synchronization

/// What observers of some reads are told.
final class FollowedReads: Sendable {
  private let isToldNow = Mutex(false)

  /// Whether something that was read has changed since.
  var isTold: Bool { isToldNow.withLock { $0 } }

  private func note() { isToldNow.withLock { $0 = true } }

  init<Value>(_ read: () -> Value) {
    _ = withObservationTracking(read) { [self] in note() }
  }
}

/// Whether who reads something is told of what a body does.
func tells<Value>(_ read: @autoclosure () -> Value, _ body: () throws -> Void) rethrows -> Bool {
  let reads = FollowedReads { read() }
  try body()
  return reads.isTold
}
