import CDConsole
import CDRuntime
import Foundation
import Synchronization

/// Shows the progress of a command on the error stream: a bar if it is a terminal. Otherwise a migration shows a line for
/// each entity.
final class ProgressLine: Sendable {
  private struct State {
    /// What the line shows.
    var shown = ""
    /// The lines for entities, each of which is written once: the objects of an entity can be created in several stages.
    var lines: Set<String> = []
    var isOpen = false
    var number = -1
  }

  private let state = Mutex(State())
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let isQuiet: Bool

  /// - Parameter isQuiet: Whether to write nothing unless the error stream is a terminal.
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
        // The text is limited to the width of an ordinary terminal. A longer previous text is erased.
        write("\r\u{1B}[K" + String(text.prefix(79)))
      } else if !isQuiet, state.lines.insert(subject).inserted {
        write(subject + "\n")
      }
    }
  }

  /// Shows a part of the work as a bar, if the error stream is a terminal.
  ///
  /// - Parameter part: From 0 to 1.
  func show(part: Double, _ subject: String) {
    guard isTerminal else { return }
    state.withLock { state in
      // A part of a percent is not visible.
      let number = Int(part * 200)
      guard number != state.number || !state.isOpen else { return }
      state.number = number
      state.isOpen = true
      write("\r\u{1B}[K" + String("\(Self.bar(part)) \(subject)".prefix(79)))
    }
  }

  /// Erases the line, so that other output can follow.
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
