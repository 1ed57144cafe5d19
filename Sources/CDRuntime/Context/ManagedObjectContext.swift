#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The objects that one isolation works with, and their unsaved changes.
///
/// A context belongs to the main actor (``PersistentContainer/viewContext``), to a background task, or to the
/// isolation that created it. You cannot send a context or its objects to another isolation.
///
/// A context keeps objects with changes alive. Objects without changes live as long as other code holds them.
///
/// ```swift
/// let book = Book(title: "Walden", isbn: "0-8070-1425-1", in: context)
/// book.publisher = try Publisher.object(name: "Ticknor and Fields", in: context)
/// do {
///   try context.save()
/// } catch {
///   context.rollback()
///   throw error
/// }
/// ```
///
/// ## Topics
///
/// ### Changes
/// - ``insert(entityNamed:)``
/// - ``insert(entityNamed:values:)``
/// - ``delete(_:)``
/// - ``hasChanges``
/// - ``insertedObjects``
/// - ``updatedObjects``
/// - ``deletedObjects``
///
/// ### Saving
/// - ``save()``
/// - ``validationErrors(of:)``
/// - ``rollback()``
/// - ``transactionAuthor``
///
/// ### Undo and redo
/// - ``undoManager``
/// - ``undo()``
/// - ``redo()``
///
/// ### Conflicts
/// - ``mergePolicy``
/// - ``MergePolicy``
/// - ``survivor(of:)``
///
/// ### Child contexts
/// - ``init(parent:)``
/// - ``parent``
///
/// ### Batches
/// - ``execute(_:)-(BatchInsertRequest<Object>)``
/// - ``execute(_:)-(BatchUpdateRequest<Object>)``
/// - ``execute(_:)-(BatchDeleteRequest<Object>)``
///
/// ### Observing changes
/// - ``changes``
/// - ``mergeChanges(from:)``
///
/// ### Fetching
/// - ``fetch(_:)``
/// - ``lazyFetch(_:)``
/// - ``objectIDs(for:)``
/// - ``dictionaries(for:)``
/// - ``count(for:)``
/// - ``aggregates(for:)``
///
/// ### By entity name
/// - ``objects(forEntityNamed:matching:using:)``
/// - ``object(forEntityNamed:matching:using:)``
/// - ``objects(forEntityNamed:format:_:)``
/// - ``object(forEntityNamed:format:_:)``
/// - ``objects(forEntityNamed:template:variables:)``
/// - ``fetchRequest(forEntityNamed:template:variables:)``
///
/// ### By identifier
/// - ``object(with:)``
/// - ``existingObject(with:)``
/// - ``registeredObject(for:)``
/// - ``localInstance(of:)``
///
/// ### Reading again
/// - ``perform(_:)``
/// - ``refresh(_:mergeChanges:)``
/// - ``refreshAllObjects()``
/// - ``reset()``
/// - ``registeredObjects``
///
/// ### Errors of getters
/// - ``errors``
/// - ``recentErrors``
public final class ManagedObjectContext {
  /// The coordinator whose stores the context reads and writes.
  public let persistentStoreCoordinator: PersistentStoreCoordinator

  /// A name that the history records with each save of the context.
  public var transactionAuthor: String?

  /// The context whose objects this context reads and changes; nil if it works on the store.
  public let parent: ManagedObjectContext?
  /// The child contexts of this context.
  var children: [ChildReference] = []
  /// The number of deletions in this context, including deletions that the parent has reported.
  var deletionCount = 0
  /// The parent's `deletionCount` when this context last compared it.
  var seenDeletions = 0

  /// The policy that a save applies when another context or process has changed the same rows. ``MergePolicy/error``
  /// by default.
  public var mergePolicy = MergePolicy.error

