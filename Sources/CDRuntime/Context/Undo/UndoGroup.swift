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
  /// The objects of ordered relationships that were changed.
  var lists: [Int: [ObjectKey]] = [:]
  /// Who referred to a deleted object without being told of its end.
  var referrers: [UndoReferrer] = []
  /// References that a deleted object has let go of since its deletion, which a rule of `deny` refuses as long as they are
  /// there.
  var denials: [Int: AttributeValue] = [:]
  /// Whether the object came with the group as a new one. Where it goes again nothing of its relationships is left; where a
  /// deletion is made again, rules of `deny` and `noAction` leave them as they did.
  var isInsertion = false
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
  /// Whether the reference was the store's, and no change of the context.
  let isStored: Bool

  init(_ object: ManagedObject, _ relationship: RelationshipPlan) {
    (self.object, self.relationship) = (object, relationship)
    isStored =
      !object.flags.contains(.inserted) && object.extras?.changed.contains(relationship.slot) != true
  }
}

/// Two objects in a relationship that has rows of pairs.
struct UndoPair {
  let object: ManagedObject
  let relationship: RelationshipPlan
  let member: ManagedObject
  /// Whether they were related.
  let wasRelated: Bool
  /// Whether that was a change of the context's.
  var wasAdded = false

  /// What tells pairs apart, from whichever side they are seen.
  struct ID: Hashable {
    private let join: Int
    let source: ObjectKey
    private let target: ObjectKey

    /// Nil where the relationship has no pairs.
    init?(_ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject) {
      guard case .join(let place, let isSource) = relationship.storage else { return nil }
      join = place
      let isTurned = relationship.isSymmetric ? member.key < object.key : !isSource
      (source, target) = isTurned ? (member.key, object.key) : (object.key, member.key)
    }
  }
}

/// Changes that are undone together.
final class UndoGroup {
  var name = ""
  /// Whether changes of the group have been saved.
  var isSaved = false
  var entries: [UndoEntry] = []
  private(set) var pairs: [UndoPair] = []
  private var knownPairs: Set<UndoPair.ID> = []
  private var places: [ObjectIdentifier: Int] = [:]

  var isEmpty: Bool { entries.isEmpty && pairs.isEmpty }

  func place(of object: ManagedObject) -> Int? { places[ObjectIdentifier(object)] }

  func add(_ entry: UndoEntry) -> Int {
    places[ObjectIdentifier(entry.object)] = entries.count
    entries.append(entry)
    return entries.count - 1
  }

  func hasPair(_ id: UndoPair.ID) -> Bool { knownPairs.contains(id) }

  func add(_ pair: UndoPair, _ id: UndoPair.ID) {
    knownPairs.insert(id)
    pairs.append(pair)
  }

  /// Ends the group: notes how lists have come out, and forgets what is as it was.
  func close(in context: ManagedObjectContext) {
    for place in entries.indices {
      let object = entries[place].object
      entries[place].existedAfter = object.exists
      for slot in entries[place].lists.keys {
        entries[place].listsAfter[slot] = object.exists ? context.visibleKeys(of: object, slot) : []
      }
      entries[place].denials = entries[place].denials.filter { object.storedValue($0.key) != $0.value }
      guard entries[place].existed, object.exists else { continue }
      object._willRead()
      entries[place].values = entries[place].values.filter { object.storedValue($0.key) != $0.value }
      entries[place].lists = entries[place].lists.filter { entries[place].listsAfter[$0.key] != $0.value }
    }
    entries.removeAll { entry in
      entry.existed == entry.existedAfter
        && (!entry.existed || entry.values.isEmpty && entry.lists.isEmpty) && entry.denials.isEmpty
    }
    places.removeAll()
    knownPairs.removeAll()
    pairs = pairs.filter { pair in
      guard pair.object.exists, pair.member.exists else { return true }
      return context.hasPair(pair.object, pair.relationship, pair.member) != pair.wasRelated
    }
  }
}

extension ManagedObject {
  /// Whether the object is there: it has been inserted, and not been deleted.
  final var exists: Bool { flags.isDisjoint(with: [.deleted, .gone, .inaccessible]) }

  /// Whether the object has a row, and its deletion is unsaved.
  final var isLeaving: Bool {
    flags.contains(.deleted) && flags.isDisjoint(with: [.inserted, .gone, .inaccessible])
  }

  /// Whether the object is there, or is deleted and still has its row.
  final var isOrWasThere: Bool { exists || isLeaving }

  /// Whether a slot is a reference in the object's row that refuses the object's deletion.
  final func isDenial(_ slot: Int) -> Bool {
    guard let relationship = scope.plan.relationship(slot), case .reference = relationship.storage else {
      return false
    }
    return relationship.description.deleteRule == .deny
  }
}
