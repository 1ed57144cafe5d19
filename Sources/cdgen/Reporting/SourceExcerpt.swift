import CDConsole
import CDSchema

/// The line of a diagnostic with a caret under the place, for a person at a terminal.
struct SourceExcerpt {
  let lines: [String]

  /// Reads the line from the file. Nil if there is no such line.
  init?(_ location: SourceLocation) {
    guard let text = try? OutputFile(path: location.path, contents: "").currentContents() else { return nil }
    // The end of a line of Windows is one Character.
    let all = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    guard all.indices.contains(location.line - 1) else { return nil }
    let line = Terminal.plain(all[location.line - 1])
    guard !line.isEmpty, line.unicodeScalars.count >= location.column - 1 else { return nil }
    var blanks = ""
    for scalar in line.unicodeScalars.prefix(location.column - 1) {
      blanks += scalar == "\t" ? "\t" : String(repeating: " ", count: Terminal.columns(of: scalar))
    }
    lines = [line, blanks + "^"]
  }
}
