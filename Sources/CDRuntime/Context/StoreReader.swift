/// Reads a context's stores: the session, its snapshot, the prepared lookups, and the objects whose rows have been read.
final class StoreReader {
  private let engine: any StoreEngine
  private let isChild: Bool
  /// Whether ``ManagedObjectLifecycle/awakeFromFetch()`` is called for all fetched objects. Otherwise it is called only
  /// for those with transient attributes, to which it gives their values.
  private let callsLifecycle: Bool
  /// The stores that the session has open.
  private(set) var stores: StoreSet
  /// Nil before the first read.
  private var session: (any StoreSession)?
  /// Whether the session belongs to other code, which also decides about its transaction.
  private(set) var isBorrowing: Bool
  private let snapshot: ReadScope
  /// The number of running statements that read other rows in between. The app's methods are not called before it is
  /// 0.
  private var runningReads = 0
  /// Objects whose values have been read and whose ``ManagedObjectLifecycle/awakeFromFetch()`` is still to be called.
  private var fetched: [ManagedObject] = []
  /// Prepared lookups by a value, by the identity of their key paths, and the last one used.
  private var matches: [ObjectIdentifier: ValueMatch] = [:]
  private var lastMatch: ValueMatch?

  /// - Parameter session: The session of other code to read with; nil if the reader takes its own.
  init(
    _ engine: any StoreEngine, borrowing session: (any StoreSession)?, isChild: Bool,
    callsLifecycle: Bool = true
  ) {
    self.engine = engine
    self.isChild = isChild
    self.callsLifecycle = callsLifecycle
    self.session = session
    isBorrowing = session != nil
    stores = engine.stores
    snapshot = ReadScope(isEnabled: session == nil && ReadScope.hasSnapshots(stores, isChild: isChild))
  }

  // MARK: The session

  /// Whether the reader has a session.
  var hasSession: Bool { session != nil }

  /// Returns the session for a read, and begins a snapshot if one is due. Nil before the first read.
  ///
  /// - Throws: ``StoreError`` if reading would wait for the calling thread's own write, and the errors of the closure
  ///   that is called when a snapshot has begun.
  func currentSession() throws -> (any StoreSession)? {
    if !snapshot.isEnabled, !isBorrowing { try engine.checkIsReadable() }
    guard let session else { return nil }
    try snapshot.willRead(session)
    if !snapshot.isOpen { try session.checkVersions() }
    return session
  }

  /// The session of the snapshot that is held: nothing must be begun or checked before a read. Nil if no snapshot is held.
  @inline(__always) var heldSession: (any StoreSession)? { snapshot.isOpen ? session : nil }

  /// Takes a session for the first read.
  ///
  /// - Parameter leave: Called with the stores of the session if some were removed since the reader was created.
  func takeSession(_ leave: (StoreSet) -> Void) throws -> any StoreSession {
    let session = try engine.takeSession()
    if session.stores.removals != stores.removals { leave(session.stores) }
    self.session = session
    try snapshot.willRead(session)
    return session
  }

  /// Gives the session back, unless it belongs to other code.
  private func giveBackSession() {
    // Queries of the session are released before the session.
    lastMatch = nil
    matches.removeAll()
    if let session, !isBorrowing { engine.returnSession(session) }
    session = nil
  }

  // MARK: Stores

  /// Whether empty stores take the places of all stores except the first one, which a migration reads.
  var hasStandIns = false

  /// Whether one of the stores holds an entity's objects.
  func hasStore(of plan: EntityPlan) -> Bool {
    stores.store(of: plan) != nil && (!hasStandIns || plan.storeIndex == 0)
  }

  /// Whether stores were removed that the reader still has.
  @inline(__always) var hasRemovedStores: Bool { engine.removalCount != stores.removals }

  /// Whether the reader can drop removed stores. It cannot while a snapshot is held or rows are being read, which ends
  /// soon.
  @inline(__always) var canLeaveStores: Bool { !snapshot.isOpen && runningReads == 0 }

  /// Continues with the remaining stores, in a new session.
  ///
  /// - Returns: The former stores.
  func leave(for remaining: StoreSet) -> StoreSet {
    giveBackSession()
    isBorrowing = false
    defer {
      stores = remaining
      snapshot.change(to: remaining, isChild: isChild)
    }
    return stores
  }

  /// Takes over the stores that a released context had. Those that were removed since are then noticed.
  func takeOver(_ stores: StoreSet) { self.stores = stores }

  /// Gives the session back, when the context is released.
  func close() {
    giveBackSession()
    fetched.removeAll()
  }

  // MARK: Snapshots

  /// Whether a snapshot is held.
  var isSnapshotOpen: Bool { snapshot.isOpen }

  /// Whether a snapshot is held, or would be if the stores had snapshots.
  var isReading: Bool { snapshot.isOpen || snapshot.isInTurn }

  /// Sets the closure that runs when a snapshot has begun. The closure runs before any other read from the snapshot.
  func whenSnapshotBegins(_ didBegin: @escaping (any StoreSession) throws -> Void) {
    snapshot.whenBegun(didBegin)
  }

  /// Makes each snapshot last until ``endSnapshot()``.
  ///
  /// - Parameter willBegin: Called when a snapshot begins, to schedule its end.
  func holdSnapshots(_ willBegin: @escaping () -> Void) { snapshot.holdSnapshots(willBegin) }

  /// Begins a block that reads one snapshot.
  func beginBlock() { snapshot.beginBlock() }

  /// Ends a block.
  ///
  /// - Returns: Whether it was the outermost one, and whether its snapshot ends with it.
  func endBlock() -> (isOutermost: Bool, endsSnapshot: Bool) {
    let isOutermost = snapshot.endBlock()
    return (isOutermost, isOutermost && !snapshot.isHeld)
  }

  func endSnapshot() {
    if let session { snapshot.end(session) }
  }

  // MARK: Rows

  /// Whether rows are being read that other reads may come between.
  var isReadingRows: Bool { runningReads > 0 }

  /// Begins to read rows that other reads may come between. All of them see one state.
  func beginRows() { runningReads += 1 }

  func endRows() { runningReads -= 1 }

  /// Records an object whose values have been read, if its class has lifecycle methods.
  @inline(__always) func noteFetched(_ object: ManagedObject) {
    let plan = object.scope.plan
    if plan.hasLifecycle, callsLifecycle || !plan.transientSlots.isEmpty { fetched.append(object) }
  }

  /// Whether there are objects whose ``ManagedObjectLifecycle/awakeFromFetch()`` is still to be called.
  @inline(__always) var hasFetched: Bool { !fetched.isEmpty }

  /// Removes and returns the objects whose ``ManagedObjectLifecycle/awakeFromFetch()`` can be called now: nil while
  /// rows are being read, and if there are none.
  func takeFetched() -> [ManagedObject]? {
    if isReadingRows || fetched.isEmpty { return nil }
    let objects = fetched
    fetched.removeAll()
    return objects
  }

  // MARK: Lookups by a value

  /// The prepared lookup of a key path; nil if there is none.
  ///
  /// A literal key path is the same object as long as the program runs. A key path that is created anew only misses the
  /// lookup.
  func match(_ path: AnyKeyPath) -> ValueMatch? {
    if let lastMatch, lastMatch.path === path { return lastMatch }
    guard let found = matches[ObjectIdentifier(path)] else { return nil }
    lastMatch = found
    return found
  }

  /// Keeps a lookup for the next call.
  func keep(_ match: ValueMatch) {
    if matches.count >= 200 { matches.removeAll() }
    matches[ObjectIdentifier(match.path)] = match
    lastMatch = match
  }
}
