/// A text that matches a simple regular expression: literals, classes, groups, alternatives and counts.
///
/// The text is a guess, which a save checks. An expression with any other syntax has no text.
struct PatternSample {
  /// The text; nil if the expression is not simple.
  private(set) var text: String?

  private var rest: Substring
  /// The number of additional repetitions of a repeatable part, beyond the required ones.
  private let repeats: Int
  /// Chooses among the characters of a class, so that samples differ.
  private var seed: Int

  init(_ pattern: String, repeats: Int, seed: Int) {
    rest = pattern[...]
    self.repeats = repeats
    self.seed = seed
    let result = alternatives()
    text = rest.isEmpty ? result : nil
  }

  /// A text for the first of several alternatives.
  private mutating func alternatives() -> String? {
    guard let first = sequence() else { return nil }
    while rest.first == "|" {
      rest.removeFirst()
      guard sequence() != nil else { return nil }
    }
    return first
  }

  private mutating func sequence() -> String? {
    var result = ""
    while let next = rest.first, next != "|", next != ")" {
      rest.removeFirst()
      if next == "^" || next == "$" { continue }
      let start = rest
      guard let part = atom(next) else { return nil }
      guard let count = count() else { return nil }
      guard count > 0 else { continue }
      result += part
      // Each repetition may produce another text.
      let end = rest
      for _ in 1..<max(count, 1) {
        rest = start
        guard let again = atom(next) else { return nil }
        result += again
      }
      rest = end
    }
    return result
  }

  private mutating func atom(_ first: Character) -> String? {
    switch first {
    case "(":
      if rest.hasPrefix("?:") { rest.removeFirst(2) } else if rest.hasPrefix("?") { return nil }
      guard let result = alternatives(), rest.popFirst() == ")" else { return nil }
      return result
    case "[": return characterClass()
    case ".": return pick(Array("abcdefghij"))
    case "\\":
      guard let escaped = rest.popFirst() else { return nil }
      return escape(escaped)
    case "*", "+", "?", "{", "]", "}": return nil
    default: return String(first)
    }
  }

  private mutating func escape(_ character: Character) -> String? {
    switch character {
    case "d": pick(Array("0123456789"))
    case "w": pick(Array("abcdefghij"))
    case "s": " "
    case _ where character.isLetter || character.isNumber: nil
    default: String(character)
    }
  }

  private mutating func characterClass() -> String? {
    guard rest.first != "^" else { return nil }
    var members: [Character] = []
    while let next = rest.popFirst(), next != "]" {
      if next == "[" || next == "&" { return nil }
      if next == "\\" {
        guard let escaped = rest.popFirst(), let text = escape(escaped), let first = text.first else {
          return nil
        }
        members.append(first)
      } else if rest.first == "-", rest.dropFirst().first != "]" {
        rest.removeFirst()
        guard let end = rest.popFirst()?.unicodeScalars.first, let start = next.unicodeScalars.first,
          start <= end
        else { return nil }
        members += (start.value...min(end.value, start.value + 25)).compactMap(UnicodeScalar.init).map(
          Character.init)
      } else {
        members.append(next)
      }
    }
    return members.isEmpty ? nil : pick(members)
  }

  private mutating func pick(_ members: [Character]) -> String {
    seed = (seed &* 31 &+ 7) & 0xFFFF
    return String(members[seed % members.count])
  }

  /// The number of times that the part before occurs.
  private mutating func count() -> Int? {
    defer { if rest.first == "?" || rest.first == "+" { rest.removeFirst() } }
    switch rest.first {
    case "*", "?":
      let isOne = rest.removeFirst() == "?"
      return isOne ? min(repeats, 1) : repeats
    case "+":
      rest.removeFirst()
      return 1 + repeats
    case "{":
      guard let end = rest.firstIndex(of: "}") else { return nil }
      let bounds = rest[rest.index(after: rest.startIndex)..<end].split(
        separator: ",", omittingEmptySubsequences: false)
      rest = rest[rest.index(after: end)...]
      guard let least = bounds.first.flatMap({ Int($0) }), least < 1000 else { return nil }
      guard bounds.count == 2 else { return least }
      return min(least + repeats, Int(bounds[1]) ?? .max)
    default: return 1
    }
  }
}
