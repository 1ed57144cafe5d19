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
      blanks += scalar == "\t" ? "\t" : String(repeating: " ", count: Self.width(of: scalar))
    }
    lines = [line, blanks + "^"]
  }

  /// The number of columns of a terminal that a character takes.
  private static func width(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    return wide.contains { $0.contains(scalar.value) } || scalar.properties.isEmojiPresentation ? 2 : 1
  }

  /// The characters of East Asian scripts that take two columns.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
    0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
  ]
}
