import CDConsole

/// The colours of a migration plan on a terminal.
enum PlanColors {
  /// The text with colours, if standard output is a terminal that has them.
  static func text(_ text: String) -> String {
    guard Terminal.hasColors(.output) else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { line in meaning(of: line).map { Terminal.text(String(line), $0, on: .output) } ?? String(line) }
      .joined(separator: "\n")
  }

  private static func meaning(of line: Substring) -> Terminal.Meaning? {
    let words = line.drop { $0 == " " }
    if words.hasPrefix("open: ") || words == "to do:" || words == "mistakes in the mapping:" { return .error }
    if words == "not proven" || line.hasPrefix("version ") && line.hasSuffix(": not proven") { return .error }
    if words.hasPrefix("confirmed: ") { return .warning }
    if line.hasPrefix("  proven; ") || line.contains(": proven; ") { return .success }
    return line.hasPrefix("version ") ? .strong : nil
  }
}
