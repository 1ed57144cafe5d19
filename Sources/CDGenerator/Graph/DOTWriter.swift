/// Writes a diagram in Graphviz's language. Every box is a table with one port for each row.
enum DOTWriter {
  static func text(of diagram: Diagram) -> String {
    var lines = [
      "digraph {",
      "  graph [rankdir=LR, nodesep=0.4, ranksep=0.9, fontname=\"Helvetica\", labelloc=t, label=\(quoted(diagram.title))]",
      "  node [shape=plain, fontname=\"Helvetica\", fontsize=11]",
      "  edge [dir=both, color=\"#57606a\"]",
    ]
    for (index, box) in diagram.boxes.enumerated() {
      lines.append("  n\(index) [label=<")
      lines += table(box).map { "    " + $0 }
      lines.append("  >]")
    }
    lines += diagram.connections.map(line)
    lines.append("}")
    return lines.joined(separator: "\n") + "\n"
  }

  private static func table(_ box: Diagram.Box) -> [String] {
    let label = box.kind.label.map { "  <I>\(escaped($0))</I>" } ?? ""
    var lines = [
      "<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"4\" COLOR=\"#57606a\">",
      "<TR><TD PORT=\"h\" BGCOLOR=\"\(fill(box.kind))\"><B>\(escaped(box.name))</B>\(label)</TD></TR>",
    ]
    for (index, row) in box.rows.enumerated() {
      let notes = (row.isUnique ? ["unique"] : []) + row.notes
      let note = notes.isEmpty ? "" : "  <I>\(escaped(notes.joined(separator: ", ")))</I>"
      lines.append(
        "<TR><TD PORT=\"r\(index)\" ALIGN=\"LEFT\">\(escaped(row.name)): \(escaped(row.type))\(note)</TD></TR>"
      )
    }
    lines.append("</TABLE>")
    return lines
  }

  private static func line(_ connection: Diagram.Connection) -> String {
    let ends = "\(port(connection.from)) -> \(port(connection.to))"
    return switch connection.kind {
    case .inheritance: "  \(ends) [arrowtail=empty, arrowhead=none]"
    case .relationship:
      "  \(ends) [arrowtail=\(arrow(connection.from)), arrowhead=\(arrow(connection.to))]"
    case .oneSided:
      "  \(ends) [arrowtail=\(arrow(connection.from)), arrowhead=\(arrow(connection.to)), style=dashed]"
    }
  }

  private static func port(_ end: Diagram.End) -> String {
    "n\(end.box):" + (end.row.map { "r\($0)" } ?? "h")
  }

  private static func arrow(_ end: Diagram.End) -> String {
    switch end.multiplicity {
    case .exactlyOne: "teetee"
    case .zeroOrOne: "teeodot"
    case .zeroOrMore: "crowodot"
    case .oneOrMore: "crowtee"
    }
  }

  private static func fill(_ kind: Diagram.Box.Kind) -> String {
    switch kind {
    case .entity: "#ddf4ff"
    case .abstractEntity: "#eaeef2"
    case .enumeration: "#fff8c5"
    case .composite: "#dafbe1"
    }
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  private static func escaped(_ text: String) -> String { MarkupText.escaped(text) }
}
