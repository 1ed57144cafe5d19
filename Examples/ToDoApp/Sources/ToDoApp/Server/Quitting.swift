import Foundation
import UnixSignals

/// Saves when the program is asked to stop, and asks on the terminal if that fails.
struct Quitting: Sendable {
  let server: Server

  /// Waits for Control-C, for the end of the terminal, and for the system's request to end, which do the same.
  func handleSignals() async {
    for await _ in await UnixSignalsSequence(trapping: .sighup, .sigint, .sigterm) { await quit() }
  }

  /// Ends the program, unless a person wants to look at what cannot be saved.
  private func quit() async {
    var failures: [String] = []
    for window in await server.windows.unclosed {
      if let failure = await window.saveForQuitting() { failures.append(failure) }
    }
    guard !failures.isEmpty else { exit(0) }
    let text = "Could not save changes while quitting.\n  " + failures.joined(separator: "\n  ")
    guard isatty(STDIN_FILENO) == 1 else {
      complain(text)
      exit(1)
    }
    if await ask(text + "\nQuit anyway?") { exit(1) }
    server.broadcast.send(.review(failures.joined(separator: " ")))
  }

  /// Asks on the terminal, on a thread of its own, because the pages are still served. The end of the input means to
  /// quit, because nobody can answer any more.
  private func ask(_ question: String) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        while true {
          complain("\(question) [q] Quit anyway  [r] Review")
          switch readLine()?.lowercased() {
          case "q", nil: return continuation.resume(returning: true)
          case "r": return continuation.resume(returning: false)
          default: continue
          }
        }
      }
    }
  }
}
