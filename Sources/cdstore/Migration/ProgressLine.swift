import CDConsole
import CDRuntime
import Foundation
import Synchronization

/// The progress of a migration on the error stream: a bar where that is a terminal, else a line for each entity.
final class ProgressLine: Sendable {
  private struct State {
    var shown = ""
    var isOpen = false
  }

  private let state = Mutex(State())
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let isQuiet: Bool

  /// - Parameter isQuiet: Whether nothing is written but to a terminal.
  init(isQuiet: Bool) { self.isQuiet = isQuiet }

  func show(_ progress: MigrationProgress) {
    let step = "version \(progress.source) to \(progress.destination)"
    let subject = step + (progress.entity.map { ", \($0)" } ?? "")
    state.withLock { state in
      if isTerminal {
        let text = "\(Self.bar(progress.fraction)) \(subject)"
        guard text != state.shown else { return }
        state.shown = text
        state.isOpen = true
        // The line is one of an ordinary terminal; what was longer before is wiped.
        write("\r\u{1B}[K" + String(text.prefix(79)))
      } else if !isQuiet, subject != state.shown {
        state.shown = subject
        write(subject + "\n")
      }
    }
  }

  /// Leaves the line to what is written next.
  func end() {
    state.withLock { state in
      if state.isOpen { write("\r\u{1B}[K") }
      state.isOpen = false
      state.shown = ""
    }
  }

  static func bar(_ fraction: Double) -> String {
    let width = 24
    let part = min(max(fraction, 0), 1)
    let done = Int(part * Double(width))
    let percent = Int(part * 100)
    return "[" + String(repeating: "#", count: done) + String(repeating: "·", count: width - done) + "] "
      + String(repeating: " ", count: 3 - "\(percent)".count) + "\(percent) %"
  }

  private func write(_ text: String) { Console.error(text: text) }
}
