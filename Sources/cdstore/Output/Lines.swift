import CDConsole
import Foundation

/// Writes lines to standard output and to the error stream.
enum Lines {
  static func write(_ text: String) throws { try Console.write(line: text) }

  /// Writes lines to the error stream, without the control characters of names and values in a store.
  static func error(_ text: String) { Console.error(Terminal.plain(lines: text)) }

  /// Writes the summary of work that is complete. If it cannot be written, a warning says what was done, and the command
  /// succeeds. Otherwise its caller would do the work again.
  static func write(summary: String, of work: String) {
    do { try write(summary) } catch let failure as OutputFailure {
      error("warning: \(work), but \(failure)")
    } catch {
      // The reader has closed the pipe, and does not want the summary.
    }
  }

  /// Rows of text in aligned columns. Control characters, which could move the terminal's cursor, are replaced by
  /// visible ones.
  static func table(_ header: [String], _ rows: [[String]]) -> String {
    let lines = ([header] + rows).map { $0.map(plain) }
    let widths = header.indices.map { column in lines.map { Terminal.columns(of: $0[column]) }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      var text = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - Terminal.columns(of: $0)) }
        .joined(separator: "  ")
      while text.last == " " { text.removeLast() }
      return text
    }
    let rule = widths.map { String(repeating: "-", count: $0) }
    return ([line(lines[0]), line(rule)] + lines.dropFirst().map(line)).joined(separator: "\n")
  }

  /// A text of one line, in which all control characters are replaced, with the tab.
  static func plain(_ text: String) -> String {
    Terminal.plain(
      String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\t" ? "\u{FFFD}" : $0 })))
  }

  /// A line of comma-separated values, quoted as in RFC 4180.
  ///
  /// A reader looks for the scalars of separators. A `Character` can be a separator with an accent.
  static func csv(_ cells: [String]) -> String {
    cells.map { cell in
      guard cell.unicodeScalars.contains(where: { separators.contains($0) }) else { return cell }
      var quoted = "\"".unicodeScalars
      for scalar in cell.unicodeScalars {
        if scalar == "\"" { quoted.append(scalar) }
        quoted.append(scalar)
      }
      quoted.append("\"")
      return String(quoted)
    }.joined(separator: ",")
  }

  /// The comma, the quote, and everything that a reader may take for the end of a line.
  private static let separators: Set<Unicode.Scalar> = [
    ",", "\"", "\n", "\r", "\u{B}", "\u{C}", "\u{85}", "\u{2028}", "\u{2029}",
  ]
}