  var currentUndoManager: ContextUndoManager?
  /// Schedules the end of an undo manager's event; nil if only `perform` and `save` end events.
  var scheduleEndOfEvent: (() -> Void)?
  /// Whether a save is running. The save's own changes do not start an undo group.
  var isSaving = false
  /// Whether a save is running that has not written its changes yet.
  var isWriting = false
  /// The number of saves that are running: ``ManagedObjectLifecycle/didSave()`` can start a save within a save.
  var saveDepth = 0
  /// The app's method that is running and in which the context cannot be saved; nil if there is none.
  var runningHook: Hook?
  /// Increases with each rollback and reset. Code that calls an app's method compares it to detect that the method
  /// has reverted the context.
  var revertCount = 0
  /// Increases when objects change, though not with each change: the changes of a new object count only while it is
  /// `tracked`.
  var changeCount = 0
  let model: ModelPlan
  let engine: any StoreEngine
  /// The stores that the context's session has open.
  var stores: StoreSet
  /// The scopes of all entities, by entity index.
  var scopes: [ObjectScope] = []
  /// The identity maps, by the index of the root entity; nil for other entities.
  var maps: [IdentityMap?]
  /// Objects with changes, in the order of their first changes.
  var pending: [ManagedObject] = []
  /// Errors of failed insertions. The next save throws the first one and forgets them all.
  var insertionErrors: [any Error] = []
  /// Properties that were set on objects that no save writes; the next save throws them.
  var lostChanges = LostChanges()
  /// Relationship states whose caches the next sweep drops.
  var cachingStates: [ToManyState] = []
  /// Captures single values of objects.
  let captureWriter = RowWriter()
  let rowReport: RowReport
  /// The keys for new objects, by the index of the root entity.
  var reservedKeys: [ReservedKeys]
  /// The session that the context reads with; nil before the first read.
  var session: (any StoreSession)?
  /// Whether the session belongs to the code that created the context.
  private var isGuest = false
  private var observers = ErrorObservers()
  /// The released context that this one replaces; nil for a context that the app has created.
  private var releasedContext: ReleasedContext?
  /// The observers of the context's changes; nil as long as there are none.
  var changeObservers: ChangeObservers?
  /// The root entities of objects with changes whose rows another context has changed too. Relationships to these
  /// entities are read again once the changes have been saved or taken back.
  var contestedRoots: Set<Int> = []
  /// Objects with changes whose rows another context has changed too, by the partner that each still refers to in a
  /// one-to-one relationship. The rows in the store may no longer have these references.
  var contestedReferrers: [OneToOnePartner: [ObjectKey]] = [:]
  /// Notifications for observers of objects, delivered when the snapshot ends.
  var notices: [Notice] = []
  /// Notifications for other observers, delivered at the same time.
  var laterChanges: [() -> Void] = []
  /// Observed objects with relationships whose objects can be deleted without a notification to the observed object.
  /// When their number reaches `looseLimit`, entries of released objects are removed.
  var unnotifiedObservers: [FollowedObject] = []
  var unnotifiedObserversLimit = 256
  let reading = ReadScope()
  /// Whether ``ManagedObjectLifecycle/awakeFromFetch()`` is running. Values that it sets are not changes.
  var isAwakening = false
  /// Whether derived attributes are being computed.
  var isDeriving = false
  /// The number of running statements that read other rows in between. The app's methods are not called before it is
  /// 0.
  var runningReads = 0
  /// Objects whose values have been read and whose ``ManagedObjectLifecycle/awakeFromFetch()`` is still to be called.
  var fetched: [ManagedObject] = []
  /// The newest save in each store's history that the objects in memory reflect, by store index.
  var seenSaves: [Int: Int64] = [:]
  /// The identifier of a save that has reached only some of several stores. The next save writes the rest.
  var unfinishedSave: UUID?
  /// The context's own saves after `seenSaves`, by store index.
  var ownSaves: [Int: Set<Int64>] = [:]
  /// The state that seeds of new objects share, reused for one object after another.
  let seedState: ObjectSeed.State
  /// Prepared lookups by a value, by the identity of their key paths, and the last one used.
  var valueMatches: [ObjectIdentifier: ValueMatch] = [:]
  var lastMatch: ValueMatch?
  /// The scope of the last object that was looked up by its identifier.
  var lookupScope: ObjectScope?
  /// The scope of the last new object. The next one mostly has the same entity.
  var insertionScope: ObjectScope?
  /// The store that a migration is writing; nil if the context does not work on one.
  let importTarget: (any ImportTarget)?
  // Declared last: getters of objects read the properties above, which should share cache lines.
  let classes: ClassBindings

