import Synchronization

/// The facts about an entity's generated class that the runtime needs. All are false for an entity without a class.
struct EntityTraits: Sendable {
  /// Whether there is a generated class, whose objects have their values as properties.
  var isTyped = false
  /// Whether the class's properties can be observed.
  var isObservable = false
  /// Returns whether the class conforms to ``ManagedObjectLifecycle``; nil for an entity without a class. To find out, Swift
  /// searches the conformances of the whole program, which takes as long as reading the entity's description.
  var findLifecycle: (@Sendable () -> Bool)?
}

/// An entity with all information that its objects and its table need. It is immutable, and all contexts share it.
package final class EntityPlan: Sendable {
  /// The index in ``ModelPlan/entities``.
  package let index: Int
  package let description: EntityDescription
  /// The index of the root entity, whose table holds the objects.
  package let root: Int
  /// The table that holds the objects of the root and its subentities.
  package let table: String
  /// The index of the store that holds the objects; nil if none of the coordinator's stores does.
  package let storeIndex: Int?
  /// The properties, in the order of their slots.
  package let slots: [PropertyPlan]
  let slotNumbers: [String: Int]
  /// The relationships by slot; nil if the slot is an attribute's.
  package let relationships: [RelationshipPlan?]
  /// The columns that hold the values, in the order of their numbers.
  package let columns: [ColumnPlan]
  /// The indexes of this entity and all its descendants.
  package let subtree: [Int]
  /// The indexes of this entity and its ancestors.
  package let lineage: [Int]
  let lineageNames: Set<String>
  /// Whether the table has a column that names the entity of each row.
  package let hasEntityColumn: Bool
  /// Whether there is a generated class, whose objects have their values as properties.
  let isTyped: Bool
  /// Whether the class conforms to ``ManagedObjectLifecycle``, as far as this is known. ``hasLifecycle`` finds it out.
  private let lifecycle: Atomic<UInt8>
  private let findLifecycle: (@Sendable () -> Bool)?
  /// Whether the class's properties can be observed.
  let isObservable: Bool
  /// The initial values of an object without a generated class, by slot.
  let initialValues: [AttributeValue]
  /// How each slot is read from a row. Asking the slots themselves for each row would retain and release them.
  let readings: [PropertyPlan.Reading]
  /// The slots whose default is computed at each insertion.
  let insertionDefaults: [(slot: Int, value: DefaultValue)]
  /// The slots that have columns, in order.
  package let storedSlots: [Int]
  let transientSlots: [Int]
  /// The slots of derived attributes. Each follows the others that its derivation reads from the same object.
  let derivedSlots: [Int]
  /// The slots whose large values are stored in files beside the store.
  package let externalSlots: [Int]
  /// The slots whose values the rows of objects may leave out. See ``LargeValue``.
  package let laterSlots: [Int]
  /// The slots whose values may have any size.
  let largeSlots: [Int]
  /// The slots of stored attributes that need a value before a new object of a generated class is saved. Empty for an
  /// entity without a class, whose objects may have no value until one is set.
  let requiredSlots: [Int]
  /// The slots with a rule that a value can break. A save checks only these. A guarantee of the class's types is not a
  /// rule.
  let ruledSlots: [Int]
  /// Those of them whose attributes are merely mandatory: see ``PropertyPlan/isMerelyMandatory``.
  let merelyMandatorySlots: [Int]
  /// The other slots with a rule.
  let furtherRuledSlots: [Int]
  /// The optional references, which are cleared when their object is deleted.
  let clearableSlots: [Int]
  /// Whether a relationship with a join table has the delete rule `deny` or `cascade`.
  let hasRuledPairs: Bool
  /// Whether other objects in memory keep their pairs with a deleted object until the deletion is saved.
  let leavesPairs: Bool

  package var name: String { description.name }
  /// Whether the entity has subentities.
  package var isPolymorphic: Bool { subtree.count > 1 }

  init(
    index: Int, description: EntityDescription, root: Int, table: String, storeIndex: Int?,
    slots: [PropertyPlan],
    columns: [ColumnPlan], subtree: [Int], lineage: [Int], lineageNames: Set<String>,
    hasEntityColumn: Bool, traits: EntityTraits = EntityTraits()
  ) {
    self.index = index
    self.description = description
    self.root = root
    self.table = table
    self.storeIndex = storeIndex
    self.slots = slots
    self.columns = columns
    self.subtree = subtree
    self.lineage = lineage
    self.lineageNames = lineageNames
    self.hasEntityColumn = hasEntityColumn
    isTyped = traits.isTyped
    isObservable = traits.isObservable
    findLifecycle = traits.findLifecycle
    lifecycle = Atomic(traits.findLifecycle == nil ? Self.lacksLifecycle : Self.mayHaveLifecycle)
    var lists = SlotLists(isTyped: traits.isTyped)
    for slot in slots { lists.add(slot) }
    lists.orderDerived(slots)
    slotNumbers = lists.numbers
    relationships = lists.relationships
    initialValues = lists.initialValues
    readings = lists.readings
    insertionDefaults = lists.insertionDefaults
    storedSlots = lists.stored
    transientSlots = lists.transient
    derivedSlots = lists.derived
    externalSlots = lists.external
    laterSlots = lists.later
    requiredSlots = lists.required
    ruledSlots = lists.ruled
    merelyMandatorySlots = lists.ruled.filter { slots[$0].isMerelyMandatory }
    furtherRuledSlots = lists.ruled.filter { !slots[$0].isMerelyMandatory }
    largeSlots = lists.large
    clearableSlots = lists.clearable
    hasRuledPairs = lists.hasRuledPairs
    leavesPairs = lists.leavesPairs
  }

  // MARK: Lifecycle methods

  // The values of `lifecycle`.
  private static let mayHaveLifecycle: UInt8 = 0
  private static let lacksLifecycle: UInt8 = 1
  private static let providesLifecycle: UInt8 = 2

  /// Whether the class conforms to ``ManagedObjectLifecycle``. The first call finds it out, so that opening a store does not
  /// ask each class.
  @inline(__always) var hasLifecycle: Bool {
    let known = lifecycle.load(ordering: .relaxed)
    return known == Self.mayHaveLifecycle ? askForLifecycle() : known == Self.providesLifecycle
  }

  @inline(never) private func askForLifecycle() -> Bool {
    let isFound = findLifecycle?() ?? false
    // Several threads may store the same value.
    lifecycle.store(isFound ? Self.providesLifecycle : Self.lacksLifecycle, ordering: .relaxed)
    return isFound
  }

  /// The relationship of a slot; nil for an attribute's slot and for an invalid number.
  package func relationship(_ slot: Int) -> RelationshipPlan? {
    relationships.indices.contains(slot) ? relationships[slot] : nil
  }

  /// The columns of ``laterSlots``, in the same order.
  package var laterColumns: [Int] { laterSlots.map { slots[$0].columns.lowerBound } }

  package func slot(_ key: String) -> PropertyPlan? { slotNumbers[key].map { slots[$0] } }

  /// Returns the name that is closest to an unknown name of a property, for the suggestion in an error; nil if no name is
  /// close.
  ///
  /// - Parameter others: Further names that the key could stand for.
  func closestKey(to key: String, or others: [String] = []) -> String? {
    closestName(to: key, in: slots.map(\.name) + others)
  }

  /// The columns of a property, or of a field given as `composite.field`; empty if it is not stored.
  @_optimize(none)
  package func columnNumbers(_ key: String) -> [Int] {
    if let slot = slot(key) { return Array(slot.columns) }
    let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
    guard parts.count == 2, let slot = slot(parts[0]), case .composite(_, let fields) = slot.kind,
      let index = fields.firstIndex(where: { $0.description.name == parts[1] }), slot.isStored
    else { return [] }
    return [slot.columns.lowerBound + index]
  }

  /// The columns of a `unique:` list; empty if nothing can violate the list.
  ///
  /// This is so for a list with a one-to-one relationship whose other side stores the reference. Two objects never have the
  /// same partner, whatever their other values are.
  @_optimize(none)
  package func uniqueColumnNumbers(_ properties: [String]) -> [Int] {
    let columns = properties.map { columnNumbers($0) }
    return columns.contains { $0.isEmpty } ? [] : columns.flatMap { $0 }
  }

  /// Whether the entity is another one or a subentity of it.
  package func isKind(of other: EntityPlan) -> Bool { lineage.contains(other.index) }

  /// A plan for an object that was created with an unknown entity name. It has no properties and no table.
  static func unknown(_ name: String) -> EntityPlan {
    EntityPlan(
      index: -1, description: EntityDescription(name: name), root: -1, table: "", storeIndex: nil, slots: [],
      columns: [], subtree: [], lineage: [], lineageNames: [], hasEntityColumn: false)
  }
}

