extension ScalarScanner {
  /// Reads a plain or quoted scalar. Returns the offset of the value's end.
  mutating func scanFlow(_ style: MarkedNode.ScalarStyle) -> Int {
    if style != .plain { index += 1 }
    while let scalar = current {
      if style == .singleQuoted, scalar == "'", !isDoubledQuote { return index }
      if style == .doubleQuoted, scalar == "\"" { return index }
      if Self.isBlank(scalar) || Self.isBreak(scalar) {
        fold(afterEscapedBreak: false)
      } else if style == .singleQuoted, scalar == "'" {
        append("'", at: index)
        index += 2
      } else if style == .doubleQuoted, scalar == "\\" {
        scanEscape()
      } else {
        append(scalar, at: index)
        index += 1
      }
    }
    return end
  }

  private var isDoubledQuote: Bool { index + 1 < end && scalars[index + 1] == "'" }

  /// Reads white space. Within a line it is kept. At line ends it is removed: a single line end becomes a space, and of
  /// several line ends the first is removed.
  private mutating func fold(afterEscapedBreak: Bool) {
    var blanks: [(Unicode.Scalar, Int)] = []
    var first: (scalar: Unicode.Scalar, offset: Int)?
    var others: [(scalar: Unicode.Scalar, offset: Int)] = []
    var sawBreak = afterEscapedBreak
    while let scalar = current {
      if Self.isBlank(scalar) {
        if !sawBreak { blanks.append((scalar, index)) }
        index += 1
      } else if Self.isBreak(scalar) {
        let ending = readBreak()
        if sawBreak { others.append(ending) } else { first = ending }
        sawBreak = true
      } else {
        break
      }
    }
    if !sawBreak {
      for (scalar, offset) in blanks { append(scalar, at: offset) }
      return
    }
    if let first {
      if first.scalar != "\n" {
        append(first.scalar, at: first.offset)
      } else if others.isEmpty {
        append(" ", at: first.offset)
      }
    }
    for other in others { append(other.scalar, at: other.offset) }
  }

  private mutating func scanEscape() {
    let start = index
    index += 1
    guard let code = current else { return }
    if Self.isBreak(code) {
      _ = readBreak()
      fold(afterEscapedBreak: true)
      return
    }
    index += 1
    let digits: Int
    switch code {
    case "x": digits = 2
    case "u": digits = 4
    case "U": digits = 8
    default:
      append(Self.escapes[code] ?? code, at: start)
      return
    }
    var number: UInt32 = 0
    for _ in 0..<digits {
      guard let digit = current, let value = Character(digit).hexDigitValue else { return }
      number = number &* 16 &+ UInt32(value)
      index += 1
    }
    if let scalar = Unicode.Scalar(number) { append(scalar, at: start) }
  }

  /// The one-letter escapes that do not stand for the letter itself.
  private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
    "0": "\0", "a": "\u{7}", "b": "\u{8}", "t": "\t", "n": "\n", "v": "\u{B}", "f": "\u{C}", "r": "\r",
    "e": "\u{1B}", "N": "\u{85}", "_": "\u{A0}", "L": "\u{2028}", "P": "\u{2029}",
  ]
}