  init(
    _ coordinator: PersistentStoreCoordinator, importTarget: (any ImportTarget)? = nil,
    parent: ManagedObjectContext? = nil
  ) {
    self.importTarget = importTarget
    self.parent = parent
    seenDeletions = parent?.deletionCount ?? 0
    session = importTarget?.session
    persistentStoreCoordinator = coordinator
    model = coordinator.plan
    classes = coordinator.classes
    engine = coordinator.engine
    stores = coordinator.engine.stores
    maps = coordinator.plan.entities.map { $0.index == $0.root ? IdentityMap() : nil }
    reservedKeys = Array(repeating: ReservedKeys(), count: coordinator.plan.entities.count)
    rowReport = RowReport(files: coordinator.engine.files)
    seedState = ObjectSeed.State(ownScope: .detached)
    scopes = model.entities.map { ObjectScope(plan: $0, context: self) }
    // A store in memory has no snapshots: a reader that keeps its transaction open would block the writer.
    reading.isEnabled = !stores.isInMemory && importTarget == nil && parent == nil
    reading.didBegin = { [unowned self] session in
      try session.checkVersions()
      try catchUp(session)
    }
  }

  /// Creates a context that reads with the caller's session, in the transaction that is open there.
  convenience init(_ coordinator: PersistentStoreCoordinator, readingBy session: any StoreSession) {
    self.init(coordinator)
    self.session = session
    isGuest = true
    reading.isEnabled = false
  }

  /// Creates a context for objects whose own context has been released. It takes over these objects and their
  /// changes.
  convenience init(restoring releasedContext: ReleasedContext) {
    self.init(releasedContext.coordinator, parent: releasedContext.parent)
    self.releasedContext = releasedContext
    for (index, scope) in releasedContext.liveScopes.enumerated() {
      guard let scope else { continue }
      scope.live = self
      scope.releasedContext = nil
      scopes[index] = scope
    }
    for (index, table) in releasedContext.tables.enumerated() { maps[index]?.orphans = table }
    pending = releasedContext.livePending
    releasedContext.state?.restore(self)
    for object in pending { noteContestedReferences(of: object) }
    if let parent { join(parent) }
  }

  /// The state that a replacement context takes over from the released one, besides the objects.
  struct State {
    private let stores: StoreSet
    private let author: String?
    private let mergePolicy: MergePolicy
    private let observers: ErrorObservers
    private let seenSaves: [Int: Int64]
    private let ownSaves: [Int: Set<Int64>]
    private let unfinishedSave: UUID?
    private let seenDeletions: Int

    fileprivate init(_ context: ManagedObjectContext) {
      stores = context.stores
      author = context.transactionAuthor
      mergePolicy = context.mergePolicy
      observers = context.observers
      seenSaves = context.seenSaves
      ownSaves = context.ownSaves
      unfinishedSave = context.unfinishedSave
      seenDeletions = context.seenDeletions
    }

    fileprivate func restore(_ context: ManagedObjectContext) {
      context.stores = stores
      context.transactionAuthor = author
      context.mergePolicy = mergePolicy
      context.observers = observers
      context.seenSaves = seenSaves
      context.ownSaves = ownSaves
      context.unfinishedSave = unfinishedSave
      context.seenDeletions = seenDeletions
    }
  }

  /// Keeps the data that live objects still need.
  private func leaveReleasedContext() {
    let releasedContext =
      releasedContext ?? ReleasedContext(coordinator: persistentStoreCoordinator, parent: parent)
    currentUndoManager?.removeAllActions()
    let changed = pending.map(WeakObject.init)
    pending.removeAll()
    lostChanges.removeAll()
    fetched.removeAll()
    notices.removeAll()
    laterChanges.removeAll()
    unnotifiedObservers.removeAll()
    guard releasedContext.adopt(scopes, maps, pending: changed) else { return }
    releasedContext.state = State(self)
    for scope in scopes { scope.releasedContext = releasedContext }
  }

  deinit {
    for scope in scopes { scope.live = nil }
    // Queries of the session are released before the session.
    lastMatch = nil
    valueMatches.removeAll()
    for (root, keys) in reservedKeys.enumerated() { engine.returnKeys(keys.rest, of: root) }
    if importTarget == nil, !isGuest, let session { engine.returnSession(session) }
    // Caches refer to other objects. They are released first, so that no reference cycle outlives the context.
    for state in cachingStates { state.cache = nil }
    if importTarget == nil, !isGuest { leaveReleasedContext() }
  }

