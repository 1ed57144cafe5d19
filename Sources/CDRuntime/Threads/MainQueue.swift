import Dispatch

/// The queue of the main actor.
enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the caller runs on the queue. On Linux, the queue does not always have the main thread.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}
