/// The state of an object.
struct ObjectFlags: OptionSet {
  let rawValue: UInt16

  /// The values have not been read.
  static let fault = ObjectFlags(rawValue: 1)
  /// The object has no row to read values from.
  static let inaccessible = ObjectFlags(rawValue: 2)
  static let inserted = ObjectFlags(rawValue: 4)
  /// Stored slots have been changed.
  static let updated = ObjectFlags(rawValue: 8)
  static let deleted = ObjectFlags(rawValue: 16)
  /// A transient attribute, or a relationship that is stored outside the object's row, has been changed.
  static let changedOutsideRow = ObjectFlags(rawValue: 32)
  /// The object is in the context's list of pending objects.
  static let listed = ObjectFlags(rawValue: 64)
  /// The deletion has been saved.
  static let deletionSaved = ObjectFlags(rawValue: 128)
  /// A new object of a generated class that was created without values. The values that it is given are recorded,
  /// since the class holds its types' empty values for the others.
  static let draft = ObjectFlags(rawValue: 256)
  /// A new object whose changes are recorded for undo.
  static let tracked = ObjectFlags(rawValue: 512)
  /// A new object that had been deleted before. Rows of other objects may refer to it.
  static let reinserted = ObjectFlags(rawValue: 1024)

  /// An object of a child with values that are unsaved in the parent, or in a parent of the parent, or that have been
  /// saved there since the child took them over.
  static let hasParentChanges = ObjectFlags(rawValue: 2048)
  /// A property of the object, whose class is observable, has been read.
  static let observed = ObjectFlags(rawValue: 4096)
  /// Another context has written the row since it was read. The object's changes have kept it from being read again.
  static let outdated = ObjectFlags(rawValue: 8192)
  /// Another context has deleted the row of an object with changes since it was read.
  static let rowDeletedElsewhere = ObjectFlags(rawValue: 16384)

  /// The flags of a pending object.
  static let pending: ObjectFlags = [.inserted, .updated, .deleted, .changedOutsideRow]
  /// The flags of an object without values, or one that others must not find.
  static let absent: ObjectFlags = [.fault, .inaccessible, .deleted, .deletionSaved]

  /// Replaces all flags except `observed`, which is independent of the row's state.
  mutating func become(_ flags: ObjectFlags) { self = flags.union(intersection(.observed)) }
}

extension ManagedObject {
  /// Whether the object exists: it has been inserted and not deleted.
  final var exists: Bool { flags.isDisjoint(with: [.deleted, .deletionSaved, .inaccessible]) }

  /// Whether the object has a row, and its deletion has not been saved.
  final var isDeletionUnsaved: Bool {
    flags.contains(.deleted) && flags.isDisjoint(with: [.inserted, .deletionSaved, .inaccessible])
  }

  /// Whether the object exists, or is deleted and still has its row.
  final var existsOrExisted: Bool { exists || isDeletionUnsaved }
}

/// Data that only some objects need: changes, relationships that were read, values without a generated class.
final class ObjectExtras {
  /// The slots that have been changed since the last save.
  var changed = SlotSet()
  /// The values of changed attributes and references before their first change.
  var old: [(slot: Int, value: AttributeValue)] = []
  /// The to-many relationships that have been loaded or changed.
  var toMany: [(slot: Int, state: ToManyState)] = []
  /// The partners in one-to-one relationships whose references the partners' tables store, by slot, once known; 0 for
  /// no partner.
  // Not `= [:]`: in code that is optimised for size, a generic function makes the literal, for each object with changes.
  var partners = [Int: ObjectKey]()
  /// Whether another context may have changed the partners, while changes of this context have kept them from being
  /// read again.
  var hasOutdatedPartners = false
  /// All values by slot, for an object without a generated class. A reference's value is its key.
  var values: [AttributeValue] = []
  /// The slots of `values` that have not been read: see ``LargeValue``.
  var unread = SlotSet()
  /// The slots whose values are empty because their files could not be read: see ``ManagedObject/isUnreadable(_:)``.
  // Not a `SlotSet`, which is larger: untyped objects have these data too.
  var unreadable: [Int] = []
  /// The attributes of a draft that have been given values. In a child's instance of an ancestor's draft, the changed
  /// attributes that the draft lacks. Without meaning for other objects and other slots.
  var assigned = SlotSet()
  /// The errors with which the next save refuses the object.
  var faults: [ValidationError] = []

  /// The key of the existing object that a new object has become in a save, because it had the same unique values.
  var survivor: ObjectKey = 0
  /// The observation of the object's properties.
  var observation: ObjectObservation?

  /// The value of a changed attribute or reference before its first change; nil if it has not been changed.
  func oldValue(_ slot: Int) -> AttributeValue? {
    for entry in old where entry.slot == slot { return entry.value }
    return nil
  }

  func toManyState(_ slot: Int) -> ToManyState? {
    for entry in toMany where entry.slot == slot { return entry.state }
    return nil
  }
}