  // MARK: Errors that could not be thrown

  /// The errors of code that cannot throw, such as getters. Each access returns a new stream, which buffers the
  /// newest 100 errors that have not been read yet.
  public var errors: AsyncStream<ObservedError> { observers.stream() }

  /// The newest 100 observed errors, oldest first.
  public var recentErrors: [ObservedError] { observers.recent }

  func observe(_ error: ObservedError) { observers.observe(error) }

  /// Makes ``recentErrors`` keep all errors from now on.
  func keepAllErrors() { observers.keepsAll = true }

  // MARK: Reading

  /// Returns the session that the context reads with, and opens it at the first read.
  func reader() throws -> any StoreSession {
    noticeRemovals()
    if let parent { return try parent.reader() }
    if !reading.isEnabled, importTarget == nil, !isGuest { try engine.checkIsReadable() }
    if let session {
      try reading.willRead(session)
      if !reading.isOpen { try session.checkVersions() }
      return session
    }
    let session = try engine.takeSession()
    if session.stores.removals != stores.removals { leave(for: session.stores) }
    self.session = session
    try reading.willRead(session)
    // Records the newest saves: from here on the context can tell which ones it has not seen.
    if !reading.isOpen { try catchUp(session) }
    return session
  }

  /// Notifies observers and ends the snapshot. The next read sees the saves of other contexts.
  func endReading() {
    if let parent { return parent.endReading() }
    notifyObservers()
    endSnapshot()
  }

  /// Ends the snapshot without notifying observers.
  func endSnapshot() {
    if let parent { return parent.endSnapshot() }
    if let session { reading.end(session) }
  }

  // MARK: New objects

  /// Inserts a new object of an entity.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:)`` or ``FetchError/abstractEntity(_:)``;
  ///   ``StoreError/noStore(entity:)`` if none of the coordinator's stores holds the entity.
  @discardableResult
  public func insert(entityNamed name: String) throws -> ManagedObject {
    guard let plan = model.entity(name) else { throw unknownEntity(name) }
    guard !plan.description.isAbstract else { throw FetchError.abstractEntity(name) }
    noticeRemovals()
    guard stores.store(of: plan) != nil else { throw StoreError.noStore(entity: name) }
    let seed = ObjectSeed(inserting: name, in: self)
    // The error has been observed already. It is thrown here, so the save must not throw it again.
    if seed.state.key == 0, let error = insertionErrors.popLast() { throw error }
    return makeObject(seed)
  }

  func makeObject(_ seed: ObjectSeed) -> ManagedObject {
    classes.factory(of: seed.state.scope.plan)?(seed) ?? ManagedObject(_seed: seed)
  }

  func scopeForInsertion(of name: String) -> ObjectScope? {
    if let scope = insertionScope, scope.plan.name == name { return scope }
    if let plan = model.entity(name), !plan.description.isAbstract {
      insertionScope = scopes[plan.index]
      return scopes[plan.index]
    }
    refuseInsertion(of: name)
    return nil
  }

  /// Records that an object could not be inserted. The next save throws the error.
  func refuseInsertion(of entity: String) {
    let error = ObservedError(reason: .uninsertableEntity, entity: entity, property: nil, objectID: nil)
    insertionErrors.append(error)
    observe(error)
  }

  /// Returns a key for a new object; 0 if none can be reserved. The next save throws the reason.
  func nextKey(for plan: EntityPlan) -> ObjectKey {
    if let importTarget {
      let key = importTarget.nextKey(for: plan)
      if key == 0 { insertionErrors.append(StoreError.noStore(entity: plan.name)) }
      return key
    }
    if let key = reservedKeys[plan.root].takeFirst() { return key }
    do {
      let range = try engine.reserveKeys(
        of: model.entities[plan.root], count: reservedKeys[plan.root].nextCount)
      return reservedKeys[plan.root].replace(with: range)
    } catch {
      insertionErrors.append(error)
      observe(ObservedError(reason: .noKey("\(error)"), entity: plan.name, property: nil, objectID: nil))
      return 0
    }
  }

