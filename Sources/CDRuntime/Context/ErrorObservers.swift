/// The newest observed errors, and the streams that receive each new one.
final class ErrorObservers {
  private(set) var recent: [ObservedError] = []
  /// The number of values that could not be read, and the newest error about one.
  private(set) var readFailures: (count: Int, last: ObservedError?) = (0, nil)
  private var continuations: [AsyncStream<ObservedError>.Continuation] = []
  /// Whether all errors are kept, for a verification, which ends.
  var keepsAll = false
  private static let limit = 100

  deinit {
    for continuation in continuations { continuation.finish() }
  }

  func stream() -> AsyncStream<ObservedError> {
    let (stream, continuation) = AsyncStream<ObservedError>.makeStream(
      bufferingPolicy: .bufferingNewest(Self.limit))
    continuations.append(continuation)
    return stream
  }

  @_optimize(none)
  func observe(_ error: ObservedError) {
    if !keepsAll, recent.count >= Self.limit { recent.removeFirst() }
    recent.append(error)
    if case .readFailed = error.reason { readFailures = (readFailures.count + 1, error) }
    continuations.removeAll { continuation in
      if case .terminated = continuation.yield(error) { return true }
      return false
    }
  }
}
