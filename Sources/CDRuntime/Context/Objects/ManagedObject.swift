/// An object of an entity: an instance of a generated class, or of this class where there is none.
///
/// An object belongs to the context that made it and to that context's isolation; it cannot be sent to
/// another. ``objectID`` can, and gives the object there.
///
/// Reading a property never throws or traps. An object whose row is gone keeps its last values, or the
/// types' empty ones if it never had any: ``isInaccessible`` is true then, and ``ManagedObjectContext/errors``
/// says why. Objects are equal when they are the same instance; a context has one instance a row.
///
/// An object without a generated class has its properties by key:
///
/// ```swift
/// let book = try context.insert(entityNamed: "Book")
/// try book.setValue("Walden", forKey: "title")
/// let title = try book.value(forKey: "title")
/// ```
///
/// ## Topics
///
/// ### Identity
/// - ``objectID``
/// - ``entity``
/// - ``entityName``
/// - ``managedObjectContext``
///
/// ### Properties by key
/// - ``value(forKey:)``
/// - ``values(forKeys:)``
/// - ``changedValues``
/// - ``committedValues``
///
/// ### State
/// - ``isFault``
/// - ``isInaccessible``
/// - ``isInserted``
/// - ``isUpdated``
/// - ``isDeleted``
open class ManagedObject {
  // 46 bytes with the header. Generated classes begin with their smallest properties, which then use up what is
  // left of a word: whether an object fits the allocator's small sizes decides what making and freeing it cost.
  final let scope: ObjectScope
  final let key: ObjectKey
  final var extras: ObjectExtras?
  private final var revision: UInt32
  final var flags: ObjectFlags

  /// The row's `_version`, which goes back to 0 after 2^32 - 1 changes of the row.
  final var version: Int64 {
    get { Int64(revision) }
    set { revision = UInt32(truncatingIfNeeded: newValue) }
  }

  /// The version of the row that an insertion writes. A row that is written anew has one that nobody can have read, neither
  /// of the row that was deleted nor of another one that others have written anew from the same values.
  ///
  /// - Parameter stamp: A random number of the save's own.
  final func nextVersion(_ stamp: UInt32) -> Int64 { revision == 0 ? 1 : max(1, Int64(revision &+ stamp)) }

  /// The name of the class's entity; empty for ``ManagedObject`` itself.
  open class var entityName: String { "" }

  @_spi(Generated) public init(_seed seed: ObjectSeed) {
    let state = seed.state
    // An object whose class is not the model's for the entity would be read and written by a plan that is not its.
    let isMisfit = state.isInsertion && !state.scope.admits(type(of: self))
    scope = isMisfit ? ObjectScope(plan: .unknown(state.scope.plan.name), context: nil) : state.scope
    key = isMisfit ? 0 : state.key
    revision = UInt32(truncatingIfNeeded: state.version)
    flags = isMisfit ? .inaccessible : state.flags
    if isMisfit { state.scope.context?.refuseInsertion(of: state.scope.plan.name) }
    if state.isInsertion, let context = scope.context {
      if !scope.plan.isTyped { requireExtras().values = scope.plan.initialValues }
      context.register(inserted: self)
      _setInsertionDefaults()
      if let lifecycle { context.running(.awakeFromInsert) { lifecycle.awakeFromInsert() } }
    }
  }

  // MARK: The contract with generated classes

  /// Sets the attributes whose default is made at each insertion.
  @_spi(Generated) open func _setInsertionDefaults() {
    guard !scope.plan.isTyped, let extras else { return }
    for (slot, value) in scope.plan.insertionDefaults {
      extras.values[slot] = EvaluationClock.value(of: value)
    }
  }

  /// Reads all stored columns, and transient attributes where the row has them.
  @_spi(Generated) open func _decode(_ row: RowReader) {
    guard !scope.plan.isTyped else { return }
    decodeValues(row)
  }

  /// Writes the value of a slot.
  @_spi(Generated) open func _encode(_ slot: Int, _ writer: RowWriter) {
    guard !scope.plan.isTyped else { return }
    encodeValue(slot, writer)
  }

