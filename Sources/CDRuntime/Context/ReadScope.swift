/// The snapshot that a context reads from: one for the length of a `perform` block, or, on the main actor, of
/// a turn; none, so that each statement sees the newest state, where nobody marks the end.
final class ReadScope {
  /// Called when a snapshot begins, to arrange for its end; nil where none is to be held.
  var willBegin: (() -> Void)?
  private var isOpen = false

  func willRead(_ connection: SQLiteConnection) throws {
    guard !isOpen, let willBegin else { return }
    try connection.execute("BEGIN DEFERRED")
    isOpen = true
    willBegin()
  }

  func end(_ connection: SQLiteConnection) {
    guard isOpen else { return }
    isOpen = false
    // Nothing was written, so there is nothing to lose should it fail.
    try? connection.execute("COMMIT")
  }
}
