/// What an object knows of one of its to-many relationships.
///
/// Either nothing but what was added and removed, or all. Keys, not objects: related objects that know each
/// other would keep each other alive.
final class ToManyState {
  /// The related objects; nil until they have been loaded.
  var keys: KeyList?
  /// Added to a relationship that has not been loaded, or, in a loaded one, since the last save.
  var added = KeyList()
  var removed = KeyList()
  /// The objects of `keys`, kept until the context next lets go of what nobody uses.
  var cache: [ManagedObject]?
  /// The stored positions of an ordered relationship's objects, as they were loaded.
  var positions: [ObjectKey: Int64] = [:]
  /// Whether positions have to be written.
  var isOrderChanged = false

  var isChanged: Bool { !added.isEmpty || !removed.isEmpty || isOrderChanged }

  /// Notes that an object is related from now on.
  func add(_ key: ObjectKey, at index: Int? = nil) {
    cache = nil
    if !removed.remove(key) { added.append(key) }
    if let index { keys?.insert(key, at: index) } else { keys?.append(key) }
    isOrderChanged = true
  }

  /// Notes that an object is no longer related.
  func remove(_ key: ObjectKey) {
    cache = nil
    if !added.remove(key) { removed.append(key) }
    keys?.remove(key)
  }

  /// Forgets changes that have been saved.
  func didSave() {
    // Where an object comes back later, its row has no position.
    for key in removed.keys { positions[key] = nil }
    added = KeyList()
    removed = KeyList()
    isOrderChanged = false
  }
}
