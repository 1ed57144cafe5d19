import CDConsole

/// Rows of text with aligned columns.
struct Table {
  var header: [String]
  var rows: [[String]]

  init(_ header: String..., rows: [[String]]) {
    self.header = header
    // Another program may have written control characters to the store.
    self.rows = rows.map { $0.map(Self.plain) }
  }

  /// Whether a text fits on one line and contains no control characters for a terminal.
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

  /// The table, one line per row, without spaces at the ends of lines. An empty table is shown as "(none)".
  var text: String {
    if rows.isEmpty { return "(none)" }
    let lines = [header] + rows
    let widths = header.indices.map { column in
      lines.map { column < $0.count ? Terminal.columns(of: $0[column]) : 0 }.max() ?? 0
    }
    let all = [header, widths.map { String(repeating: "-", count: $0) }] + rows
    return all.map { line(of: $0, widths) }.joined(separator: "\n")
  }

  private func line(of row: [String], _ widths: [Int]) -> String {
    let cells = zip(row, widths).map {
      $0 + String(repeating: " ", count: max(0, $1 - Terminal.columns(of: $0)))
    }
    var line = cells.joined(separator: "  ")
    while line.last == " " { line.removeLast() }
    return line
  }
}
