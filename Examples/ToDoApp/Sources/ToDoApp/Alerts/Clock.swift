import Foundation
import Synchronization

/// The time, which tests can set.
final class Clock: Sendable {
  private let offset = Mutex<TimeInterval>(0)

  var now: Date { Date.now + offset.withLock { $0 } }

  func set(_ date: Date) { offset.withLock { $0 = date.timeIntervalSinceNow } }
}
