import CDModel

/// JSON over many lines, for files that people review: a value that fits into a line stands on it, and any other has a
/// line for each of its members or elements.
enum ReadableJSON {
  private static let width = 110

  /// The readable form of a text.
  static func text(of json: String) throws -> String {
    lines(of: try JSONValue(parsing: json), prefix: "", indentation: "", suffix: "") + "\n"
  }

  /// A readable text without the spaces and line breaks between its tokens: JSON on one line.
  static func compact(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    var isInString = false
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if scalar == "\\" {
          isEscaped = true
        } else if scalar == "\"" {
          isInString = false
        }
      } else if scalar == "\"" {
        isInString = true
      } else if scalar == " " || scalar == "\n" {
        continue
      }
      result.append(scalar)
    }
    return String(result)
  }

  private static func lines(
    of value: JSONValue, prefix: String, indentation: String, suffix: String
  ) -> String {
    let line = indentation + prefix + oneLine(value) + suffix
    if line.count <= width { return line }
    let inner = indentation + "  "
    func list(_ open: String, _ close: String, _ elements: [(prefix: String, value: JSONValue)]) -> String {
      let texts = elements.enumerated().map { index, element in
        lines(
          of: element.value, prefix: element.prefix, indentation: inner,
          suffix: index + 1 < elements.count ? "," : "")
      }
      return ([indentation + prefix + open] + texts + [indentation + close + suffix]).joined(separator: "\n")
    }
    return switch value {
    case .array(let elements) where !elements.isEmpty: list("[", "]", elements.map { ("", $0) })
    case .object(let members) where !members.isEmpty:
      list("{", "}", members.map { (key($0), $0.value) })
    default: line
    }
  }

  private static func oneLine(_ value: JSONValue) -> String {
    switch value {
    case .array(let elements): "[\(elements.map(oneLine).joined(separator: ", "))]"
    case .object(let members): "{\(members.map { key($0) + oneLine($0.value) }.joined(separator: ", "))}"
    default: value.canonicalText
    }
  }

  private static func key(_ member: JSONValue.Member) -> String {
    "\(JSONValue.string(member.key).canonicalText): "
  }
}
