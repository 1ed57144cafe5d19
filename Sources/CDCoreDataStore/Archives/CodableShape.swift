/// The form of a codable type that is made of lists, sets, dictionaries and plain types, read off its text.
indirect enum CodableShape: Hashable {
  case list(CodableShape)
  case dictionary(CodableShape, CodableShape)
  case plain(String)

  /// Nil for a text that is anything else: `[String]`, `[String: [Int]]` and `Set<UUID>` are not.
  init?(_ text: String) {
    var rest = Substring(text.filter { $0 != " " })
    guard let shape = Self.shape(&rest, depth: 0), rest.isEmpty else { return nil }
    self = shape
  }

  /// Whether Swift's JSON of a dictionary with such keys is an object.
  var isNameLike: Bool { self == .plain("String") || self == .plain("Int") }

  private static func shape(_ text: inout Substring, depth: Int) -> CodableShape? {
    guard depth < 16 else { return nil }
    if text.first == "[" {
      text.removeFirst()
      guard let first = shape(&text, depth: depth + 1) else { return nil }
      if text.first == "]" {
        text.removeFirst()
        return .list(first)
      }
      guard text.first == ":" else { return nil }
      text.removeFirst()
      guard let second = shape(&text, depth: depth + 1), text.first == "]" else { return nil }
      text.removeFirst()
      return .dictionary(first, second)
    }
    if text.hasPrefix("Set<") {
      text.removeFirst(4)
      guard let element = shape(&text, depth: depth + 1), text.first == ">" else { return nil }
      text.removeFirst()
      return .list(element)
    }
    let name = text.prefix { $0.isLetter || $0.isNumber }
    guard !name.isEmpty else { return nil }
    text.removeFirst(name.count)
    return .plain(String(name))
  }
}
