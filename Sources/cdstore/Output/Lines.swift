import CDConsole
import Foundation

/// Writes lines to standard output and to the error stream.
enum Lines {
  static func write(_ text: String) throws { try Console.write(line: text) }
  static func error(_ text: String) { Console.error(text) }

  /// Rows of text in aligned columns. Control characters, which could move the terminal's cursor, are replaced by
  /// visible ones.
  static func table(_ header: [String], _ rows: [[String]]) -> String {
    let lines = ([header] + rows).map { $0.map(plain) }
    let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      var text = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
        .joined(separator: "  ")
      while text.last == " " { text.removeLast() }
      return text
    }
    let rule = widths.map { String(repeating: "-", count: $0) }
    return ([line(lines[0]), line(rule)] + lines.dropFirst().map(line)).joined(separator: "\n")
  }

  private static func plain(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : $0 })
    )
  }

  /// A line of comma-separated values, quoted as in RFC 4180.
  static func csv(_ cells: [String]) -> String {
    cells.map { cell in
      guard cell.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return cell }
      return "\"" + cell.replacing("\"", with: "\"\"") + "\""
    }.joined(separator: ",")
  }
}