/// The slots of an entity, sorted by what the runtime does with them.
private struct SlotLists {
  let isTyped: Bool
  private(set) var numbers: [String: Int] = [:]
  private(set) var relationships: [RelationshipPlan?] = []
  private(set) var initialValues: [AttributeValue] = []
  private(set) var readings: [PropertyPlan.Reading] = []
  private(set) var insertionDefaults: [(slot: Int, value: DefaultValue)] = []
  private(set) var stored: [Int] = []
  private(set) var transient: [Int] = []
  private(set) var derived: [Int] = []
  private(set) var external: [Int] = []
  private(set) var later: [Int] = []
  private(set) var required: [Int] = []
  private(set) var ruled: [Int] = []
  private(set) var large: [Int] = []
  private(set) var clearable: [Int] = []
  private(set) var hasRuledPairs = false
  private(set) var leavesPairs = false

  init(isTyped: Bool) { self.isTyped = isTyped }

  mutating func add(_ slot: PropertyPlan) {
    let number = slot.number
    if numbers[slot.name] == nil { numbers[slot.name] = number }
    readings.append(slot.reading)
    if slot.isStored { stored.append(number) }
    if slot.isDerived { derived.append(number) }
    if slot.isStored, slot.mayNameFile { external.append(number) }
    if slot.isReadLater { later.append(number) }
    // Only a generated class can have a codable value that cannot be encoded.
    if slot.hasRules(isTyped: isTyped) || isTyped && slot.storageType == .codable { ruled.append(number) }
    relationships.append(slot.relationship)
    if let relationship = slot.relationship { add(relationship, of: number) }
    guard let attribute = slot.attribute else { return initialValues.append(.null) }
    if case .data? = slot.storageType { large.append(number) }
    if attribute.isTransient { transient.append(number) }
    var initial = AttributeValue.null
    switch attribute.defaultValue {
    case .value(let value)?: initial = value.withPlainZero
    case .now?: insertionDefaults.append((number, .now))
    case .uuid?: insertionDefaults.append((number, .uuid))
    case nil:
      if isTyped, slot.isStored, attribute.derivation == nil, !attribute.isOptional {
        required.append(number)
      }
    }
    initialValues.append(initial)
  }