  /// Sets the key of a to-one relationship whose reference stands in the object's own table.
  @_spi(Generated) open func _setReference(_ slot: Int, _ key: ObjectKey) {
    guard let extras, slot < extras.values.count else { return }
    extras.values[slot] = key == 0 ? .null : .int(key)
  }

  /// The properties' key paths, in the order of the slots, where the model asks for them.
  @_spi(Generated) open class var _keyPaths: KeyPathTable { .empty }

  /// Called before a property is read.
  @_spi(Generated) public final func _willRead() {
    if flags.rawValue & ObjectFlags.fault.rawValue != 0 { fireFault() }
  }

  /// Called before an attribute is set.
  @_spi(Generated) public final func _willWrite(_ slot: Int) {
    // A new object needs no record of what changed, unless it was made without values or is followed.
    let recorded: ObjectFlags = [
      .fault, .inaccessible, .inserted, .deleted, .gone, .draft, .tracked, .observed,
    ]
    if flags.rawValue & recorded.rawValue != ObjectFlags.inserted.rawValue {
      if flags.contains(.fault) { fireFault() }
      noteLostChange(slot)
      noteWrite(slot)
    }
  }

  /// Called before the runtime itself sets a slot, as a deletion or an undo does, of objects too whose changes nobody
  /// saves.
  final func willSet(_ slot: Int) {
    let recorded: ObjectFlags = [.fault, .inaccessible, .inserted, .draft, .tracked, .observed]
    if flags.rawValue & recorded.rawValue != ObjectFlags.inserted.rawValue { noteWrite(slot) }
  }

  /// Sets the key of a to-one relationship as the runtime does, and notes the change.
  final func writeReference(_ key: ObjectKey, _ slot: Int) {
    willSet(slot)
    _setReference(slot, key)
    didChange(slot)
  }
}

@available(*, unavailable)
extension ManagedObject: Sendable {}

extension ManagedObject: Hashable {
  public static func == (lhs: ManagedObject, rhs: ManagedObject) -> Bool { lhs === rhs }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// MARK: State

extension ManagedObject {
  /// The object's identifier, permanent from its insertion.
  public final var objectID: ManagedObjectID {
    ManagedObjectID(
      storeID: scope.storeID, entityName: scope.plan.name, key: key)
  }

  /// The object's entity.
  public final var entity: EntityDescription { scope.plan.description }

  /// The object's context; nil once that has been reset.
  ///
  /// An object does not keep its context. Where nobody holds that any more, this is another one for it and the other objects
  /// that are still alive, with their changes and the former one's ``ManagedObjectContext/mergePolicy``. It goes again when
  /// nobody uses it. An app keeps its contexts, or its ``PersistentContainer``, all the same: to make one for each
  /// relationship that is read takes its time, and an undo manager goes with its context.
  public final var managedObjectContext: ManagedObjectContext? { scope.context }

  /// Whether the object's values have not been read yet. Reading one does that.
  public final var isFault: Bool { flags.contains(.fault) }

  /// Whether the object has no row to be read from any more, or no context.
  public final var isInaccessible: Bool { flags.contains(.inaccessible) || !scope.hasContext }

  /// Whether the object has been inserted and not been saved since.
  public final var isInserted: Bool { flags.contains(.inserted) && !flags.contains(.deleted) }

  /// Whether an object of the store has changes that have not been saved: other values, or other objects that it is related
  /// to, than when it was read or last saved. See ``ManagedObjectContext/hasChanges``.
  public final var isUpdated: Bool {
    guard hasUpdatedFlags, let context = scope.context else { return false }
    var comparison = SnapshotComparison(context)
    return comparison.isUpdated(self)
  }

  /// Whether an object of the store has been changed since the last save; it may have been changed back.
  final var hasUpdatedFlags: Bool {
    !flags.isDisjoint(with: [.updated, .touched]) && flags.isDisjoint(with: [.inserted, .deleted])
  }

