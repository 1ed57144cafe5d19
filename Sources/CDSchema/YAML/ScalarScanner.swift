/// Reads a scalar's source again, by the rules of YAML 1.1 as libyaml applies them, and records the origin of each
/// Unicode scalar of the value.
struct ScalarScanner {
  let scalars: [Unicode.Scalar]
  let end: Int
  var index: Int
  var value: [Unicode.Scalar] = []
  var offsets: [Int] = []

  /// The offset in the file of every Unicode scalar of a value and of its end. Nil if reading the source does not give
  /// the value.
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
      // An explicit indentation is relative to the parent's, which is not visible in the scalar's source. So every
      // possible indentation is tried.
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

  /// Skips a line end and returns the scalar that a value contains for it.
  mutating func readBreak() -> (scalar: Unicode.Scalar, offset: Int) {
    let offset = index
    let first = scalars[index]
    index += 1
    if first == "\r", let next = current, next == "\n" { index += 1 }
    return (first == "\u{2028}" || first == "\u{2029}" ? first : "\n", offset)
  }
}
