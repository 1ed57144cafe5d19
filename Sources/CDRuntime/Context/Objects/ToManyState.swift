/// What an object knows of one of its to-many relationships.
///
/// Either nothing but what was added and removed, or all. Keys, not objects: related objects that know each
/// other would keep each other alive.
final class ToManyState {
  /// The related objects; nil until they have been loaded.
  var keys: KeyList?
  /// Added and removed since the last save. In a relationship that has not been loaded it is whatever was asked for,
  /// removals first: what the store has is not known there, so that neither cancels the other.
  var added = KeyList()
  var removed = KeyList()
  /// Those of `added` and `removed` that a loaded relationship has in common with the store, because others have made the
  /// same changes. They stay this context's changes: the others may take theirs back before it saves.
  private(set) var shared: Set<ObjectKey> = []
  /// The objects of `keys`, kept until the context next lets go of what nobody uses.
  var cache: [ManagedObject]?
  /// The stored positions of an ordered relationship's objects, as they were loaded.
  var positions: [ObjectKey: Int64] = [:]
  /// Whether the relationship was set as a whole.
  var isReplaced = false
  /// Whether positions have to be written.
  var isOrderChanged = false

  /// Whether others have changed the objects since they were loaded, and own changes have kept them from being read again.
  var isOutdated = false

  var isChanged: Bool { !added.isEmpty || !removed.isEmpty || isOrderChanged }

  /// Whether a loaded relationship has other objects than the store.
  var differs: Bool {
    if shared.isEmpty { return !added.isEmpty || !removed.isEmpty }
    return added.keys.contains { !shared.contains($0) } || removed.keys.contains { !shared.contains($0) }
  }

  /// Notes that an object is related from now on, at the end of an ordered relationship.
  func add(_ key: ObjectKey) {
    cache = nil
    // A read since its removal may have brought back a position that the save has deleted.
    positions[key] = nil
    if keys != nil {
      guard keys?.contains(key) == false else { return }
      keys?.append(key)
      if !removed.remove(key) || shared.remove(key) != nil { added.append(key) }
    } else if !added.contains(key) {
      added.append(key)
    }
    isOrderChanged = true
  }

  /// Notes that an object is no longer related.
  func remove(_ key: ObjectKey) {
    cache = nil
    // Should it come back, it comes to the end.
    positions[key] = nil
    if keys != nil {
      guard keys?.remove(key) == true else { return }
      if !added.remove(key) || shared.remove(key) != nil { removed.append(key) }
    } else {
      added.remove(key)
      if !removed.contains(key) { removed.append(key) }
    }
  }

  /// Sets the order of what was added to a relationship that has not been loaded.
  ///
  /// - Parameter gone: Those of them that were removed before, and so lose the places that they may have.
  func reorderAdded(_ keys: [ObjectKey], removedBefore gone: [ObjectKey]) {
    added = KeyList(keys)
    for key in gone where !removed.contains(key) { removed.append(key) }
    isOrderChanged = true
  }

  /// Notes what the store has, to which the changes are added.
  func load(_ stored: [ObjectKey]) {
    var list = KeyList(stored.filter { !removed.contains($0) })
    var known = KeyList(stored)
    var removals = KeyList()
    shared.removeAll()
    for key in removed.keys where !added.contains(key) {
      removals.append(key)
      if !known.contains(key) { shared.insert(key) }
    }
    var additions = KeyList()
    for key in added.keys {
      if !list.contains(key) { list.append(key) }
      if removed.contains(key) {
        // It has gone and come back, to the end.
        positions[key] = nil
        if known.contains(key) { continue }
      }
      additions.append(key)
      if known.contains(key) { shared.insert(key) }
    }
    (keys, added, removed) = (list, additions, removals)
  }

  /// Forgets what the store has, and keeps the changes.
  func unload() {
    keys = nil
    cache = nil
    shared.removeAll()
  }

  /// Notes that others have changed the objects of an ordered relationship, which is not read again before the own changes
  /// have been saved.
  func becomeOutdated() {
    isOutdated = true
    // Where others have deleted an object and written it anew, another instance stands for the key.
    cache = nil
    shared.removeAll()
  }

  /// Whether others have made a change too.
  func isShared(_ key: ObjectKey) -> Bool { shared.contains(key) }

  /// Notes that others have made a change too.
  func share(_ key: ObjectKey) { shared.insert(key) }

  /// Forgets that an object was added or removed.
  func forgetChange(of key: ObjectKey) {
    added.remove(key)
    removed.remove(key)
    shared.remove(key)
  }

  /// Makes all objects new ones, in a relationship of which the store has nothing.
  func become(new list: [ObjectKey]) {
    (keys, added, removed) = (KeyList(list), KeyList(list), KeyList())
    shared.removeAll()
    cache = nil
  }

  /// Forgets what was loaded, so that it is read again. There are no changes.
  ///
  /// The state is emptied and not replaced: a caller that is about to change it may have caused the reading that led
  /// here, and what it changes next must not get lost.
  func forget() {
    keys = nil
    cache = nil
    positions.removeAll()
    isReplaced = false
    isOutdated = false
    isOrderChanged = false
    added = KeyList()
    removed = KeyList()
    shared.removeAll()
  }

  /// Forgets changes that have been saved.
  func didSave() {
    if isOutdated { return forget() }
    // Where an object comes back later, its row has no position.
    for key in removed.keys { positions[key] = nil }
    added = KeyList()
    removed = KeyList()
    shared.removeAll()
    isOrderChanged = false
  }
}
