import CDModel
import CSQLite

/// Small matters of SQLite's language and C interface.
enum SQLite {
  /// SQLITE_TRANSIENT, which the C header defines by a cast that Swift does not import: SQLite copies what is
  /// bound.
  static let copied = unsafeBitCast(-1 as Int, to: sqlite3_destructor_type.self)

  /// A name in double quotes.
  static func quoted(_ name: String) -> String {
    "\"" + doubled(UInt8(ascii: "\""), in: name) + "\""
  }

  /// A string literal.
  static func literal(_ text: String) -> String {
    "'" + doubled(UInt8(ascii: "'"), in: text) + "'"
  }

  /// What stands behind IN for keys that are bound as one list.
  static let boundKeys = "(SELECT value FROM json_each(?))"

  /// Keys as the parameter of ``boundKeys``.
  static func list(_ keys: some Sequence<ObjectKey>) -> AttributeValue {
    .string("[" + keys.map(String.init).joined(separator: ",") + "]")
  }

  // By bytes, as SQLite reads it: to Swift a quote with an accent behind it is another character.
  private static func doubled(_ quote: UInt8, in text: String) -> String {
    guard text.utf8.contains(quote) else { return text }
    return String(decoding: text.utf8.flatMap { $0 == quote ? [$0, $0] : [$0] }, as: UTF8.self)
  }
}
