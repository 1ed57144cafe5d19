import Synchronization

/// Who wants to know at once that something has been saved.
protocol HistoryListener: AnyObject, Sendable {
  /// Called after a save.
  func tell() async
}

/// Who is told of what is saved.
final class HistoryWatch: Sendable {
  /// How many listen: a save that nobody listens for pays one look at this number.
  let listeners = Atomic<Int>(0)
  private let current = Mutex<WeakWatcher>(WeakWatcher())

  private struct WeakWatcher { weak var watcher: (any HistoryListener)? }

  /// The watcher that there is, or a new one.
  func watcher<Watcher: HistoryListener>(_ make: () -> Watcher) -> Watcher {
    current.withLock { current in
      if let watcher = current.watcher as? Watcher { return watcher }
      let watcher = make()
      current.watcher = watcher
      return watcher
    }
  }

  /// Lets listeners know that something has been saved.
  @inline(__always) func announce() {
    if listeners.load(ordering: .sequentiallyConsistent) > 0 { wake() }
  }

  private func wake() {
    guard let watcher = current.withLock({ $0.watcher }) else { return }
    Task { await watcher.tell() }
  }
}
