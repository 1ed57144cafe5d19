/// A JSON value that keeps everything in its text except white space.
///
/// Models do not use Foundation's coders. Loading them makes each start of an app slower than reading a model does.
/// They also reorder members, and their text of numbers may change between releases, so a hash cannot depend on it.
///
/// The text decides between integers and other numbers: a number with a fraction or an exponent is ``double(_:)``, any
/// other is ``int(_:)``.
package enum JSONValue: Hashable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without a fraction and without an exponent.
  case int(Int64)
  /// A number with a fraction, an exponent or both.
  case double(Double)
  /// Text.
  case string(String)
  /// A list.
  case array([JSONValue])
  /// The members in the order of the text. The parser guarantees that no key occurs twice.
  case object([Member])

  /// One key of an object and its value.
  package struct Member: Hashable, Sendable {
    /// The key.
    package var key: String
    /// The value of the key.
    package var value: JSONValue

    /// Creates a member.
    package init(_ key: String, _ value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  /// The value of an object's member. Nil if there is no such member, or if this is not an object.
  package subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// The sort of value in words, for messages.
  package var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .int: "an integer"
    case .double: "a number"
    case .string: "a string"
    case .array: "a list"
    case .object: "an object"
    }
  }
}
