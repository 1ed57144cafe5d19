import Synchronization

/// An object that is notified after each save.
protocol HistoryListener: AnyObject, Sendable {
  /// Called after a save.
  func notify() async
}

/// Notifies the listener of an engine's stores about saves.
package final class HistoryWatch: Sendable {
  /// The number of listeners. A save without listeners costs only one read of this number.
  let listeners = Atomic<Int>(0)
  private let current = Mutex<WeakWatcher>(WeakWatcher())

  /// Creates the watch of a new engine.
  package init() {}

  private struct WeakWatcher { weak var watcher: (any HistoryListener)? }

  /// Returns the current watcher, or makes one if there is none.
  func watcher<Watcher: HistoryListener>(_ make: () -> Watcher) -> Watcher {
    current.withLock { current in
      if let watcher = current.watcher as? Watcher { return watcher }
      let watcher = make()
      current.watcher = watcher
      return watcher
    }
  }

  /// Notifies the watcher of a save.
  @inline(__always) package func announce() {
    if listeners.load(ordering: .sequentiallyConsistent) > 0 { wake() }
  }

  private func wake() {
    guard let watcher = current.withLock({ $0.watcher }) else { return }
    Task { await watcher.notify() }
  }
}
