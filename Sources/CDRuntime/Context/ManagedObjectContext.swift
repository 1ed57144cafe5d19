#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The objects that one isolation works with, and their unsaved changes.
///
/// A context belongs to the main actor (``PersistentContainer/viewContext``), to a background task or to
/// whoever made it; neither it nor its objects can be sent elsewhere.
///
/// It keeps objects with changes alive. Objects without changes live as long as somebody holds them.
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
/// ### What changes
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
/// ### By the entity's name
/// - ``objects(forEntityNamed:matching:using:)``
/// - ``object(forEntityNamed:matching:using:)``
/// - ``objects(forEntityNamed:format:_:)``
/// - ``object(forEntityNamed:format:_:)``
/// - ``objects(forEntityNamed:template:variables:)``
/// - ``fetchRequest(forEntityNamed:template:variables:)``
///
/// ### By identifiers
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
  /// The coordinator whose store the context works on.
  public let persistentStoreCoordinator: PersistentStoreCoordinator

  /// A name that the history keeps with each save of the context.
  public var transactionAuthor: String?

  /// The context whose objects this one works on; nil where it works on the store.
  public let parent: ManagedObjectContext?
  /// Contexts that have this one for their parent.
  var children: [ChildReference] = []
  /// How often objects have been deleted here, or found to be deleted in the parent.
  var deletionCount = 0
  /// The parent's count when the context last looked.
  var seenDeletions = 0

  /// What a save does where somebody else has changed the same rows. ``MergePolicy/error`` unless it is set.
  public var mergePolicy = MergePolicy.error

  var currentUndoManager: ContextUndoManager?
  /// Arranges for the end of an undo manager's event; nil where nobody marks it but `perform` and `save`.
  var scheduleEndOfEvent: (() -> Void)?
  /// Whether a save is running: what it changes itself makes no group for an undo.
  var isSaving = false
  /// Whether a save is running that has not written its changes yet.
  var isWriting = false
  /// How many saves are running, one called by ``ManagedObjectLifecycle/didSave()`` of another.
  var saveDepth = 0
  /// The method of the app's that is running and must not save the context; nil for none.
  var runningHook: Hook?
  /// Grows with each rollback and reset: who has called code of the app's sees by it that its objects are others now.
  var revertCount = 0
  /// Grows with changes of objects, though not with each: a new object's are counted while it is `tracked`.
  var changeCount = 0
  let model: ModelPlan
  let engine: any StoreEngine
  /// The stores that the context's session has open.
  var stores: StoreSet
  /// By the place of the entity.
  var scopes: [ObjectScope] = []
  /// By the place of the root entity; empty for the others.
  var maps: [IdentityMap?]
  /// Objects with changes, in the order in which they were first changed.
  var pending: [ManagedObject] = []
  /// Errors of insertions that made no object; the next save throws the first, and forgets them.
  var insertionErrors: [any Error] = []
  /// What was set of objects that no save writes, for the next save to throw.
  var lostChanges = LostChanges()
  /// Objects with caches that the next sweep drops.
  var cachingStates: [ToManyState] = []
  /// Collects single values.
  let captureWriter = RowWriter()
  let rowReport: RowReport
  var keys: [Range<ObjectKey>]
  private var keyBlocks: [Int64]
  /// What the context reads by, once it has.
  var session: (any StoreSession)?
  /// Whether the session is somebody else's.
  private var isGuest = false
  private var observers = ErrorObservers()
  /// What was left of the context that this one stands in for; nil for one that the app has made.
  private var remains: ContextRemains?
  /// Who wants to know what changes; nil until somebody does.
  var changeObservers: ChangeObservers?
  /// The tables of objects with changes whose rows others have changed too: relationships to them are read again once
  /// these changes have been saved or taken back.
  var contestedRoots: Set<Int> = []
  /// Objects with changes whose rows others have changed too, by those to whom they still refer in one-to-one relationships:
  /// the store's rows may not tell of these references any more.
  var contestedHolders: [OneToOnePartner: [ObjectKey]] = [:]
  /// What observers of objects have to be told, at the end of the state that is read from.
  var notices: [Notice] = []
  /// The same of others than objects.
  var laterChanges: [() -> Void] = []
  /// Objects with followed relationships that deletions do not tell, and how many lead to a look for those that are
  /// gone.
  var looseFollowers: [FollowedObject] = []
  var looseLimit = 256
  let reading = ReadScope()
  /// Whether an object is told that its values have been read: what it sets is no change.
  var isAwakening = false
  /// Whether derived attributes are being computed.
  var isDeriving = false
  /// How many statements are running that read other rows in between: a method of the user's has to wait.
  var runningReads = 0
  /// Objects whose values have been read and that have not been told.
  var fetched: [ManagedObject] = []
  /// The newest save in each store's history that the objects in memory know of.
  var seenSaves: [Int: Int64] = [:]
  /// A save to several stores that has reached some of them: the next one is its rest.
  var unfinishedSave: UUID?
  /// The context's own saves beyond that, by store.
  var ownSaves: [Int: Set<Int64>] = [:]
  /// Serves the making of one object after another.
  let seedState: ObjectSeed.State
  /// Lookups by a value, by the identity of their key paths, and the last one used.
  var valueMatches: [ObjectIdentifier: ValueMatch] = [:]
  var lastMatch: ValueMatch?
  /// The scope of the last object that was looked up by its identifier.
  var lookupScope: ObjectScope?
  /// The scope of the last new object: the next one is mostly of the same entity.
  var insertionScope: ObjectScope?
  /// The store that a migration is making, where the context works on one.
  let importTarget: (any ImportTarget)?
  // These stand last: getters of objects read the properties above, which are to share cache lines.
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
    keys = coordinator.plan.entities.map { _ in 0..<0 }
    keyBlocks = coordinator.plan.entities.map { _ in 1 }
    rowReport = RowReport(files: coordinator.engine.files)
    seedState = ObjectSeed.State(ownScope: .detached)
    scopes = model.entities.map { ObjectScope(plan: $0, context: self) }
    // A store in memory has no snapshots: a reader that stays would keep the writer out.
    reading.isEnabled = !stores.isInMemory && importTarget == nil && parent == nil
    reading.didBegin = { [unowned self] session in
      try session.checkVersions()
      try catchUp(session)
    }
  }

  /// A context that reads by a session of somebody else's, in whatever transaction that is.
  convenience init(_ coordinator: PersistentStoreCoordinator, readingBy session: any StoreSession) {
    self.init(coordinator)
    self.session = session
    isGuest = true
    reading.isEnabled = false
  }

  /// A context for objects whose own nobody holds any more: it has them and their changes.
  convenience init(reviving remains: ContextRemains) {
    self.init(remains.coordinator, parent: remains.parent)
    self.remains = remains
    for (place, scope) in remains.liveScopes.enumerated() {
      guard let scope else { continue }
      scope.live = self
      scope.remains = nil
      scopes[place] = scope
    }
    for (place, table) in remains.tables.enumerated() { maps[place]?.orphans = table }
    pending = remains.livePending
    remains.state?.restore(self)
    for object in pending { noteContestedReferences(of: object) }
    if let parent { join(parent) }
  }

  /// What a context that stands in for another one takes over from it beside the objects.
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

  /// Leaves what objects need that somebody else holds.
  private func leaveRemains() {
    let remains = remains ?? ContextRemains(coordinator: persistentStoreCoordinator, parent: parent)
    currentUndoManager?.removeAllActions()
    let changed = pending.map(WeakObject.init)
    pending.removeAll()
    lostChanges.removeAll()
    fetched.removeAll()
    notices.removeAll()
    laterChanges.removeAll()
    looseFollowers.removeAll()
    guard remains.takeOver(scopes, maps, pending: changed) else { return }
    remains.state = State(self)
    for scope in scopes { scope.remains = remains }
  }

  deinit {
    for scope in scopes { scope.live = nil }
    // What was asked by the session goes before it does.
    lastMatch = nil
    valueMatches.removeAll()
    for (root, range) in keys.enumerated() { engine.giveBackKeys(range, of: root) }
    if importTarget == nil, !isGuest, let session { engine.giveBack(session) }
    // What refers to other objects goes first, so that no cycle outlives the context.
    for state in cachingStates { state.cache = nil }
    if importTarget == nil, !isGuest { leaveRemains() }
  }

  // MARK: Errors that could not be thrown

  /// What goes wrong where nothing can be thrown, in getters for instance. Each call gives a new stream, which
  /// keeps the newest 100 errors that nobody has taken yet.
  public var errors: AsyncStream<ObservedError> { observers.stream() }

  /// The newest 100 errors that were observed, the oldest first.
  public var recentErrors: [ObservedError] { observers.recent }

  func observe(_ error: ObservedError) { observers.observe(error) }

  /// Lets ``recentErrors`` have all errors from here on.
  func keepAllErrors() { observers.keepsAll = true }

  // MARK: Reading

  /// What the context reads by, opened when it is first needed.
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
    // From here on the context knows what it has seen.
    if !reading.isOpen { try catchUp(session) }
    return session
  }

  /// Lets go of the snapshot that the context reads from: the next read sees what others have saved.
  func endReading() {
    if let parent { return parent.endReading() }
    tellObservers()
    endSnapshot()
  }

  /// The same, where nobody may be told yet of what was learnt by reading.
  func endSnapshot() {
    if let parent { return parent.endSnapshot() }
    if let session { reading.end(session) }
  }

  // MARK: New objects

  /// Makes a new object of an entity.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:)`` or ``FetchError/abstractEntity(_:)``;
  ///   ``StoreError/noStore(entity:)`` where none of the coordinator's stores holds the entity.
  @discardableResult
  public func insert(entityNamed name: String) throws -> ManagedObject {
    guard let plan = model.entity(name) else { throw FetchError.unknownEntity(name) }
    guard !plan.description.isAbstract else { throw FetchError.abstractEntity(name) }
    noticeRemovals()
    guard stores.store(of: plan) != nil else { throw StoreError.noStore(entity: name) }
    let seed = ObjectSeed(inserting: name, in: self)
    // It has been observed, and is thrown here instead of at the save.
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

  /// Notes that an object could not be inserted, for the save to throw.
  func refuseInsertion(of entity: String) {
    let error = ObservedError(reason: .uninsertableEntity, entity: entity, property: nil, objectID: nil)
    insertionErrors.append(error)
    observe(error)
  }

  /// A key for a new object; 0 where none can be reserved, which the next save throws.
  func nextKey(for plan: EntityPlan) -> ObjectKey {
    if let importTarget {
      let key = importTarget.nextKey(for: plan)
      if key == 0 { insertionErrors.append(StoreError.noStore(entity: plan.name)) }
      return key
    }
    if let key = keys[plan.root].first {
      keys[plan.root] = key + 1..<keys[plan.root].upperBound
      return key
    }
    do {
      let block = keyBlocks[plan.root]
      let range = try engine.reserveKeys(of: model.entities[plan.root], count: block)
      keyBlocks[plan.root] = min(4096, block * 2)
      keys[plan.root] = range.lowerBound + 1..<range.upperBound
      return range.lowerBound
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

  /// The scope of an identifier's entity; nil where it is of another store or of an entity that the model has
  /// not.
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

  /// Puts an object on the list of those with changes. One that a reset has taken out of the context, in the middle of
  /// a change of it, is nobody's any more.
  func list(_ object: ManagedObject) {
    guard object.scope.context === self else {
      object.flags.remove(.listed)
      return
    }
    pending.append(object)
  }

  // MARK: Changes

  /// Whether a save would write anything, or throw the error of an object that could not be made.
  ///
  /// What has been set and set back is nothing to write: values and references are compared with those that the object was
  /// read or last saved with. A change of a transient attribute counts, though no store has it. Pairs of a many-to-many
  /// relationship that was not read count once they have been changed, and an order that an object has left and come back
  /// to is another one.
  public var hasChanges: Bool {
    if !insertionErrors.isEmpty || !lostChanges.isEmpty { return true }
    let comparison = SnapshotComparison(self)
    return pending.contains(where: comparison.isToWrite)
  }

  /// New objects that have not been saved.
  public var insertedObjects: [ManagedObject] { pending.filter(\.isInserted) }

  /// Objects of the store with changes that have not been saved, in their values or in whom they are related to. One that
  /// has again what it was read or last saved with is none of them.
  public var updatedObjects: [ManagedObject] {
    guard hasChanges else { return [] }
    var comparison = SnapshotComparison(self)
    return pending.filter { comparison.isUpdated($0) }
  }

  /// Objects of the store that have been changed since the last save, whether or not they have been changed back.
  var touchedObjects: [ManagedObject] { pending.filter(\.hasUpdatedFlags) }

  /// Objects of the store whose deletion has not been saved.
  public var deletedObjects: [ManagedObject] {
    pending.filter { $0.flags.contains(.deleted) && !$0.flags.contains(.inserted) }
  }

  /// The objects of the context that are in memory, in no order.
  public var registeredObjects: [ManagedObject] {
    maps.flatMap { $0?.objects ?? [] }.filter { !$0.flags.contains(.gone) }
  }
}

@available(*, unavailable)
extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext {
  /// Reads one state of the store while a body runs, and lets go of it then. A save in the body ends that
  /// state: what is read after it is the newest again.
  ///
  /// Many small reads are also twice as fast in one such block. The main actor's context reads one state a
  /// turn without it, and a background task's one in the whole block.
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

  /// Reads one state of the store until ``endReading()``.
  ///
  /// - Parameter willBegin: Called when a snapshot begins, to arrange for its end.
  func holdSnapshots(_ willBegin: @escaping () -> Void) { reading.willBegin = willBegin }
}
