/// A JSON value that loses nothing of its text but white space.
///
/// Foundation's coders are not used for models: loading them costs each start of an app more than reading a
/// model does, they reorder members, and the text of their numbers is not fixed from release to release, so
/// that no hash could stand on it.
///
/// Integers and other numbers are told apart by their text: a number with a fraction or an exponent is
/// ``double(_:)``, any other is ``int(_:)``.
public enum JSONValue: Hashable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without fraction and exponent.
  case int(Int64)
  /// A number with a fraction, an exponent or both.
  case double(Double)
  /// Text.
  case string(String)
  /// A list.
  case array([JSONValue])
  /// Members in the order of the text. The parser sees to it that no key comes twice.
  case object([Member])

  /// One key of an object and its value.
  public struct Member: Hashable, Sendable {
    /// The key.
    public var key: String
    /// What stands under the key.
    public var value: JSONValue

    /// A value under a key.
    public init(_ key: String, _ value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  /// The value of an object's member; nil where there is none, or where this is no object.
  public subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// The kind of the value in words, for messages.
  public var kindName: String {
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
