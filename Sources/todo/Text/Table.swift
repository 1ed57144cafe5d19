/// Rows of text with aligned columns.
struct Table {
  var header: [String]
  var rows: [[String]]

  init(_ header: String..., rows: [[String]]) {
    self.header = header
    // Other programs may have written to the store.
    self.rows = rows.map { $0.map(Self.plain) }
  }

  /// Whether a text fits into a line and leaves a terminal alone.
  static func isPlain(_ text: String) -> Bool { text.unicodeScalars.allSatisfy { !isControl($0) } }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  private static func plain(_ text: String) -> String {
    isPlain(text)
      ? text : String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
  }

  /// The table, a line a row, without blanks at the ends of lines. A table without rows says so.
  var text: String {
    if rows.isEmpty { return "(none)" }
    let lines = [header] + rows
    let widths = header.indices.map { column in
      lines.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    let all = [header, widths.map { String(repeating: "-", count: $0) }] + rows
    return all.map { line(of: $0, widths) }.joined(separator: "\n")
  }

  private func line(of row: [String], _ widths: [Int]) -> String {
    let cells = zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
    var line = cells.joined(separator: "  ")
    while line.last == " " { line.removeLast() }
    return line
  }
}
