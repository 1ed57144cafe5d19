/// Writes XML as Xcode does: four spaces per level, an empty element as a single tag, and no line feed at the end.
enum MarkupText {
  private static let declaration = #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#

  /// The text of a document.
  static func document(_ root: MarkupElement) -> String { declaration + "\n" + text(of: root, depth: 0) }

  /// The text of one element, on several lines.
  static func element(_ element: MarkupElement) -> String { text(of: element, depth: 0) }

  /// The text of one element, on one line.
  static func line(_ element: MarkupElement) -> String { text(of: element, depth: nil) }

  private static func text(of element: MarkupElement, depth: Int?) -> String {
    let indentation = depth.map { String(repeating: "    ", count: $0) } ?? ""
    var result = indentation + "<" + element.name
    for attribute in element.attributes {
      result += " \(attribute.name)=\"\(escaped(attribute.value))\""
    }
    let contents = element.text.allSatisfy(\.isWhitespace) ? "" : element.text
    if element.children.isEmpty, contents.isEmpty { return result + "/>" }
    result += ">" + escaped(contents)
    for child in element.children {
      result += (depth == nil ? "" : "\n") + text(of: child, depth: depth.map { $0 + 1 })
    }
    if !element.children.isEmpty, depth != nil { result += "\n" + indentation }
    return result + "</\(element.name)>"
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n", "\r", "\t": result += "&#\(scalar.value);"
      // XML cannot contain these characters in any form.
      case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF:
        result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
