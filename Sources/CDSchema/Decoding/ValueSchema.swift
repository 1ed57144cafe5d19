import CDModel

/// The JSON Schema of a value. The order of members is kept.
indirect enum ValueSchema: Sendable {
  case string(String)
  case int(Int)
  case bool(Bool)
  case array([ValueSchema])
  case object([(String, ValueSchema)])

  /// The cases of a type whose raw values are words of the language.
  static func words<Word: CaseIterable & RawRepresentable>(of type: Word.Type) -> ValueSchema
  where Word.RawValue == String {
    .array(Word.allCases.map { .string($0.rawValue) })
  }

  /// A definition of the document.
  static func reference(_ name: String) -> ValueSchema { ["$ref": .string("#/$defs/" + name)] }
}

extension ValueSchema {
  private static let width = 100

  /// The JSON text. An object or an array is on one line if it fits there.
  func text(indentation: Int = 0) -> String {
    let line = line
    if indentation + line.count <= Self.width { return line }
    let blanks = String(repeating: " ", count: indentation)
    func lines(_ elements: [String]) -> String {
      elements.map { "\n" + blanks + "  " + $0 }.joined(separator: ",") + "\n" + blanks
    }
    switch self {
    case .array(let elements):
      return "[" + lines(elements.map { $0.text(indentation: indentation + 2) }) + "]"
    case .object(let members):
      return "{" + lines(members.map { "\(Self.quoted($0)): \($1.text(indentation: indentation + 2))" }) + "}"
    default: return line
    }
  }

  private var line: String {
    switch self {
    case .string(let text): Self.quoted(text)
    case .int(let number): "\(number)"
    case .bool(let flag): "\(flag)"
    case .array(let elements): "[" + elements.map(\.line).joined(separator: ", ") + "]"
    case .object(let members):
      "{" + members.map { "\(Self.quoted($0)): \($1.line)" }.joined(separator: ", ") + "}"
    }
  }

  private static func quoted(_ text: String) -> String { JSONValue.string(text).canonicalText }
}

extension ValueSchema: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .int(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(arrayLiteral elements: ValueSchema...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, ValueSchema)...) { self = .object(elements) }
}
