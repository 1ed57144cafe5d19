/// The newest observed errors, and the streams that are told of each.
final class ErrorObservers {
  private(set) var recent: [ObservedError] = []
  private var continuations: [AsyncStream<ObservedError>.Continuation] = []
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

  func observe(_ error: ObservedError) {
    if recent.count >= Self.limit { recent.removeFirst() }
    recent.append(error)
    continuations.removeAll { continuation in
      if case .terminated = continuation.yield(error) { return true }
      return false
    }
  }
}
