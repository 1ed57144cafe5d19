import Dispatch
import Foundation
import Synchronization

/// Whether somebody has asked the program to end: by ^C, or by a signal to terminate.
///
/// The signals do nothing else while this lives.
final class Interruption {
  /// What others ask, on any thread.
  final class Flag: Sendable {
    private let value = Atomic(false)
    var isRaised: Bool { value.load(ordering: .relaxed) }

    fileprivate func raise() { value.store(true, ordering: .relaxed) }
  }

  let flag = Flag()
  private let sources: [any DispatchSourceSignal]

  init() {
    let flag = self.flag
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { flag.raise() }
      source.resume()
      return source
    }
  }

  deinit { for source in sources { source.cancel() } }
}
