/// The state of an object before a group of changes: the data of its own row and of its pairs' rows. Relationships
/// that follow from the references of other objects are not included, except for their order.
struct UndoEntry {
  let object: ManagedObject
  /// Whether the object existed: it had been inserted and not deleted.
  let existed: Bool
  /// Whether the object was a draft, which may lack values, and the attributes that it had been given.
  let isDraft: Bool
  let assigned: SlotSet
  /// The former values of changed attributes and references; of all of them if the object was inserted or deleted.
  var values: [Int: AttributeValue] = [:]
  /// The storages of the values that cannot be encoded.
  private(set) var unencodable: [Int: Any] = [:]
  /// The slots whose former values are empty only because their files could not be read.
  private(set) var unreadable: [Int] = []
  /// The slots to which a child's object had given values that an ancestor's draft lacks.
  private(set) var given = SlotSet()
  /// The former objects of changed ordered relationships.
  var lists: [Int: [ObjectKey]] = [:]
  /// The objects that referred to a deleted object and were not changed by its deletion.
  var referrers: [UndoReferrer] = []
  /// The former references that a deleted object has changed since its deletion. A `deny` rule refuses the deletion
  /// as long as they exist.
  var denials: [Int: AttributeValue] = [:]
  /// Whether the group inserted the object. If such an object is removed again, all of its relationships are removed.
  /// If a deletion is made again instead, `deny` and `noAction` rules leave relationships as they did before.
  var isInsertion = false
  /// Whether the group deleted the object. An object that another context has deleted meanwhile stays gone.
  var isDeletion = false
  /// The slots that only the deletion has recorded: the group had not changed them before.
  var deletedSlots = SlotSet()
  /// Whether the object existed at the end of the group, or would exist but for another context.
  var existedAfter = true
  /// The objects of the relationships at the end of the group. Comparing with these shows which objects others have
  /// added or removed later.
  var listsAfter: [Int: [ObjectKey]] = [:]

  init(_ object: ManagedObject, existed: Bool) {
    self.object = object
    self.existed = existed
    isDraft = object.flags.contains(.draft)
    assigned = object.extras?.assigned ?? SlotSet()
  }

  /// Forgets what the deletion has recorded.
  mutating func forgetDeletion() {
    let deleted = deletedSlots
    values = values.filter { !deleted.contains($0.key) }
    unencodable = unencodable.filter { !deleted.contains($0.key) }
    unreadable.removeAll(where: deleted.contains)
    lists = lists.filter { !deleted.contains($0.key) }
    deletedSlots = SlotSet()
    referrers.removeAll()
    isDeletion = false
    existedAfter = true
  }

  /// Records the present value of an attribute or a reference. An undo leaves a value as it is that cannot be read.
  mutating func note(_ slot: Int) {
    let value = object.knownValue(slot)
    values[slot] = value
    if object.isUnreadable(slot) { unreadable.append(slot) }
    if object.givesLackingValue(slot) { given.insert(slot) }
    if let value, object.scope.plan.slots[slot].isUnencodable(value) {
      unencodable[slot] = object.unencodableStorage(slot)
    }
  }
}

/// A reference to an object whose deletion does not change the reference.
struct UndoReferrer {
  let object: ManagedObject
  let relationship: RelationshipPlan
  /// Whether the reference is stored, and not a change of the context.
  let isStored: Bool

  init(_ object: ManagedObject, _ relationship: RelationshipPlan) {
    (self.object, self.relationship) = (object, relationship)
    isStored =
      !object.flags.contains(.inserted) && object.extras?.changed.contains(relationship.slot) != true
  }
}

/// Two objects in a many-to-many relationship.
struct UndoPair {
  let object: ManagedObject
  let relationship: RelationshipPlan
  let member: ManagedObject
  /// Whether the objects were related before the group.
  let wasRelated: Bool
  /// Whether the context had added the pair since its last save.
  var wasAdded = false
  /// Whether the change has been saved.
  var isSaved = false
  /// Whether the pair was recorded because the group has deleted one of the objects.
  var isOfDeletion = false

  /// Identifies a pair, from either side.
  struct ID: Hashable {
    private let join: Int
    let source: ObjectKey
    private let target: ObjectKey

    /// Nil if the relationship has no pairs.
    init?(_ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject) {
      guard case .join(let index, let isSource) = relationship.storage else { return nil }
      join = index
      let isReversed = relationship.isSymmetric ? member.key < object.key : !isSource
      (source, target) = isReversed ? (member.key, object.key) : (object.key, member.key)
    }
  }
}

