/// Sample JSON for the types of codable attributes, in the form that the type decodes.
///
/// An app's own type is not known here, so its sample is an empty object, and a collection of such values is empty. A
/// migration copies the JSON without reading it.
enum SampleJSON {
  static func text(of type: String, _ number: Int64) -> String {
    let plain: String = type.filter { $0 != " " && $0 != "?" }
    return known(plain[...], number) ?? "{}"
  }

  /// The sample for a type of Swift or Foundation; nil for any other type.
  private static func known(_ type: Substring, _ number: Int64) -> String? {
    if type.hasPrefix("["), type.hasSuffix("]") {
      let parts = split(type.dropFirst().dropLast(), at: ":")
      return parts.count == 2 ? dictionary(parts[0], parts[1], number) : list(of: parts[0], number)
    }
    let path = type.prefix { $0 != "<" }
    let name = path.split(separator: ".").last.map(String.init) ?? ""
    guard path.endIndex == type.endIndex else {
      guard type.hasSuffix(">") else { return nil }
      return generic(name, split(type[path.endIndex...].dropFirst().dropLast(), at: ","), number)
    }
    switch name {
    case "String": return "\"text \(number)\""
    case "Bool": return "true"
    case "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64":
      return "\(number % 100)"
    case "Float", "Double", "Decimal", "Date": return "\(number).5"
    case "UUID": return "\"5E3F1C52-0B7A-4C8E-9D52-7D9B4F0A1C11\""
    case "URL": return "\"https://example.org/\(number)\""
    case "Data": return "\"AP8=\""
    default: return nil
    }
  }

  private static func generic(_ name: String, _ arguments: [Substring], _ number: Int64) -> String? {
    switch (name, arguments.count) {
    case ("Array", 1), ("ContiguousArray", 1), ("Set", 1): list(of: arguments[0], number)
    case ("Optional", 1): known(arguments[0], number)
    case ("Dictionary", 2): dictionary(arguments[0], arguments[1], number)
    default: nil
    }
  }

  private static func list(of type: Substring, _ number: Int64) -> String {
    "[\(known(type, number) ?? "")]"
  }

  /// Keys are texts in JSON. Other keys than texts and `Int` are in a list, and a value follows each of them.
  private static func dictionary(_ key: Substring, _ value: Substring, _ number: Int64) -> String {
    let sample = known(value, number)
    switch key {
    case "String", "Swift.String": return sample.map { "{\"key\":\($0)}" } ?? "{}"
    case "Int", "Swift.Int": return sample.map { "{\"\(number % 100)\":\($0)}" } ?? "{}"
    default:
      guard let sample, let first = known(key, number) else { return "[]" }
      return "[\(first),\(sample)]"
    }
  }

  /// The parts of a text between separators that are not in brackets. There is at least one part.
  private static func split(_ text: Substring, at separator: Character) -> [Substring] {
    var parts: [Substring] = []
    var start = text.startIndex
    var depth = 0
    for place in text.indices {
      switch text[place] {
      case "[", "<": depth += 1
      case "]", ">": depth -= 1
      case separator where depth == 0:
        parts.append(text[start..<place])
        start = text.index(after: place)
      default: break
      }
    }
    return parts + [text[start...]]
  }
}
