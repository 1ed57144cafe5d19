/// A cheap look at regular expressions: what is certainly no pattern, long before one is compiled.
enum PatternSyntax {
  /// What is wrong with a pattern, or nil where nothing is evidently.
  static func problem(in pattern: String) -> String? {
    var scanner = PatternScanner(scalars: Array(pattern.unicodeScalars))
    return scanner.scan()
  }
}

private struct PatternScanner {
  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var openGroups = 0
  /// Whether a quantifier has nothing to its left that it could repeat.
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

  /// `\Q…\E` is literal; any other escape is one character here.
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

  /// What follows `(?`, up to where the group's content begins; a comment group whole.
  private mutating func skipGroupKind() {
    guard position < scalars.count, scalars[position] == "?" else { return }
    position += 1
    guard position < scalars.count else { return }
    if scalars[position] == "#" {
      while position < scalars.count, scalars[position] != ")" { position += 1 }
    } else if scalars[position...].prefix(while: { $0.properties.isAlphabetic || $0 == "-" }).contains("x") {
      // Comments may hold any bracket from here on: nothing is evident any more.
      position = scalars.count
      openGroups = 0
    }
  }

  /// A set with the sets in it. False where it does not end.
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
      // ICU takes a bracket that comes first as a character of the set.
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
