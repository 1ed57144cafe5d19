/// The snapshot that a context reads from: one for the length of a `perform` block, or, on the main actor, of
/// a turn; none, so that each statement sees the newest state, where nobody marks the end.
final class ReadScope {
  /// Called when a snapshot begins, to arrange for its end; nil where none is to be held.
  var willBegin: (() -> Void)?
  /// Called when a snapshot has begun, before anything else is read from it.
  var didBegin: ((any StoreSession) throws -> Void)?
  /// How many `perform` blocks are running, one within the other.
  var depth = 0
  /// Whether the store has snapshots.
  var isEnabled = true
  private(set) var isOpen = false
  /// Whether something has been read in a block or turn for which the store has no snapshot. Each statement sees the
  /// newest state, but what others have saved is told at the end, as with a snapshot: those who read are followed then.
  private(set) var isInTurn = false

  @inline(__always) func willRead(_ session: any StoreSession) throws {
    if !isOpen, depth > 0 || willBegin != nil { try beginTurn(session) }
  }

  private func beginTurn(_ session: any StoreSession) throws {
    if isEnabled { return try begin(session) }
    if isInTurn { return }
    isInTurn = true
    willBegin?()
  }

  private func begin(_ session: any StoreSession) throws {
    try session.beginSnapshot()
    isOpen = true
    willBegin?()
    do { try didBegin?(session) } catch {
      // The next read begins again, and finds the same.
      end(session)
      throw error
    }
  }

  func end(_ session: any StoreSession) {
    isInTurn = false
    guard isOpen else { return }
    isOpen = false
    session.endSnapshot()
  }
}
