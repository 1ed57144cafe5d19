/// The snapshot that a context reads from: one for the length of a `perform` block, or, on the main actor, of
/// a turn; none, so that each statement sees the newest state, where nobody marks the end.
final class ReadScope {
  /// Called when a snapshot begins, to arrange for its end; nil where none is to be held.
  var willBegin: (() -> Void)?
  /// Called when a snapshot has begun, before anything else is read from it.
  var didBegin: ((SQLiteConnection) throws -> Void)?
  /// How many `perform` blocks are running, one within the other.
  var depth = 0
  /// Whether the store has snapshots.
  var isEnabled = true
  private(set) var isOpen = false
  /// Whether something has been read in a block or turn for which the store has no snapshot. Each statement sees the
  /// newest state, but what others have saved is told at the end, as with a snapshot: those who read are followed then.
  private(set) var isInTurn = false

  @inline(__always) func willRead(_ connection: SQLiteConnection) throws {
    if !isOpen, depth > 0 || willBegin != nil { try beginTurn(connection) }
  }

  private func beginTurn(_ connection: SQLiteConnection) throws {
    if isEnabled { return try begin(connection) }
    if isInTurn { return }
    isInTurn = true
    willBegin?()
  }

  private func begin(_ connection: SQLiteConnection) throws {
    try connection.execute("BEGIN DEFERRED")
    isOpen = true
    willBegin?()
    try didBegin?(connection)
  }

  func end(_ connection: SQLiteConnection) {
    isInTurn = false
    guard isOpen else { return }
    isOpen = false
    // Nothing was written, so there is nothing to lose should it fail.
    try? connection.execute("COMMIT")
  }
}
