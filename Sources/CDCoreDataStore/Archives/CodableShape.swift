/// The structure of a codable type that consists of lists, sets, dictionaries and plain types, parsed from its text.
indirect enum CodableShape: Hashable {
  case list(CodableShape)
  case dictionary(CodableShape, CodableShape)
  case plain(String)

  /// Parses a text such as `[String]`, `[String: [Int]]` or `Set<UUID>`; nil for any other text.
  init?(_ text: String) {
    var rest = Substring(text.filter { $0 != " " })
    guard let shape = Self.shape(&rest, depth: 0), rest.isEmpty else { return nil }
    self = shape
  }

  /// Whether Swift encodes a dictionary with keys of this type as a JSON object.
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
