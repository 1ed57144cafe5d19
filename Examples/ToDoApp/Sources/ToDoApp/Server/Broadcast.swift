import Foundation
import Synchronization

/// An event that the server sends to pages.
enum Event: Sendable {
  /// Others have saved. The author is the window that did; nil if it was another program.
  case changed(author: String?)
  case alerts(Fragment)
  /// The store cannot be reached at the moment. The text says why.
  case away(String)
  /// The store can be reached again.
  case back
  /// The server could not save while quitting. The text says why.
  case review(String)
  /// Keeps connections alive, and finds those that are not.
  case ping

  /// The event as server-sent events write it.
  var text: String {
    switch self {
    case .changed: "event: changed\ndata:\n\n"
    case .alerts(let fragment): "event: alerts\n" + Self.data(fragment.template.source)
    case .away(let text): "event: away\n" + Self.data(text)
    case .back: "event: back\ndata:\n\n"
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
  private struct State {
    var receivers: [UUID: AsyncStream<Event>.Continuation] = [:]
    var absence: String?
  }

  private let state = Mutex(State())

  /// Why the store cannot be reached at the moment; nil if it can.
  var absence: String? { state.withLock { $0.absence } }

  func events() -> AsyncStream<Event> {
    let id = UUID()
    let (stream, continuation) = AsyncStream.makeStream(
      of: Event.self, bufferingPolicy: .bufferingNewest(100))
    continuation.onTermination = { [self] _ in state.withLock { $0.receivers[id] = nil } }
    state.withLock { state in
      state.receivers[id] = continuation
      if let absence = state.absence { continuation.yield(.away(absence)) }
    }
    return stream
  }

  func send(_ event: Event) {
    let receivers = state.withLock { state in
      switch event {
      case .away(let text): state.absence = text
      case .back: state.absence = nil
      case .changed, .alerts, .review, .ping: break
      }
      return Array(state.receivers.values)
    }
    for receiver in receivers { receiver.yield(event) }
  }
}
