import CSQLite

/// Small matters of SQLite's language and C interface.
enum SQLite {
  /// SQLITE_TRANSIENT, which the C header defines by a cast that Swift does not import: SQLite copies what is
  /// bound.
  static let copied = unsafeBitCast(-1 as Int, to: sqlite3_destructor_type.self)

  /// A name in double quotes.
  static func quoted(_ name: String) -> String {
    "\"" + doubled("\"", in: name) + "\""
  }

  /// A string literal.
  static func literal(_ text: String) -> String {
    "'" + doubled("'", in: text) + "'"
  }

  private static func doubled(_ quote: Character, in text: String) -> String {
    guard text.contains(quote) else { return text }
    return String(text.flatMap { $0 == quote ? [$0, $0] : [$0] })
  }
}
