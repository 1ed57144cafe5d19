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
/// ### Inserting and deleting objects
/// - ``insert(entityNamed:)``
/// - ``insert(entityNamed:values:)``
/// - ``delete(_:)``
///
/// ### Fetching
/// - ``fetch(_:)``
/// - ``lazyFetch(_:)``
/// - ``objectIDs(for:)``
/// - ``dictionaries(for:)``
/// - ``count(for:)``
/// - ``aggregates(for:)``
///
/// ### Fetching by an identifier
/// - ``object(with:)``
/// - ``existingObject(with:)``
/// - ``registeredObject(for:)``
/// - ``localInstance(of:)``
///
/// ### Fetching by the name of an entity
/// - ``objects(forEntityNamed:matching:using:)``
/// - ``object(forEntityNamed:matching:using:)``
/// - ``objects(forEntityNamed:format:_:)``
/// - ``object(forEntityNamed:format:_:)``
/// - ``objects(forEntityNamed:template:variables:)``
/// - ``fetchRequest(forEntityNamed:template:variables:)``
///
/// ### Saving
/// - ``save()``
/// - ``validationErrors(of:)``
/// - ``rollback()``
/// - ``transactionAuthor``
///
/// ### Unsaved changes
/// - ``hasChanges``
/// - ``insertedObjects``
/// - ``updatedObjects``
/// - ``deletedObjects``
///
/// ### Snapshots and refreshing
/// - ``perform(_:)``
/// - ``refresh(_:mergeChanges:)``
/// - ``refreshAllObjects()``
/// - ``reset()``
/// - ``registeredObjects``
/// - ``persistentStoreCoordinator``
///
/// ### Conflicts
/// - ``mergePolicy``
/// - ``MergePolicy``
/// - ``survivor(of:)``
///
/// ### Undo and redo
/// - ``undoManager``
/// - ``undo()``
/// - ``redo()``
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
/// ### Following changes
/// - ``changes``
/// - ``mergeChanges(from:)``
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

  /// The policy that a save applies when another context or process has changed the same rows. ``MergePolicy/error``
  /// by default.
  public var mergePolicy = MergePolicy.error

  package let model: ModelPlan
  let engine: any StoreEngine

  // The state, by subject. Other files change it only by the operations of these types.
  let registry: ObjectRegistry
  let pendingChanges = PendingChanges()
  let activity = ContextActivity()
  let undoRegistration = UndoRegistration()
  let storeReader: StoreReader
  let historyPosition = HistoryPosition()
  let changeNotices = ChangeNotices()
  let children: ChildContexts
  private var observers = ErrorObservers()
  /// The released context that this one replaces; nil for a context that the app has created.
  private var releasedContext: ReleasedContext?

  /// Captures single values of objects.
  let captureWriter = RowWriter()
  let rowReport: RowReport
  /// The state that seeds of new objects share, reused for one object after another.
  let seedState: ObjectSeed.State
  /// The store that a migration is writing; nil if the context does not work on one.
  let importTarget: (any ImportTarget)?
  // Declared last: getters of objects read the properties above, which should share cache lines.
  let classes: ClassBindings

  /// - Parameter session: The caller's session to read with, in the transaction that is open there; nil if the context
  ///   takes its own session.
  /// - Parameter callsLifecycle: Whether ``ManagedObjectLifecycle/awakeFromFetch()`` is called for all fetched objects, and
  ///   not only for those with transient attributes.
  init(
    _ coordinator: PersistentStoreCoordinator, importTarget: (any ImportTarget)? = nil,
    parent: ManagedObjectContext? = nil, readingBy session: (any StoreSession)? = nil,
    callsLifecycle: Bool = true
  ) {
    self.importTarget = importTarget
    self.parent = parent
    children = ChildContexts(ofParent: parent?.children)
    persistentStoreCoordinator = coordinator
    model = coordinator.plan
    classes = coordinator.classes
    engine = coordinator.engine
    storeReader = StoreReader(
      coordinator.engine, borrowing: importTarget?.session ?? session, isChild: parent != nil,
      callsLifecycle: callsLifecycle)
    registry = ObjectRegistry(coordinator.plan)
    rowReport = RowReport(files: coordinator.engine.files)
    seedState = ObjectSeed.State(ownScope: .detached)
    registry.makeScopes(for: self)
    storeReader.whenSnapshotBegins { [unowned self] session in
      try session.checkVersions()
      try catchUp(session)
    }
  }

  /// Creates a context for objects whose own context has been released. It takes over these objects and their
  /// changes.
  convenience init(restoring releasedContext: ReleasedContext) {
    self.init(releasedContext.coordinator, parent: releasedContext.parent)
    self.releasedContext = releasedContext
    registry.takeOver(releasedContext, for: self)
    pendingChanges.takeOver(releasedContext.livePending)
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
    private let historyPosition: HistoryPosition
    private let children: ChildContexts

    fileprivate init(_ context: ManagedObjectContext) {
      stores = context.storeReader.stores
      author = context.transactionAuthor
      mergePolicy = context.mergePolicy
      observers = context.observers
      historyPosition = context.historyPosition
      children = context.children
    }

    fileprivate func restore(_ context: ManagedObjectContext) {
      context.storeReader.takeOver(stores)
      context.transactionAuthor = author
      context.mergePolicy = mergePolicy
      context.observers = observers
      context.historyPosition.takeOver(historyPosition)
      context.children.takeOver(children)
    }
  }

  /// Keeps the data that live objects still need.
  private func leaveReleasedContext() {
    let releasedContext =
      releasedContext ?? ReleasedContext(coordinator: persistentStoreCoordinator, parent: parent)
    undoManager?.removeAllActions()
    let changed = pendingChanges.leave()
    changeNotices.close()
    guard registry.leave(to: releasedContext, pending: changed) else { return }
    releasedContext.state = State(self)
  }

  deinit {
    registry.detach()
    registry.returnKeys(to: engine)
    storeReader.close()
    // Caches refer to other objects. They are released first, so that no reference cycle outlives the context.
    registry.dropCaches()
    if !storeReader.isBorrowing { leaveReleasedContext() }
  }

  // MARK: Errors that could not be thrown

  /// The errors of code that cannot throw, such as getters. Each access returns a new stream, which buffers the
  /// newest 100 errors that have not been read yet.
  public var errors: AsyncStream<ObservedError> { observers.stream() }

  /// The newest 100 observed errors, oldest first.
  public var recentErrors: [ObservedError] { observers.recent }

  func observe(_ error: ObservedError) { observers.observe(error) }

  func observe(_ reason: ObservedError.Reason, _ entity: String, _ property: String? = nil) {
    observe(ObservedError(reason: reason, entity: entity, property: property, objectID: nil))
  }

  /// The number of values that this context and its parents could not read so far, and the newest error about one.
  var readFailures: (count: Int, last: ObservedError?) {
    let own = observers.readFailures
    guard let inherited = parent?.readFailures, inherited.count > 0 else { return own }
    return (own.count + inherited.count, own.last ?? inherited.last)
  }

  /// The newest error about a value that could not be read since ``readFailures`` had a count; nil if all were read. Getters
  /// only report such an error, and give an empty value, which an evaluation would take for the stored one.
  func readFailure(since count: Int) -> ObservedError? {
    let failures = readFailures
    return failures.count == count ? nil : failures.last
  }

  /// Throws an error if a value could not be read since ``readFailures`` had a count.
  func checkReads(since count: Int) throws(EvaluationError) {
    if let failure = readFailure(since: count) {
      throw .unsupported("a value that cannot be read: \(failure)")
    }
  }

  /// Does the same for a save, which throws the error of a store.
  @_optimize(none)
  func checkReadsOfSave(since count: Int) throws(StoreError) {
    if let failure = readFailure(since: count) {
      throw .inputOutput(storeReader.stores.all.map(\.url), reason: "\(failure)")
    }
  }

  /// Makes ``recentErrors`` keep all errors from now on.
  func keepAllErrors() { observers.keepsAll = true }

  // MARK: Reading

  /// Returns the session that the context reads with, and opens it at the first read.
  func reader() throws -> any StoreSession {
    if let session = storeReader.heldSession { return session }
    return try readerOutsideSnapshot()
  }

  @inline(never)
  private func readerOutsideSnapshot() throws -> any StoreSession {
    noticeRemovals()
    if let parent { return try parent.reader() }
    if let session = try storeReader.currentSession() { return session }
    let session = try storeReader.takeSession { leave(for: $0) }
    // Records the newest saves: from here on the context can tell which ones it has not seen.
    if !storeReader.isSnapshotOpen { try catchUp(session) }
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
    storeReader.endSnapshot()
  }

  // MARK: New objects

  /// Inserts a new object of an entity.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:suggestion:)`` or ``FetchError/abstractEntity(_:)``;
  ///   ``StoreError/noStore(entity:)`` if none of the coordinator's stores holds the entity.
  @discardableResult
  public func insert(entityNamed name: String) throws -> ManagedObject {
    guard let plan = model.entity(name) else { throw unknownEntity(name) }
    guard !plan.description.isAbstract else { throw FetchError.abstractEntity(name) }
    noticeRemovals()
    guard storeReader.hasStore(of: plan) else { throw StoreError.noStore(entity: name) }
    let seed = ObjectSeed(inserting: name, in: self)
    // The error has been observed already. It is thrown here, so the save must not throw it again.
    if seed.state.key == 0, let error = pendingChanges.takeNewestFailure() { throw error }
    return makeObject(seed)
  }

  func makeObject(_ seed: ObjectSeed) -> ManagedObject {
    classes.factory(of: seed.state.scope.plan).make(seed)
  }

  func scopeForInsertion(of name: String) -> ObjectScope? {
    if let scope = registry.scopeForInsertion(of: name) { return scope }
    refuseInsertion(of: name)
    return nil
  }

  /// Records that an object could not be inserted. The next save throws the error.
  func refuseInsertion(of entity: String) {
    let error = ObservedError(reason: .uninsertableEntity, entity: entity, property: nil, objectID: nil)
    pendingChanges.noteFailure(error)
    observe(error)
  }

  /// Records that a deletion or a change was not made, because the store could not be read. The next save throws the error.
  @_optimize(none)
  func noteFailure(_ error: any Error, of object: ManagedObject, slot: Int? = nil) {
    pendingChanges.noteFailure(error)
    object.report(.readFailed("\(error)"), slot: slot)
  }

  /// Returns a key for a new object; 0 if none can be reserved. The next save throws the reason.
  func nextKey(for plan: EntityPlan) -> ObjectKey {
    if let importTarget {
      let key = importTarget.nextKey(for: plan)
      if key == 0 { pendingChanges.noteFailure(StoreError.noStore(entity: plan.name)) }
      return key
    }
    if let key = registry.takeKey(ofRoot: plan.root) { return key }
    do { return try registry.reserveKeys(ofRoot: plan.root, from: engine) } catch {
      pendingChanges.noteFailure(error)
      observe(.noKey("\(error)"), plan.name)
      return 0
    }
  }

  func register(inserted object: ManagedObject) {
    guard object.key != 0 else {
      object.flags.become(.inaccessible)
      return
    }
    importTarget?.prepare(object)
    registry.add(object)
    pendingChanges.addInserted(object)
    if undoManager != nil { noteUndoOfInsertion(object) }
  }

  // MARK: Objects in memory

  func registered(_ key: ObjectKey, root: Int) -> ManagedObject? { registry.object(key, root: root) }

  /// The scope of an identifier's entity; nil if the identifier belongs to another store or the model does not have
  /// the entity.
  func scope(of id: ManagedObjectID) -> ObjectScope? {
    if let scope = registry.lastScope(of: id) { return scope }
    guard let plan = model.entity(id.entityName), storeReader.hasStore(of: plan) else { return nil }
    return registry.scopeForLookup(of: id, plan)
  }

  // MARK: Changes

  /// Objects with changes, in the order of their first changes.
  @inline(__always) var pending: [ManagedObject] { pendingChanges.objects }

  /// Whether a save would write anything, or throw the error of a lost change or of something that could not be done.
  ///
  /// A value that was set and set back is not a change: values and references are compared with those that the object
  /// was read or last saved with. A change of a transient attribute counts, although no store holds it. In a
  /// many-to-many relationship that was not read, changed pairs always count. In an ordered relationship, an object
  /// that was removed and added again changes the order.
  public var hasChanges: Bool {
    if pendingChanges.hasFailures { return true }
    let comparison = SnapshotComparison(self)
    return pending.contains(where: comparison.isToWrite)
  }

  /// New objects that have not been saved.
  public var insertedObjects: [ManagedObject] { pending.filter(\.isInserted) }

  /// Stored objects with unsaved changes of values or relationships. An object is not included if all of its changes
  /// have been set back to the values that were last read or saved.
  public var updatedObjects: [ManagedObject] {
    guard hasChanges else { return [] }
    var comparison = SnapshotComparison(self)
    return pending.filter { comparison.isUpdated($0) }
  }

  /// Stored objects whose deletion has not been saved.
  public var deletedObjects: [ManagedObject] {
    pending.filter { $0.flags.contains(.deleted) && !$0.flags.contains(.inserted) }
  }

  /// The context's objects that are in memory, in no order.
  public var registeredObjects: [ManagedObject] {
    registry.objects.filter { !$0.flags.contains(.deletionSaved) }
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
    storeReader.beginBlock()
    defer {
      let (isOutermost, endsSnapshot) = storeReader.endBlock()
      if endsSnapshot { endReading() }
      if isOutermost { undoManager?.endEvent() }
    }
    return try body()
  }

  /// Makes each snapshot last until ``endReading()``.
  ///
  /// - Parameter willBegin: Called when a snapshot begins, to schedule its end.
  func holdSnapshots(_ willBegin: @escaping () -> Void) { storeReader.holdSnapshots(willBegin) }
}
