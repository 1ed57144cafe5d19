extension ScalarScanner {
  private enum Chomping {
    case strip, clip, keep
  }

  /// The possible indentations of a literal or folded scalar's content.
  func possibleIndentations() -> [Int] {
    var scanner = self
    let (_, isExplicit) = scanner.scanHeader()
    var deepest = 0
    var first: Int?
    while let scalar = scanner.current {
      var depth = 0
      while let blank = scanner.current, blank == " " {
        depth += 1
        scanner.index += 1
      }
      if let content = scanner.current, !Self.isBreak(content) {
        if first == nil { first = depth }
        break
      }
      deepest = max(deepest, depth)
      if scanner.current != nil { _ = scanner.readBreak() }
      _ = scalar
    }
    let detected = max(first ?? deepest, 1)
    return isExplicit ? Array(1...max(detected, 1)).reversed() + [0] : [detected, 0]
  }

  /// Reads a literal or folded scalar. Returns the offset of the value's end.
  mutating func scanBlock(isLiteral: Bool, indentation: Int) -> Int {
    let (chomping, _) = scanHeader()
    var leading: (scalar: Unicode.Scalar, offset: Int)?
    var trailing = skipIndentation(indentation)
    var previousStartsBlank = false
    var last = index
    while let first = current {
      let startsBlank = Self.isBlank(first)
      if let ending = leading {
        if !isLiteral, ending.scalar == "\n", !previousStartsBlank, !startsBlank {
          if trailing.isEmpty { append(" ", at: ending.offset) }
        } else {
          append(ending.scalar, at: ending.offset)
        }
      }
      for ending in trailing { append(ending.scalar, at: ending.offset) }
      leading = nil
      previousStartsBlank = startsBlank
      while let scalar = current, !Self.isBreak(scalar) {
        append(scalar, at: index)
        index += 1
      }
      last = index
      if current != nil { leading = readBreak() }
      trailing = skipIndentation(indentation)
    }
    if chomping != .strip, let ending = leading { append(ending.scalar, at: ending.offset) }
    if chomping == .keep { for ending in trailing { append(ending.scalar, at: ending.offset) } }
    return last
  }

  /// Reads the line of the indicator: the chomping, and whether the indentation is explicit.
  private mutating func scanHeader() -> (chomping: Chomping, isExplicit: Bool) {
    var chomping = Chomping.clip
    var isExplicit = false
    index += 1
    while let scalar = current, !Self.isBreak(scalar) {
      switch scalar {
      case "-": chomping = .strip
      case "+": chomping = .keep
      case "1"..."9": isExplicit = true
      default:
        // Only a comment can follow here.
        while let rest = current, !Self.isBreak(rest) { index += 1 }
        continue
      }
      index += 1
    }
    if current != nil { _ = readBreak() }
    return (chomping, isExplicit)
  }

  /// Skips empty lines and the indentation of the next line with content. Returns the line ends of the empty lines.
  private mutating func skipIndentation(_ indentation: Int) -> [(scalar: Unicode.Scalar, offset: Int)] {
    var breaks: [(scalar: Unicode.Scalar, offset: Int)] = []
    while true {
      var column = 0
      while column < indentation, let scalar = current, scalar == " " {
        column += 1
        index += 1
      }
      guard let scalar = current, Self.isBreak(scalar) else { return breaks }
      breaks.append(readBreak())
    }
  }
}