  /// Whether the object has been deleted, in the context or, after the save, in the store.
  public final var isDeleted: Bool { !flags.isDisjoint(with: [.deleted, .gone]) }

  /// Whether the changes of an object are such that need its row: having lost others that it was related to does
  /// not. A child's save leaves out relationships with an object that the parent does not have.
  final var needsRow: Bool {
    if flags.contains(.updated) { return true }
    guard scope.context?.parent == nil else { return false }
    return extras?.toMany.contains { !$0.state.added.isEmpty } == true
  }

  /// Whether rows of the store may lead to the object.
  final var mayHaveRowsOfOthers: Bool { !flags.contains(.inserted) || flags.contains(.revived) }

  final var isPending: Bool { !flags.isDisjoint(with: .pending) }

  final func requireExtras() -> ObjectExtras {
    if let extras { return extras }
    let extras = ObjectExtras()
    self.extras = extras
    return extras
  }

  /// Reads the values from the store.
  final func fireFault() {
    flags.remove(.fault)
    guard let context = scope.context else {
      flags.insert(.inaccessible)
      return
    }
    context.fire(self)
  }

  final func report(_ reason: ObservedError.Reason, slot: Int? = nil) {
    (scope.context ?? scope.formerContext)?.observe(
      ObservedError(
        reason: reason, entity: scope.plan.name,
        property: slot.flatMap { $0 < scope.plan.slots.count ? scope.plan.slots[$0].name : nil },
        objectID: key == 0 ? nil : objectID))
  }

  /// Whether no save writes the object.
  final var isLost: Bool {
    !scope.hasContext || !flags.isDisjoint(with: [.deleted, .gone, .inaccessible])
  }

  /// Notes that a slot is set of an object that no save writes: it has been deleted, or its context has been reset.
  final func noteLostChange(_ slot: Int) {
    // What could not be inserted has been reported.
    guard isLost, key != 0, slot < scope.plan.slots.count,
      let context = scope.context ?? scope.formerContext, !context.isAwakening, context.runningHook == nil
    else { return }
    report(scope.context == nil ? .contextGone : .changeLost, slot: slot)
    context.lostChanges.add(self, scope.plan.slots[slot].name)
  }

  /// Notes that a slot is about to change.
  private final func noteWrite(_ slot: Int) {
    if flags.contains(.fault) { fireFault() }
    willChange(slot)
    if flags.isSuperset(of: [.inserted, .draft]) { requireExtras().assigned.insert(slot) }
    guard let context = scope.context, !flags.contains(.inaccessible) else { return }
    if context.currentUndoManager != nil { context.noteUndo(self, slot) }
    if context.isAwakening { return }
    context.changeCount &+= 1
    guard !flags.contains(.inserted) else { return }
    let extras = requireExtras()
    guard !extras.changed.contains(slot) else { return }
    extras.changed.insert(slot)
    guard slot < scope.plan.slots.count else { return }
    extras.old.append((slot, storedValue(slot)))
    mark(scope.plan.slots[slot].isStored ? .updated : .touched, in: context)
  }

  /// Notes that a relationship has changed whose data stand elsewhere. `willChange(_:)` has been called before.
  final func noteTouch(_ slot: Int) {
    didChange(slot)
    guard let context = scope.context else { return }
    if !flags.contains(.inserted) { requireExtras().changed.insert(slot) }
    mark(.touched, in: context)
  }

  final func mark(_ flag: ObjectFlags, in context: ManagedObjectContext) {
    flags.insert(flag)
    context.changeCount &+= 1
    if !flags.contains(.listed) {
      flags.insert(.listed)
      context.list(self)
    }
  }
}

extension ManagedObject: CustomStringConvertible {
  /// The entity and the identifier; no values, which may be private.
  public var description: String {
    let state =
      isDeleted
      ? " deleted" : isInaccessible ? " inaccessible" : isInserted ? " inserted" : isFault ? " fault" : ""
    return "<\(scope.plan.name) p\(key)\(state)>"
  }
}
