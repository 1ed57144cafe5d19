/// A quick check of regular expressions. It finds only evident syntax errors and compiles nothing.
enum PatternSyntax {
  /// Describes the first evident error of a pattern. Returns nil if there is none.
  static func problem(in pattern: String) -> String? {
    var scanner = PatternScanner(scalars: Array(pattern.unicodeScalars))
    return scanner.scan()
  }
}

private struct PatternScanner {
  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var openGroups = 0
  /// Whether the next quantifier would have nothing to its left to repeat.
  private var isAtStart = true

  init(scalars: [Unicode.Scalar]) {
    self.scalars = scalars
  }

  mutating func scan() -> String? {
    while position < scalars.count {
      let scalar = scalars[position]
      position += 1
      switch scalar {
      case "\\":
        guard position < scalars.count else { return "it ends in a backslash" }
        skipEscape()
        isAtStart = false
      case "[":
        guard skipSet() else { return "'[' is not closed" }
        isAtStart = false
      case "(":
        openGroups += 1
        isAtStart = true
        skipGroupKind()
      case ")":
        if openGroups == 0 { return "')' closes nothing" }
        openGroups -= 1
        isAtStart = false
      case "|": isAtStart = true
      case "*", "+", "?":
        if isAtStart { return "'\(scalar)' repeats nothing" }
      default: isAtStart = false
      }
    }
    return openGroups > 0 ? "'(' is not closed" : nil
  }

  /// Skips an escape: `\Q…\E` whole, any other as one character.
  private mutating func skipEscape() {
    let kind = scalars[position]
    position += 1
    guard kind == "Q" else { return }
    while position < scalars.count {
      if scalars[position] == "\\", position + 1 < scalars.count, scalars[position + 1] == "E" {
        position += 2
        return
      }
      position += 1
    }
  }

  /// Skips the characters from `(?` to the content of the group. A comment group is skipped whole.
  private mutating func skipGroupKind() {
    guard position < scalars.count, scalars[position] == "?" else { return }
    position += 1
    guard position < scalars.count else { return }
    if scalars[position] == "#" {
      while position < scalars.count, scalars[position] != ")" { position += 1 }
    } else if scalars[position...].prefix(while: { $0.properties.isAlphabetic || $0 == "-" }).contains("x") {
      // The group switches on the `x` option, so comments may now contain any bracket. The scan ends here without an
      // error.
      position = scalars.count
      openGroups = 0
    }
  }

  /// Skips a character set and the sets inside it. Returns false if the set does not end.
  private mutating func skipSet() -> Bool {
    var depth = 1
    var isFirst = true
    if position < scalars.count, scalars[position] == "^" { position += 1 }
    while position < scalars.count {
      let scalar = scalars[position]
      position += 1
      switch scalar {
      case "\\":
        guard position < scalars.count else { return false }
        skipEscape()
      case "[": depth += 1
      // ICU reads a `]` that comes first as a character of the set.
      case "]" where !isFirst:
        depth -= 1
        if depth == 0 { return true }
      default: break
      }
      isFirst = false
    }
    return false
  }
}
