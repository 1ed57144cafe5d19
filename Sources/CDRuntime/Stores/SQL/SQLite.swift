import CDModel
import CSQLite

/// Helpers for SQLite's language and C interface.
enum SQLite {
  /// SQLITE_TRANSIENT, which Swift does not import because the C header defines it by a cast. SQLite then copies the
  /// bound bytes.
  static let copied = unsafeBitCast(-1 as Int, to: sqlite3_destructor_type.self)

  /// Returns a name in double quotes.
  static func quoted(_ name: String) -> String {
    "\"" + doubled(UInt8(ascii: "\""), in: name) + "\""
  }

  /// Returns a string literal.
  static func literal(_ text: String) -> String {
    "'" + doubled(UInt8(ascii: "'"), in: text) + "'"
  }

  /// The operand of IN for keys that are bound as one list.
  static let boundKeys = "(SELECT value FROM json_each(?))"

  /// Returns keys as the parameter of ``boundKeys``.
  static func list(_ keys: some Sequence<ObjectKey>) -> AttributeValue {
    .string("[" + keys.map(String.init).joined(separator: ",") + "]")
  }

  // Works on bytes, as SQLite does. For Swift, a quote followed by a combining accent is a different character.
  private static func doubled(_ quote: UInt8, in text: String) -> String {
    guard text.utf8.contains(quote) else { return text }
    return String(decoding: text.utf8.flatMap { $0 == quote ? [$0, $0] : [$0] }, as: UTF8.self)
  }
}
