/// An object of an entity: an instance of the entity's generated class, or of this class if there is none.
///
/// An object belongs to the context that created it and to that context's isolation; you cannot send it to another
/// isolation. You can send its ``objectID`` and get the object there.
///
/// Reading a property never throws or traps. An object whose row is gone keeps its last values, or its types' empty
/// values if it never had any. Then ``isInaccessible`` is true, and ``ManagedObjectContext/errors`` gives the reason.
/// Objects are equal if they are the same instance; a context has one instance for each row.
///
/// Use keys to read and set the properties of an object without a generated class:
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
/// - ``value(forKey:as:)``
/// - ``values(forKeys:)``
/// - ``setValue(_:forKey:)-1jf90``
/// - ``setValue(_:forKey:)-25zxo``
/// - ``setValue(_:forKey:)-8dmz1``
/// - ``setValue(_:forKey:)-9wuby``
///
/// ### Unsaved changes
/// - ``changedValues``
/// - ``committedValues``
/// - ``isInserted``
/// - ``isUpdated``
/// - ``isDeleted``
/// - ``delete()``
///
/// ### Rows
/// - ``isFault``
/// - ``isInaccessible``
open class ManagedObject {
  // 46 bytes with the header. The first properties of generated classes are their smallest ones, which fill the rest
  // of a word. An object that fits the allocator's small sizes is much cheaper to create and to free.
  final let scope: ObjectScope
  final let key: ObjectKey
  final var extras: ObjectExtras?
  private final var revision: UInt32
  final var flags: ObjectFlags

  /// The row's `_version`, which wraps to 0 after 2^32 - 1 changes of the row.
  final var version: Int64 {
    get { Int64(revision) }
    set { revision = UInt32(truncatingIfNeeded: newValue) }
  }

  /// The version of the row that an insertion writes. A row that is inserted again gets a version that no context can
  /// have read, neither from the deleted row nor from a row that another context has inserted again from the same
  /// values.
  ///
  /// - Parameter stamp: A random number, the same for all objects of a save.
  final func nextVersion(_ stamp: UInt32) -> Int64 { revision == 0 ? 1 : max(1, Int64(revision &+ stamp)) }

  /// The name of the class's entity; empty for ``ManagedObject`` itself.
  open class var entityName: String { "" }

  @_spi(Generated) public init(_seed seed: borrowing ObjectSeed) {
    let state = seed.state
    // If the object's class does not match the model's class for the entity, a wrong plan would read and write the
    // object.
    let hasWrongClass = state.isInsertion && !state.scope.admits(type(of: self))
    scope = hasWrongClass ? ObjectScope(plan: .unknown(state.scope.plan.name), context: nil) : state.scope
    key = hasWrongClass ? 0 : state.key
    revision = UInt32(truncatingIfNeeded: state.version)
    flags = hasWrongClass ? .inaccessible : state.flags
    if hasWrongClass { state.scope.context?.refuseInsertion(of: state.scope.plan.name) }
    if state.isInsertion, let context = scope.context {
      if !scope.plan.isTyped { requireExtras().values = scope.plan.initialValues }
      context.register(inserted: self)
      _setInsertionDefaults()
      if let lifecycle { context.activity.run(.awakeFromInsert) { lifecycle.awakeFromInsert() } }
    }
  }

  // MARK: The contract with generated classes

  /// Sets the attributes whose defaults are computed at each insertion.
  @_spi(Generated) open func _setInsertionDefaults() {
    guard !scope.plan.isTyped, let extras else { return }
    for (slot, value) in scope.plan.insertionDefaults {
      extras.values[slot] = DefaultValues.value(of: value)
    }
  }

  /// Reads all stored columns, and transient attributes if the row has them.
  @_spi(Generated) open func _decode(_ row: RowReader) {
    guard !scope.plan.isTyped else { return }
    decodeValues(row)
  }

  /// Writes the value of a slot.
  @_spi(Generated) open func _encode(_ slot: Int, _ writer: RowWriter) {
    guard !scope.plan.isTyped else { return }
    encodeValue(slot, writer)
  }

