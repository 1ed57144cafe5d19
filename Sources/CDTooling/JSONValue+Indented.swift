package import CDModel

extension JSONValue {
  /// The value as text for people: one member or element per line, indented by two spaces per level, without a line
  /// break at the end. Scalars are written as in ``canonicalText``.
  package var indentedText: String { indented(by: "") }

  private func indented(by blanks: String) -> String {
    let inner = blanks + "  "
    switch self {
    case .array(let elements) where !elements.isEmpty:
      let lines = elements.map { inner + $0.indented(by: inner) }
      return "[\n" + lines.joined(separator: ",\n") + "\n\(blanks)]"
    case .object(let members) where !members.isEmpty:
      let lines = members.map {
        "\(inner)\(JSONValue.string($0.key).canonicalText): \($0.value.indented(by: inner))"
      }
      return "{\n" + lines.joined(separator: ",\n") + "\n\(blanks)}"
    default: return canonicalText
    }
  }
}
