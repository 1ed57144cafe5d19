/// A file's text, with the position of every scalar.
///
/// Offsets count Unicode scalars from 0, as libyaml's marks do. Only this type converts them to lines and columns.
struct SourceText: Sendable {
  /// The file's path, as the caller gave it.
  private let path: String
  let scalars: [Unicode.Scalar]
  /// The offset of each line's first scalar.
  private let lineStarts: [Int]

  init(path: String, text: String) {
    self.init(path: path, scalars: Array(text.unicodeScalars))
  }

  init(path: String, scalars: [Unicode.Scalar]) {
    self.path = path
    self.scalars = scalars
    var starts = [0]
    for (offset, scalar) in scalars.enumerated() {
      let endsLine =
        scalar == "\n" || (scalar == "\r" && (offset + 1 == scalars.count || scalars[offset + 1] != "\n"))
      if endsLine { starts.append(offset + 1) }
    }
    lineStarts = starts
  }

  /// The line and column of an offset. An offset after the end gives the end.
  func location(at offset: Int) -> SourceLocation {
    let offset = min(max(offset, 0), scalars.count)
    let line = lineIndex(at: offset)
    return SourceLocation(path: path, line: line + 1, column: offset - lineStarts[line] + 1)
  }

  var lineCount: Int { lineStarts.count }

  /// The offsets of a line, including its line end. Lines are counted from 0.
  func line(_ index: Int) -> Range<Int> {
    let end = index + 1 < lineStarts.count ? lineStarts[index + 1] : scalars.count
    return lineStarts[index]..<end
  }

  /// The index of the line that contains an offset, counted from 0.
  func lineIndex(at offset: Int) -> Int {
    var low = 0
    var high = lineStarts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if lineStarts[middle] <= offset { low = middle } else { high = middle }
    }
    return low
  }

  /// The text between two offsets.
  func text(_ range: Range<Int>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars[range.clamped(to: 0..<scalars.count)])
    return String(view)
  }
}