  /// Sets the key of a to-one relationship whose reference the object's own table stores.
  @_spi(Generated) open func _setReference(_ slot: Int, _ key: ObjectKey) {
    guard let extras, slot < extras.values.count else { return }
    extras.values[slot] = key == 0 ? .null : .int(key)
  }

  /// The key paths of the properties, in the order of the slots, if the model asks for them.
  @_spi(Generated) open class var _keyPaths: KeyPathTable { .empty }

  /// Called before a property is read.
  @_spi(Generated) public final func _willRead() {
    if flags.rawValue & ObjectFlags.fault.rawValue != 0 { fireFault() }
  }

  /// Called before an attribute is set.
  @_spi(Generated) public final func _willWrite(_ slot: Int) {
    // A new object needs no record of its changes, unless it was created without values, or is tracked or observed.
    let recorded: ObjectFlags = [
      .fault, .inaccessible, .inserted, .deleted, .deletionSaved, .draft, .tracked, .observed,
    ]
    if flags.rawValue & recorded.rawValue != ObjectFlags.inserted.rawValue {
      noteWrite(slot)
      // Afterwards: an observer, which is told before the change, may fetch and find the row gone.
      noteLostChange(slot)
    }
  }

  /// Called before the runtime sets a slot, for example in a deletion or an undo, also of objects whose changes no
  /// save writes.
  final func willSet(_ slot: Int) {
    let recorded: ObjectFlags = [.fault, .inaccessible, .inserted, .draft, .tracked, .observed]
    if flags.rawValue & recorded.rawValue != ObjectFlags.inserted.rawValue { noteWrite(slot) }
  }

  /// Sets the key of a to-one relationship on behalf of the runtime, and records the change.
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
  /// The object's identifier, which is permanent from its insertion.
  public final var objectID: ManagedObjectID {
    ManagedObjectID(
      storeID: scope.storeID, entityName: scope.plan.name, key: key)
  }

  /// The object's entity.
  public final var entity: EntityDescription { scope.plan.description }

  /// The object's context; nil once the context has been reset.
  ///
  /// An object does not retain its context. If the context has been released, this property returns a replacement
  /// context. It has this object and the other objects that are still alive, with their changes and the former
  /// context's ``ManagedObjectContext/mergePolicy``, and is released when it is no longer used. All the same, keep
  /// your contexts, or your ``PersistentContainer``: creating a replacement for each relationship that is read takes
  /// time, and the undo manager is lost with its context.
  public final var managedObjectContext: ManagedObjectContext? { scope.context }

  /// Whether the object's values have not been read yet. Reading a value reads them.
  public final var isFault: Bool { flags.contains(.fault) }

  /// Whether the object no longer has a row or a context.
  public final var isInaccessible: Bool { flags.contains(.inaccessible) || !scope.hasContext }

  /// Whether the object has been inserted and not saved since.
  public final var isInserted: Bool { flags.contains(.inserted) && !flags.contains(.deleted) }

  /// Whether a stored object has unsaved changes: other values or related objects than when it was read or last
  /// saved. See ``ManagedObjectContext/hasChanges``.
  public final var isUpdated: Bool {
    guard hasUpdatedFlags, let context = scope.context else { return false }
    var comparison = SnapshotComparison(context)
    return comparison.isUpdated(self)
  }

  /// Whether a stored object has been changed since the last save. It may have been changed back.
  final var hasUpdatedFlags: Bool {
    !flags.isDisjoint(with: [.updated, .changedOutsideRow]) && flags.isDisjoint(with: [.inserted, .deleted])
  }

  /// Whether the object has been deleted in the context or, after a save, in the store.
  public final var isDeleted: Bool { !flags.isDisjoint(with: [.deleted, .deletionSaved]) }

  /// Whether the object's changes need its row. Removals from relationships do not need it. A child's save leaves out
  /// relationships with an object that the parent does not have.
  final var needsRow: Bool {
    if flags.contains(.updated) { return true }
    guard scope.context?.parent == nil else { return false }
    return extras?.toMany.contains { !$0.state.added.isEmpty } == true
  }

