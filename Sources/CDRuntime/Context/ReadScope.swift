/// Manages the snapshot that a context reads from. A snapshot lasts for a `perform` block or, on the main actor, for
/// a turn. Elsewhere there is no snapshot, and each statement sees the newest state.
final class ReadScope {
  /// Called when a snapshot begins, to schedule its end; nil if snapshots last only for `perform` blocks.
  var willBegin: (() -> Void)?
  /// Called when a snapshot has begun, before anything else is read from it.
  var didBegin: ((any StoreSession) throws -> Void)?
  /// The number of nested `perform` blocks that are running.
  var depth = 0
  /// Whether the store has snapshots.
  var isEnabled = true
  private(set) var isOpen = false
  /// Whether something has been read in a block or turn although the store has no snapshots. Each statement sees the
  /// newest state, but observers are notified of other contexts' saves at the end, as with a snapshot.
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
      // The next read tries again and meets the same error.
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