  func register(inserted object: ManagedObject) {
    guard object.key != 0 else {
      object.flags.become(.inaccessible)
      return
    }
    importTarget?.prepare(object)
    addToMap(object)
    object.flags.insert(.listed)
    pending.append(object)
    if currentUndoManager != nil { noteUndoOfInsertion(object) }
  }

  // MARK: The map

  func registered(_ key: ObjectKey, root: Int) -> ManagedObject? { maps[root]?[key] }

  func addToMap(_ object: ManagedObject) {
    guard let map = maps[object.scope.plan.root] else { return }
    sweepIfDue(map)
    map.insert(object)
  }

  /// The scope of an identifier's entity; nil if the identifier belongs to another store or the model does not have
  /// the entity.
  func scope(of id: ManagedObjectID) -> ObjectScope? {
    if let lookupScope, lookupScope.plan.name == id.entityName, lookupScope.storeID == id.storeID {
      return lookupScope
    }
    guard let plan = model.entity(id.entityName), scopes[plan.index].storeID == id.storeID,
      stores.store(of: plan) != nil
    else { return nil }
    lookupScope = scopes[plan.index]
    return lookupScope
  }

  /// Adds an object to the pending objects. Ignores an object that a reset has removed from the context in the middle
  /// of a change.
  func list(_ object: ManagedObject) {
    guard object.scope.context === self else {
      object.flags.remove(.listed)
      return
    }
    pending.append(object)
  }

  // MARK: Changes

  /// Whether a save would write anything, or throw the error of a failed insertion or of a lost change.
  ///
  /// A value that was set and set back is not a change: values and references are compared with those that the object
  /// was read or last saved with. A change of a transient attribute counts, although no store holds it. In a
  /// many-to-many relationship that was not read, changed pairs always count. In an ordered relationship, an object
  /// that was removed and added again changes the order.
  public var hasChanges: Bool {
    if !insertionErrors.isEmpty || !lostChanges.isEmpty { return true }
    let comparison = SnapshotComparison(self)
    return pending.contains(where: comparison.isToWrite)
  }

  /// New objects that have not been saved.
  public var insertedObjects: [ManagedObject] { pending.filter(\.isInserted) }

  /// Stored objects with unsaved changes of values or relationships. An object that was changed back to what it was
  /// read or last saved with is not included.
  public var updatedObjects: [ManagedObject] {
    guard hasChanges else { return [] }
    var comparison = SnapshotComparison(self)
    return pending.filter { comparison.isUpdated($0) }
  }

  /// Stored objects that have been changed since the last save, even if they have been changed back.
  var touchedObjects: [ManagedObject] { pending.filter(\.hasUpdatedFlags) }

  /// Stored objects whose deletion has not been saved.
  public var deletedObjects: [ManagedObject] {
    pending.filter { $0.flags.contains(.deleted) && !$0.flags.contains(.inserted) }
  }

  /// The context's objects that are in memory, in no order.
  public var registeredObjects: [ManagedObject] {
    maps.flatMap { $0?.objects ?? [] }.filter { !$0.flags.contains(.deletionSaved) }
  }
}

@available(*, unavailable)
extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext {
  /// Reads one state of the store while `body` runs, and releases it afterwards. A save in `body` ends that state:
  /// later reads see the newest one.
  ///
  /// Many small reads are also twice as fast in one such block. Without it, the main actor's context reads one state
  /// for each turn, and a background task's context reads one state for the whole block.
  public func perform<R>(_ body: () throws -> R) rethrows -> R {
    try parent?.perform { try performHere(body) } ?? performHere(body)
  }

  private func performHere<R>(_ body: () throws -> R) rethrows -> R {
    reading.depth += 1
    defer {
      reading.depth -= 1
      if reading.depth == 0, reading.willBegin == nil { endReading() }
      if reading.depth == 0 { currentUndoManager?.endEvent() }
    }
    return try body()
  }

  /// Makes each snapshot last until ``endReading()``.
  ///
  /// - Parameter willBegin: Called when a snapshot begins, to schedule its end.
  func holdSnapshots(_ willBegin: @escaping () -> Void) { reading.willBegin = willBegin }
}
