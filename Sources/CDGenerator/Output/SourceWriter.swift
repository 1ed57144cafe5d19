/// Builds the text of a Swift file, line by line.
struct SourceWriter {
  private(set) var text: String
  private var indentation = ""

  init(capacity: Int = 0) {
    text = ""
    text.reserveCapacity(capacity)
  }

  /// Writes a line from several parts, so that the caller does not have to join them.
  mutating func line(_ parts: String...) {
    text += indentation
    for part in parts { text += part }
    text += "\n"
  }

  /// Writes an empty line.
  mutating func blank() {
    text += "\n"
  }

  mutating func indent() {
    indentation += "  "
  }

  mutating func outdent() {
    indentation.removeLast(2)
  }

  /// Writes a line that opens a block, with an opening brace at its end.
  mutating func open(_ parts: String...) {
    text += indentation
    for part in parts { text += part }
    text += " {\n"
    indentation += "  "
  }

  /// Closes the innermost block.
  mutating func close() {
    indentation.removeLast(2)
    text += indentation
    text += "}\n"
  }

  /// Writes a text of the schema as a documentation comment. Every character that could end a line starts a new comment
  /// line, and other control characters become spaces, so that the text cannot leave its comment.
  mutating func documentation(_ doc: String?) {
    guard let doc, !doc.isEmpty else { return }
    var lines: [String] = [""]
    var previous: Unicode.Scalar?
    for scalar in doc.unicodeScalars {
      defer { previous = scalar }
      switch scalar {
      case "\n" where previous == "\r": continue
      case "\n", "\r", "\u{0B}", "\u{0C}", "\u{85}", "\u{2028}", "\u{2029}": lines.append("")
      case "\0"..."\u{1F}", "\u{7F}": lines[lines.count - 1] += " "
      default: lines[lines.count - 1].unicodeScalars.append(scalar)
      }
    }
    while let last = lines.last, last.allSatisfy(\.isWhitespace), lines.count > 1 { lines.removeLast() }
    for line in lines {
      var end = line[...]
      while end.last == " " || end.last == "\t" { end.removeLast() }
      if end.isEmpty { self.line("///") } else { self.line("/// ", String(end)) }
    }
  }
}
