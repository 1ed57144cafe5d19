/// The state of an object.
struct ObjectFlags: OptionSet {
  let rawValue: UInt16

  /// The values have not been read.
  static let fault = ObjectFlags(rawValue: 1)
  /// There is no row to read the values from.
  static let inaccessible = ObjectFlags(rawValue: 2)
  static let inserted = ObjectFlags(rawValue: 4)
  /// Stored slots were changed.
  static let updated = ObjectFlags(rawValue: 8)
  static let deleted = ObjectFlags(rawValue: 16)
  /// A relationship whose data stand elsewhere was changed, or a transient attribute.
  static let touched = ObjectFlags(rawValue: 32)
  /// The context's list of pending objects has it.
  static let listed = ObjectFlags(rawValue: 64)
  /// The deletion has been saved.
  static let gone = ObjectFlags(rawValue: 128)
  /// A new object of a generated class that was made without values: which ones it is given is noted, since
  /// the class holds the type's empty value for the others.
  static let draft = ObjectFlags(rawValue: 256)
  /// A new object whose changes are noted for an undo.
  static let tracked = ObjectFlags(rawValue: 512)
  /// A new object that was gone before: others' rows may lead to it.
  static let revived = ObjectFlags(rawValue: 1024)

  /// An object of a child with values that are unsaved in the parent, or in a parent of that.
  static let mirrored = ObjectFlags(rawValue: 2048)
  /// Somebody has read a property of the object, whose class is observable.
  static let observed = ObjectFlags(rawValue: 4096)
  /// Others have written the row since it was read. The object's changes have kept it from being read again.
  static let outdated = ObjectFlags(rawValue: 8192)
  /// Others have deleted the row since it was read, of an object that has changes.
  static let vanished = ObjectFlags(rawValue: 16384)

  /// What makes an object pending.
  static let pending: ObjectFlags = [.inserted, .updated, .deleted, .touched]
  /// What a write has to look at first.
  static let unwritable: ObjectFlags = [.fault, .inaccessible]

  /// Puts others in place of the flags, except for what is no state of the row's.
  mutating func become(_ flags: ObjectFlags) { self = flags.union(intersection(.observed)) }
}

/// What only some objects have: changes, relationships that were looked at, values without a generated class.
///
/// Its fields are read and written for each value of a row, and by nothing that could come back to them meanwhile: an
/// access runs no code of an app's. The runtime's check that none overlaps another would cost more than the access.
final class ObjectExtras {
  /// Slots that were changed since the last save.
  @exclusivity(unchecked) var changed = SlotSet()
  /// The values of changed attributes and references before their first change.
  @exclusivity(unchecked) var old: [(slot: Int, value: AttributeValue)] = []
  /// To-many relationships that were loaded or changed.
  @exclusivity(unchecked) var toMany: [(slot: Int, state: ToManyState)] = []
  /// The partner of a one-to-one relationship whose reference stands in the partner's table, once known.
  var partners: [Int: ObjectKey] = [:]
  /// Whether others may have changed the partners, and own changes have kept them from being read again.
  var hasOutdatedPartners = false
  /// All values by slot, for an object without a generated class; a reference is its key.
  @exclusivity(unchecked) var values: [AttributeValue] = []
  /// The attributes that a draft was given values for.
  @exclusivity(unchecked) var assigned = SlotSet()
  /// What the next save has to refuse.
  @exclusivity(unchecked) var faults: [ValidationError] = []

  /// The key of the object that a new one has become at a save, having its unique values.
  var survivor: ObjectKey = 0
  /// Who follows the object's properties.
  var observation: ObjectObservation?

  func toManyState(_ slot: Int) -> ToManyState? {
    for entry in toMany where entry.slot == slot { return entry.state }
    return nil
  }
}
