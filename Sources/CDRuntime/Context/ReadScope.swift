/// Manages the snapshot that a context reads from. A snapshot lasts for a `perform` block or, on the main actor, for
/// a turn. Elsewhere there is no snapshot, and each statement sees the newest state.
final class ReadScope {
  /// Called when a snapshot begins, to schedule its end; nil if snapshots last only for `perform` blocks.
  private var willBegin: (() -> Void)?
  /// Called when a snapshot has begun, before anything else is read from it.
  private var didBegin: ((any StoreSession) throws -> Void)?
  /// The number of nested `perform` blocks that are running.
  private var depth = 0
  /// Whether the stores have snapshots.
  private(set) var isEnabled: Bool
  private(set) var isOpen = false
  /// Whether something has been read in a block or turn although the store has no snapshots. Each statement sees the
  /// newest state, but observers are notified of other contexts' saves at the end, as with a snapshot.
  private(set) var isInTurn = false

  init(isEnabled: Bool) { self.isEnabled = isEnabled }

  /// Sets the closure that runs when a snapshot has begun. If the closure throws, the snapshot ends.
  func whenBegun(_ didBegin: @escaping (any StoreSession) throws -> Void) { self.didBegin = didBegin }

  /// Makes each snapshot last until ``end(_:)``.
  ///
  /// - Parameter willBegin: Called when a snapshot begins, to schedule its end.
  func holdSnapshots(_ willBegin: @escaping () -> Void) { self.willBegin = willBegin }

  /// Continues with other stores.
  func change(to stores: StoreSet, isChild: Bool) { isEnabled = Self.hasSnapshots(stores, isChild: isChild) }

  /// Whether a context reads snapshots of stores. A store in memory has none: a reader that keeps its transaction open
  /// would block the writer. A child reads through its parent.
  static func hasSnapshots(_ stores: StoreSet, isChild: Bool) -> Bool { !stores.isInMemory && !isChild }

  /// Begins a `perform` block.
  func beginBlock() { depth += 1 }

  /// Ends a `perform` block.
  ///
  /// - Returns: Whether no other block is running.
  func endBlock() -> Bool {
    depth -= 1
    return depth == 0
  }

  /// Whether snapshots last longer than blocks.
  var isHeld: Bool { willBegin != nil }

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
