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