  /// Whether rows of the store may refer to the object.
  final var mayHaveRowsOfOthers: Bool { !flags.contains(.inserted) || flags.contains(.reinserted) }

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
    !scope.hasContext || !flags.isDisjoint(with: [.deleted, .deletionSaved, .inaccessible])
  }

  /// Records that a slot is set on an object that no save writes: the object has been deleted, or its context has
  /// been reset.
  final func noteLostChange(_ slot: Int) {
    // A failed insertion has been reported already.
    guard isLost, key != 0, slot < scope.plan.slots.count,
      let context = scope.context ?? scope.formerContext, !context.activity.isRunningHook
    else { return }
    report(scope.context == nil ? .contextGone : .changeLost, slot: slot)
    context.pendingChanges.noteLostChange(of: self, scope.plan.slots[slot].name)
  }

  /// Records that a slot is about to change.
  private final func noteWrite(_ slot: Int) {
    willChange(slot)
    // Not before: an observer may fetch, which tells of another context's save of the object.
    if flags.contains(.fault) { fireFault() }
    guard let context = scope.context, !flags.contains(.inaccessible) else { return }
    context.noteUndoIfWanted(self, slot)
    // Afterwards, because undo restores the list as it was before the change.
    if flags.isSuperset(of: [.inserted, .draft]) { requireExtras().assigned.insert(slot) }
    if context.activity.isAwakening { return }
    context.pendingChanges.countChange()
    guard !flags.contains(.inserted) else { return }
    let extras = requireExtras()
    guard !extras.changed.contains(slot) else { return }
    extras.changed.insert(slot)
    if context.parent != nil { noteFirstWriteInChild(slot, extras, context) }
    guard slot < scope.plan.slots.count else { return }
    let former = storedValue(slot)
    extras.old.append((slot, former))
    if case .data = former, scope.plan.slots[slot].isUnencodable(former) {
      context.pendingChanges.noteFormerStorage(unencodableStorage(slot), of: self, slot)
    }
    mark(scope.plan.slots[slot].isStored ? .updated : .changedOutsideRow, in: context)
  }

  /// Records whether the first change of a slot gives an ancestor's draft a value that it lacks.
  private final func noteFirstWriteInChild(
    _ slot: Int, _ extras: ObjectExtras, _ context: ManagedObjectContext
  ) {
    if context.draftLacks(slot, of: self) {
      extras.assigned.insert(slot)
    } else {
      extras.assigned.remove(slot)
    }
  }

  /// Records the change of a relationship that is stored outside the object's row. The caller has called
  /// `willChange(_:)`.
  final func noteChangeOutsideRow(_ slot: Int) {
    didChange(slot)
    guard let context = scope.context else { return }
    if !flags.contains(.inserted) { requireExtras().changed.insert(slot) }
    mark(.changedOutsideRow, in: context)
  }

  final func mark(_ flag: ObjectFlags, in context: ManagedObjectContext) {
    flags.insert(flag)
    context.pendingChanges.add(self, of: context)
  }
}

extension ManagedObject: Identifiable {
  public typealias ID = ManagedObjectID
}

extension Identifiable where Self: ManagedObject {
  /// The object's identifier, unless its class has an attribute named `id`.
  public var id: ManagedObjectID { objectID }
}

extension ManagedObject: FormatArgument {
  /// The object as a constant of a predicate: the argument of `%@` in `publisher == %@`.
  public var expressionConstant: ExpressionConstant { .object(reference) }
}

extension ManagedObject: CustomStringConvertible {
  /// The entity, the key, the state and the values of attributes: `<ToDo p1 name: "Call Grace" completed: false>`.
  ///
  /// A fault and an inaccessible object have no values in it, because a description reads nothing from the store. Texts
  /// are cut after 40 characters, and data is shown by its size.
  @_optimize(none)
  public var description: String {
    let state =
      isDeleted
      ? " deleted" : isInaccessible ? " inaccessible" : isInserted ? " inserted" : isFault ? " fault" : ""
    var values = ""
    if !isFault, !isInaccessible {
      // A writer of its own: the context's may be in use where a description is printed.
      let writer = RowWriter()
      for slot in scope.plan.slots {
        guard let attribute = slot.attribute else { continue }
        values += " \(slot.name): "
        values += attribute.storesExternally ? "…" : storedValue(slot.number, by: writer).excerpt
      }
    }
    return "<\(scope.plan.name) p\(key)\(state)\(values)>"
  }
}
