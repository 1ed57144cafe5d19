import CSQLite

/// The size of a connection's page cache, which follows the lookups of single rows.
///
/// A scan needs each page once, and SQLite's usual two megabytes suffice. Lookups return to the inner pages of an index
/// and to pages that others of them have read. If they often miss the cache, it grows, until they find most pages or it has
/// its greatest size. A connection that nobody uses has the usual size again.
struct PageCache {
  /// The sizes are in KiB.
  private static let usual: Int32 = 2_000
  private static let greatest: Int32 = 16_000
  /// How many lookups are counted before the cache is looked at.
  private static let interval = 512

  private var size = usual
  private var lookupsLeft = interval

  /// Counts a lookup.
  ///
  /// - Returns: Whether ``adapt(on:)`` is due.
  @inline(__always) mutating func countLookup() -> Bool {
    lookupsLeft &-= 1
    return lookupsLeft == 0
  }

  /// Doubles the cache if at least every second lookup since the last call had to read a page.
  @inline(never) mutating func adapt(on connection: SQLiteConnection) {
    lookupsLeft = Self.interval
    guard size < Self.greatest else { return }
    var misses: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(connection.handle, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, 1)
    guard misses >= Self.interval / 2 else { return }
    size = min(size * 2, Self.greatest)
    set(on: connection)
  }

  /// Gives the memory back that the cache has beyond its usual size.
  mutating func shrink(on connection: SQLiteConnection) {
    guard size > Self.usual else { return }
    size = Self.usual
    set(on: connection)
  }

  /// A cache that keeps its size is only slower.
  @_optimize(none)
  private func set(on connection: SQLiteConnection) {
    for schema in (try? connection.rows("PRAGMA database_list")) ?? [] {
      guard let name = schema[1], name != "temp" else { continue }
      try? connection.execute("PRAGMA \(SQLText.quoted(name)).cache_size = -\(size)")
    }
  }
}
