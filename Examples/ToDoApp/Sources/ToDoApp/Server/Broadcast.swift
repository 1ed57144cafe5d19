import Foundation
import Synchronization

/// An event that the server sends to pages.
enum Event: Sendable {
  /// Others have saved. The author is the window that did; nil if it was another process.
  case changed(author: String?)
  case alerts(Fragment)
  /// The server could not save while quitting. The text says why.
  case review(String)
  /// Keeps connections alive, and finds those that are not.
  case ping

  /// The event as server-sent events write it.
  var text: String {
    switch self {
    case .changed: "event: changed\ndata:\n\n"
    case .alerts(let fragment): "event: alerts\n" + Self.data(fragment.template.source)
    case .review(let text): "event: review\n" + Self.data(text)
    case .ping: ": ping\n\n"
    }
  }

  private static func data(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "data: \($0)\n" }.joined() + "\n"
  }
}

/// Sends events to all pages.
final class Broadcast: Sendable {
  private let receivers = Mutex<[UUID: AsyncStream<Event>.Continuation]>([:])

  func events() -> AsyncStream<Event> {
    let id = UUID()
    let (stream, continuation) = AsyncStream.makeStream(
      of: Event.self, bufferingPolicy: .bufferingNewest(100))
    continuation.onTermination = { [self] _ in receivers.withLock { $0[id] = nil } }
    receivers.withLock { $0[id] = continuation }
    return stream
  }

  func send(_ event: Event) {
    for receiver in receivers.withLock({ Array($0.values) }) { receiver.yield(event) }
  }
}
