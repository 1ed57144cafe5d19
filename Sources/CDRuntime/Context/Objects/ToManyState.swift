/// An object's knowledge of one of its to-many relationships: either only the added and removed objects, or all
/// objects.
///
/// It has keys instead of objects: related objects that retain each other would never be released.
final class ToManyState {
  /// The related objects; nil if they have not been loaded.
  var keys: KeyList?
  /// The keys added and removed since the last save. In a relationship that has not been loaded, the stored objects
  /// are not known, so these are the requested changes, removals first: an addition and a removal do not cancel each
  /// other.
  var added = KeyList()
  var removed = KeyList()
  /// The keys of `added` and `removed` with which a loaded relationship agrees with the store, because another
  /// context has made the same changes. They remain changes of this context: the other context may take its changes
  /// back before this context saves.
  private(set) var shared: Set<ObjectKey> = []
  /// The objects of `keys`, kept until the context next releases unused objects.
  var cache: [ManagedObject]?
  /// The stored positions of an ordered relationship's objects, as they were loaded.
  var positions: [ObjectKey: Int64] = [:]
  /// Whether the relationship was set as a whole.
  var isReplaced = false
  /// Whether the save has to write positions.
  var isOrderChanged = false

  /// Whether another context has changed the relationship since it was loaded, while changes of this context have
  /// kept it from being read again.
  var isOutdated = false

  var isChanged: Bool { !added.isEmpty || !removed.isEmpty || isOrderChanged }

  /// Whether a loaded relationship has other objects than the store.
  var differs: Bool {
    if shared.isEmpty { return !added.isEmpty || !removed.isEmpty }
    return added.keys.contains { !shared.contains($0) } || removed.keys.contains { !shared.contains($0) }
  }

  /// Adds an object, at the end of an ordered relationship.
  func add(_ key: ObjectKey) {
    cache = nil
    // A read since the removal may have brought back a position that the save has deleted.
    if !positions.isEmpty { positions[key] = nil }
    if keys != nil {
      guard keys?.contains(key) == false else { return }
      keys?.append(key)
      if !removed.remove(key) || shared.remove(key) != nil { added.append(key) }
    } else if !added.contains(key) {
      added.append(key)
    }
    isOrderChanged = true
  }

  /// Removes an object.
  func remove(_ key: ObjectKey) {
    cache = nil
    // If the object is added again, it goes to the end.
    positions[key] = nil
    if keys != nil {
      guard keys?.remove(key) == true else { return }
      if !added.remove(key) || shared.remove(key) != nil { removed.append(key) }
    } else {
      added.remove(key)
      if !removed.contains(key) { removed.append(key) }
    }
  }

  /// Sets the order of the objects that were added to a relationship that has not been loaded.
  ///
  /// - Parameter gone: Those of the objects that were removed before, and so lose their positions.
  func reorderAdded(_ keys: [ObjectKey], removedBefore gone: [ObjectKey]) {
    added = KeyList(keys)
    for key in gone where !removed.contains(key) { removed.append(key) }
    isOrderChanged = true
  }

  /// Sets the stored objects, and applies the changes to them.
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
        // It was removed and added again, at the end.
        positions[key] = nil
        if known.contains(key) { continue }
      }
      additions.append(key)
      if known.contains(key) { shared.insert(key) }
    }
    (keys, added, removed) = (list, additions, removals)
  }

  /// Forgets the stored objects and keeps the changes.
  func unload() {
    keys = nil
    cache = nil
    shared.removeAll()
  }

  /// Handles that another context has changed an ordered relationship with changes, which is not read again before
  /// they have been saved.
  func becomeOutdated() {
    isOutdated = true
    // If another context has deleted an object and inserted it again, another instance stands for the key.
    cache = nil
    shared.removeAll()
  }

  /// The changes of this context that concern an object.
  func changes(_ key: ObjectKey) -> (isAdded: Bool, isRemoved: Bool) {
    (!added.isEmpty && added.contains(key), !removed.isEmpty && removed.contains(key))
  }

  /// Whether another context has made the same change.
  func isShared(_ key: ObjectKey) -> Bool { shared.contains(key) }

  /// Records that another context has made the same change.
  func share(_ key: ObjectKey) { shared.insert(key) }

  /// Records that an object of the list is an addition.
  func noteAddition(of key: ObjectKey) {
    if !added.contains(key) { added.append(key) }
  }

  /// Forgets that an object was added.
  func forgetAddition(of key: ObjectKey) {
    if added.remove(key) { shared.remove(key) }
  }

  /// Forgets that an object was added or removed.
  func forgetChange(of key: ObjectKey) {
    added.remove(key)
    removed.remove(key)
    shared.remove(key)
  }

  /// Makes all objects additions, in a relationship that has no stored objects.
  func become(new list: [ObjectKey]) {
    (keys, added, removed) = (KeyList(list), KeyList(list), KeyList())
    shared.removeAll()
    cache = nil
  }

  /// Forgets the loaded objects, so that they are read again. There are no changes.
  ///
  /// The state is emptied instead of replaced: a caller that is about to change it may have caused the reading that
  /// led here, and its next changes must not be lost.
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
    // If an object is added again later, its row has no position.
    for key in removed.keys { positions[key] = nil }
    added = KeyList()
    removed = KeyList()
    shared.removeAll()
    isOrderChanged = false
  }
}