  /// Moves the slot of each derived attribute behind those of the derived attributes that its derivation reads from the
  /// same object, so that they can be computed one after the other.
  ///
  /// - Parameter slots: All slots, in the order of their numbers.
  @_optimize(none)
  mutating func orderDerived(_ slots: [PropertyPlan]) {
    guard derived.count > 1 else { return }
    var uses: [Int: [Int]] = [:]
    for number in derived {
      guard let derivation = slots[number].attribute?.derivation else { continue }
      var walk = KeyPathWalk()
      walk.visit(derivation)
      for steps in walk.paths {
        for case .key(let key) in steps {
          if let used = numbers[key], slots[used].isDerived { uses[number, default: []].append(used) }
          break
        }
      }
    }
    if uses.isEmpty { return }
    var ordered: [Int] = []
    var reached: Set<Int> = []
    var finished: Set<Int> = []
    for number in derived {
      var waiting = [number]
      while let last = waiting.last {
        if reached.insert(last).inserted {
          waiting += (uses[last] ?? []).filter { !reached.contains($0) }
        } else {
          waiting.removeLast()
          if finished.insert(last).inserted { ordered.append(last) }
        }
      }
    }
    derived = ordered
  }

  private mutating func add(_ relationship: RelationshipPlan, of number: Int) {
    if relationship.hasRuledPairs { hasRuledPairs = true }
    if relationship.leavesPairs { leavesPairs = true }
    if case .reference = relationship.storage, relationship.description.isOptional, relationship.isGuaranteed
    {
      clearable.append(number)
    }
  }
}