/// Changes that are undone together.
final class UndoGroup {
  var name = ""
  /// Whether all changes of the group have been saved.
  var isSaved = false
  var entries: [UndoEntry] = []
  private(set) var pairs: [UndoPair] = []
  private var knownPairs: Set<UndoPair.ID> = []
  private var entryIndices: [ObjectIdentifier: Int] = [:]

  var isEmpty: Bool { entries.isEmpty && pairs.isEmpty }

  func index(of object: ManagedObject) -> Int? { entryIndices[ObjectIdentifier(object)] }

  func add(_ entry: UndoEntry) -> Int {
    entryIndices[ObjectIdentifier(entry.object)] = entries.count
    entries.append(entry)
    return entries.count - 1
  }

  func hasPair(_ id: UndoPair.ID) -> Bool { knownPairs.contains(id) }

  func add(_ pair: UndoPair, _ id: UndoPair.ID) {
    knownPairs.insert(id)
    pairs.append(pair)
  }

  /// Records that the changes of the pairs until now have been saved.
  func notePairsSaved() {
    for index in pairs.indices { pairs[index].isSaved = true }
  }

  /// Records that the group's deletion of an object was taken back, and that the object has the values of its row since
  /// then. The undo must not put back former values, because another context has changed the row.
  ///
  /// - Returns: Whether the group has deleted the object.
  @_optimize(none)
  func noteDeletionTakenBack(_ object: ManagedObject) -> Bool {
    guard let index = entries.firstIndex(where: { $0.object === object && $0.isDeletion }) else {
      return false
    }
    entries[index].forgetDeletion()
    let deleted = Set(entries.lazy.filter(\.isDeletion).map { ObjectIdentifier($0.object) })
    pairs.removeAll { pair in
      guard pair.isOfDeletion, pair.object === object || pair.member === object,
        // The undo of the other object's deletion needs the pair.
        !deleted.contains(ObjectIdentifier(pair.object)), !deleted.contains(ObjectIdentifier(pair.member))
      else { return false }
      if let id = UndoPair.ID(pair.object, pair.relationship, pair.member) { knownPairs.remove(id) }
      return true
    }
    // An open group still finds its entries by their indices.
    let entry = entries[index]
    if entryIndices.isEmpty, entry.values.isEmpty, entry.lists.isEmpty, entry.denials.isEmpty {
      entries.remove(at: index)
    }
    return true
  }

  /// Ends the group: records the objects that lists have now, and forgets values that have not changed.
  @_optimize(none)
  func close(in context: ManagedObjectContext) {
    for index in entries.indices {
      let object = entries[index].object
      entries[index].existedAfter = object.exists || entries[index].existed && !entries[index].isDeletion
      for slot in entries[index].lists.keys {
        entries[index].listsAfter[slot] = object.exists ? context.visibleKeys(of: object, slot) : []
      }
      entries[index].denials = entries[index].denials.filter { object.storedValue($0.key) != $0.value }
      guard entries[index].existed, object.exists else { continue }
      object._willRead()
      let (storages, given) = (entries[index].unencodable, entries[index].given)
      let unreadable = entries[index].unreadable
      entries[index].values = entries[index].values.filter { slot, value in
        object.storedValue(slot) != value || object.hasOtherStorage(slot, than: value, storages[slot])
          || object.givesLackingValue(slot) != given.contains(slot)
          || object.isUnreadable(slot) != unreadable.contains(slot)
      }
      entries[index].lists = entries[index].lists.filter { entries[index].listsAfter[$0.key] != $0.value }
    }
    entries.removeAll { entry in
      entry.existed == entry.existedAfter
        && (!entry.existed || entry.values.isEmpty && entry.lists.isEmpty) && entry.denials.isEmpty
    }
    entryIndices.removeAll()
    knownPairs.removeAll()
    pairs = pairs.filter { pair in
      guard pair.object.exists, pair.member.exists else { return true }
      return context.hasPair(pair.object, pair.relationship, pair.member) != pair.wasRelated
    }
  }
}

extension ManagedObject {
  /// Whether a slot is a reference in the object's row that refuses the object's deletion.
  final func isDenial(_ slot: Int) -> Bool {
    guard let relationship = scope.plan.relationship(slot), case .reference = relationship.storage else {
      return false
    }
    return relationship.description.deleteRule.refusesDeletion
  }
}
