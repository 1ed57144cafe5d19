/// Writes texts as YAML scalars. Reading a scalar gives exactly the same text.
enum YAMLScalar {
  /// - Parameter isInFlow: Whether the scalar is inside braces or brackets.
  static func text(_ text: String, isInFlow: Bool) -> String {
    if isPlain(text, isInFlow: isInFlow) { return text }
    let hasControls = text.unicodeScalars.contains { needsEscape($0) }
    if !hasControls, !text.contains("'"), text.contains("\"") || text.contains("\\") { return "'\(text)'" }
    return doubleQuoted(text)
  }

  /// The lines of a folded block. Nil if a folded block cannot hold the text, or if the text is only one word.
  static func folded(_ text: String, width: Int) -> [String]? {
    guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last, first != " ",
      last != " ",
      !text.unicodeScalars.contains(where: { needsEscape($0) }), text.contains(" ")
    else { return nil }
    var lines: [String] = []
    var line = ""
    // Lines are not broken at two consecutive spaces, because folding would not restore them.
    for piece in pieces(text) {
      if line.isEmpty {
        line = piece
      } else if line.count + 1 + piece.count <= max(width, 40) {
        line += " " + piece
      } else {
        lines.append(line)
        line = piece
      }
    }
    return lines + [line]
  }

  /// The parts of a text between single spaces.
  private static func pieces(_ text: String) -> [String] {
    var result: [String] = [""]
    let scalars = Array(text.unicodeScalars)
    for (place, scalar) in scalars.enumerated() {
      let isSingle =
        scalar == " " && place > 0 && place + 1 < scalars.count && scalars[place - 1] != " "
        && scalars[place + 1] != " "
      if isSingle { result.append("") } else { result[result.count - 1].unicodeScalars.append(scalar) }
    }
    return result
  }

  private static func isPlain(_ text: String, isInFlow: Bool) -> Bool {
    let scalars = Array(text.unicodeScalars)
    guard let first = scalars.first, let last = scalars.last, last != ":", last != " ", text != "<<",
      text != "="
    else { return false }
    if "?:,[]{}#&*!|>'\"%@` ".unicodeScalars.contains(first) { return false }
    if first == "-" {
      guard scalars.count > 1, scalars[1] != " ", scalars[1] != "-" else { return false }
    }
    if first == ".", text.hasPrefix("...") { return false }
    for (place, scalar) in scalars.enumerated() {
      if needsEscape(scalar) { return false }
      if scalar == ":", isInFlow || (place + 1 < scalars.count && scalars[place + 1] == " ") { return false }
      if scalar == "#", place > 0, scalars[place - 1] == " " { return false }
      // YAML itself allows a '?' after the first character, but PyYAML does not.
      if isInFlow, ",[]{}?".unicodeScalars.contains(scalar) { return false }
    }
    return true
  }

  /// Whether a scalar must be written as an escape in a quoted text, because it is invisible or ends a line.
  private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F...0xA0, 0x2028, 0x2029, 0xFEFF, 0xFFF0...0xFFFF: true
    default: scalar.properties.isNoncharacterCodePoint
    }
  }

  private static func doubleQuoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case _ where needsEscape(scalar):
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let width = scalar.value > 0xFFFF ? 8 : 4
        let zeros = String(repeating: "0", count: width - digits.count)
        result += (width == 8 ? "\\U" : "\\u") + zeros + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
