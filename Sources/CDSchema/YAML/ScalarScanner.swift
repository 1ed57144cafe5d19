/// Reads a scalar's source again, by the rules of YAML 1.1 as libyaml applies them, noting where each scalar
/// of the value comes from.
struct ScalarScanner {
  let scalars: [Unicode.Scalar]
  let end: Int
  var index: Int
  var value: [Unicode.Scalar] = []
  var offsets: [Int] = []

  /// The file's offset of every Unicode scalar in `value` and of its end; nil where the source does not
  /// read as that value.
  static func offsets(
    of value: String, style: MarkedNode.ScalarStyle, range: Range<Int>, in source: SourceText
  ) -> [Int]? {
    let expected = Array(value.unicodeScalars)
    let fresh = ScalarScanner(scalars: source.scalars, end: range.upperBound, index: range.lowerBound)
    switch style {
    case .plain, .singleQuoted, .doubleQuoted:
      var scanner = fresh
      let last = scanner.scanFlow(style)
      return scanner.value == expected ? scanner.offsets + [last] : nil
    case .literal, .folded:
      // An explicit indentation counts from the parent's, which the source of the scalar does not show:
      // every depth that it can be is tried.
      for indentation in fresh.possibleIndentations() {
        var scanner = fresh
        let last = scanner.scanBlock(isLiteral: style == .literal, indentation: indentation)
        if scanner.value == expected { return scanner.offsets + [last] }
      }
      return nil
    }
  }

  mutating func append(_ scalar: Unicode.Scalar, at offset: Int) {
    value.append(scalar)
    offsets.append(offset)
  }

  var current: Unicode.Scalar? { index < end ? scalars[index] : nil }

  static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

  static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": true
    default: false
    }
  }

  /// Steps over a line's end and gives what a value holds for it.
  mutating func readBreak() -> (scalar: Unicode.Scalar, offset: Int) {
    let offset = index
    let first = scalars[index]
    index += 1
    if first == "\r", let next = current, next == "\n" { index += 1 }
    return (first == "\u{2028}" || first == "\u{2029}" ? first : "\n", offset)
  }
}
