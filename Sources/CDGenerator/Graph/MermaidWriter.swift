/// Writes a diagram as a Mermaid `erDiagram`.
///
/// Mermaid has a small grammar and many reserved words. So boxes are always quoted. A property whose name is one of
/// Mermaid's keys (`pk`, `fk`, `uk`) gets an underscore. A type with characters outside the grammar is written with
/// underscores, and the comment beside it shows the real text.
enum MermaidWriter {
  static func text(of diagram: Diagram) -> String {
    var lines = ["---", "title: \(quoted(diagram.title))", "---", "erDiagram"]
    for box in diagram.boxes {
      lines.append("  \(quoted(box.name)) {")
      lines += box.rows.filter { !$0.isRelationship }.map { line($0, of: box.kind) }
      lines.append("  }")
    }
    lines += diagram.connections.map { line($0, in: diagram) }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func line(_ row: Diagram.Row, of kind: Diagram.Box.Kind) -> String {
    let isOptional = row.type.hasSuffix("?")
    // The `?` is left out, because older versions cannot read it.
    let type = kind == .enumeration ? "case" : isOptional ? String(row.type.dropLast()) : row.type
    var comments: [String] = []
    if word(row.name) != row.name { comments.append(row.name) }
    if kind == .enumeration || word(type) != type { comments.append(row.type) }
    if isOptional && word(type) == type { comments.append("optional") }
    comments += row.notes
    let key = row.isUnique ? " UK" : ""
    let comment = comments.isEmpty ? "" : " " + quoted(comments.joined(separator: ", "))
    return "    \(word(type)) \(word(row.name))\(key)\(comment)"
  }

  private static func line(_ connection: Diagram.Connection, in diagram: Diagram) -> String {
    let from = diagram.boxes[connection.from.box]
    let to = diagram.boxes[connection.to.box]
    let line = connection.kind == .relationship ? "--" : ".."
    let names = [(from, connection.from), (to, connection.to)]
      .compactMap { box, end in end.row.map { box.rows[$0].name } }
    // A relationship that is its own inverse has the same name at both ends.
    let label = names.count == 2 && names[0] == names[1] ? names[0] : names.joined(separator: " / ")
    return "  \(quoted(from.name)) \(leading(connection.from.multiplicity))\(line)"
      + "\(trailing(connection.to.multiplicity)) \(quoted(to.name)) : "
      + quoted(connection.kind == .inheritance ? "is parent of" : label)
  }

  private static func leading(_ multiplicity: Diagram.Multiplicity) -> String {
    switch multiplicity {
    case .exactlyOne: "||"
    case .zeroOrOne: "|o"
    case .zeroOrMore: "}o"
    case .oneOrMore: "}|"
    }
  }

  private static func trailing(_ multiplicity: Diagram.Multiplicity) -> String {
    switch multiplicity {
    case .exactlyOne: "||"
    case .zeroOrOne: "o|"
    case .zeroOrMore: "o{"
    case .oneOrMore: "|{"
    }
  }

  /// A quoted string. Mermaid has no escapes, so quotes become apostrophes and line ends become spaces.
  private static func quoted(_ text: String) -> String {
    let safe = text.map { character -> Character in
      switch character {
      case "\"", "\\", "%": "'"
      case _ where character.isNewline: " "
      default: character
      }
    }
    return "\"" + String(safe) + "\""
  }

  /// The text as a word in an attribute's line.
  private static func word(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "_", "-", "[", "]", "(", ")": result.unicodeScalars.append(scalar)
      default: result += "_"
      }
    }
    guard let first = result.unicodeScalars.first else { return "_" }
    let isLetter = first.properties.isAlphabetic || first == "_"
    if !isLetter { result = "_" + result }
    return ["pk", "fk", "uk"].contains(result.lowercased()) ? result + "_" : result
  }
}
