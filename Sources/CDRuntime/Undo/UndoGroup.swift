/// What an object was before a group of changes: facts that its own row, or rows of pairs, would hold. What follows
/// from the references of others is no part of it, but for the order that they have.
struct UndoEntry {
  let object: ManagedObject
  /// Whether there was the object: it had been inserted, and had not been deleted.
  let existed: Bool
  /// Whether it was a draft, an object that may lack values, and which ones it had been given.
  let isDraft: Bool
  let assigned: SlotSet
  /// Attributes and references that were changed; all of them where the object has come or gone.
  var values: [Int: AttributeValue] = [:]
  /// The objects of many-to-many and ordered relationships that were changed.
  var lists: [Int: [ObjectKey]] = [:]
  /// Who referred to a deleted object without being told of its end.
  var referrers: [UndoReferrer] = []
  /// Whether there was the object at the group's end.
  var existedAfter = true
  /// The lists at the group's end: what others add to them later, and take out, is told by these.
  var listsAfter: [Int: [ObjectKey]] = [:]

  init(_ object: ManagedObject, existed: Bool) {
    self.object = object
    self.existed = existed
    isDraft = object.flags.contains(.draft)
    assigned = object.extras?.assigned ?? SlotSet()
  }
}

/// A reference to an object whose deletion leaves it as it is.
struct UndoReferrer {
  let object: ManagedObject
  let relationship: RelationshipPlan
}

/// Changes that are undone together.
final class UndoGroup {
  var name = ""
  var entries: [UndoEntry] = []
  private var places: [ObjectIdentifier: Int] = [:]

  func place(of object: ManagedObject) -> Int? { places[ObjectIdentifier(object)] }

  func add(_ entry: UndoEntry) -> Int {
    places[ObjectIdentifier(entry.object)] = entries.count
    entries.append(entry)
    return entries.count - 1
  }

  /// Ends the group: notes how lists have come out, and forgets what is as it was.
  func close(in context: ManagedObjectContext) {
    for place in entries.indices {
      let object = entries[place].object
      entries[place].existedAfter = object.exists
      for slot in entries[place].lists.keys {
        entries[place].listsAfter[slot] = object.exists ? context.visibleKeys(of: object, slot) : []
      }
      guard entries[place].existed, object.exists else { continue }
      object._willRead()
      entries[place].values = entries[place].values.filter { object.storedValue($0.key) != $0.value }
      entries[place].lists = entries[place].lists.filter { entries[place].listsAfter[$0.key] != $0.value }
    }
    entries.removeAll { entry in
      entry.existed == entry.existedAfter
        && (!entry.existed || entry.values.isEmpty && entry.lists.isEmpty)
    }
    places.removeAll()
  }
}

extension ManagedObject {
  /// Whether the object is there: it has been inserted, and not been deleted.
  final var exists: Bool { flags.isDisjoint(with: [.deleted, .gone, .inaccessible]) }
}
