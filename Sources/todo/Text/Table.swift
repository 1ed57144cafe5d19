/// Rows of text with aligned columns.
struct Table {
  var header: [String]
  var rows: [[String]]

  init(_ header: String..., rows: [[String]]) {
    self.header = header
    self.rows = rows
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
