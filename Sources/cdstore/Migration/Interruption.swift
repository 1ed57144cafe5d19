import Dispatch
import Foundation
import Synchronization

/// Records whether the program was asked to end, by ^C or by a signal to terminate.
///
/// While this object exists, these signals have no other effect.
final class Interruption {
  /// The flag that other threads read.
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
