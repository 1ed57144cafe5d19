import CDModel
import CSQLite

/// Helpers for SQLite's language and C interface.
enum SQLite {
  /// SQLITE_TRANSIENT, which Swift does not import because the C header defines it by a cast. SQLite then copies the
  /// bound bytes.
  static let copied = unsafeBitCast(-1 as Int, to: sqlite3_destructor_type.self)

  /// The operand of IN for keys that are bound as one list.
  static let boundKeys = "(SELECT value FROM json_each(?))"

  /// Returns keys as the parameter of ``boundKeys``.
  static func list(_ keys: some Sequence<ObjectKey>) -> AttributeValue {
    .string("[" + keys.map(String.init).joined(separator: ",") + "]")
  }
}
