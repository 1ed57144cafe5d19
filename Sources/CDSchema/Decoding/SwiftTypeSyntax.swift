/// Checks whether a text can be the name of a Swift type, so that a mistake is found in the schema and not in the
/// generated code.
enum SwiftTypeSyntax {
  /// Accepts names with dots and generic arguments, `[T]` and `[K: V]`, each optionally with `?`.
  static func isType(_ text: String) -> Bool {
    var reader = Reader(rest: text[...])
    return reader.takeType(depth: 0) && reader.rest.isEmpty
  }

  private struct Reader {
    var rest: Substring

    private mutating func take(_ character: Character) -> Bool {
      skipBlanks()
      guard rest.first == character else { return false }
      rest.removeFirst()
      return true
    }

    private mutating func skipBlanks() { rest = rest.drop { $0 == " " } }

    mutating func takeType(depth: Int) -> Bool {
      skipBlanks()
      guard depth < 16 else { return false }
      if take("[") {
        guard takeType(depth: depth + 1) else { return false }
        if take(":"), !takeType(depth: depth + 1) { return false }
        guard take("]") else { return false }
      } else {
        repeat {
          guard takeName() else { return false }
          if rest.first == "<" {
            rest.removeFirst()
            repeat {
              guard takeType(depth: depth + 1) else { return false }
            } while take(",")
            guard take(">") else { return false }
          }
        } while takeDot()
      }
      if rest.first == "?" { rest.removeFirst() }
      return true
    }

    private mutating func takeDot() -> Bool {
      guard rest.first == "." else { return false }
      rest.removeFirst()
      return true
    }

    private mutating func takeName() -> Bool {
      let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      guard let first = name.first, !first.isNumber else { return false }
      rest = rest.dropFirst(name.count)
      return true
    }
  }
}
