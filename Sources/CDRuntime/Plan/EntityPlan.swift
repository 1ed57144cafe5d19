/// What the runtime has to know of an entity's generated class. All are false for an entity without a class.
struct EntityTraits: Sendable {
  /// Whether there is a generated class, whose objects have their values as properties.
  var isTyped = false
  /// Whether the class is asked at the turns of its objects' lives.
  var hasLifecycle = false
  /// Whether the class's properties can be followed.
  var isObservable = false
}

/// An entity with everything resolved that its objects and its table need. Immutable, shared by all contexts.
final class EntityPlan: Sendable {
  /// The place in ``ModelPlan/entities``.
  let index: Int
  let description: EntityDescription
  /// The place of the root entity, whose table the objects are in.
  let root: Int
  let table: String
  /// The place of the store that holds the objects; nil where none of the coordinator's does.
  let storeIndex: Int?
  let slots: [PropertyPlan]
  let slotNumbers: [String: Int]
  /// The relationships by slot; nil where a slot is an attribute's.
  let relationships: [RelationshipPlan?]
  let columns: [ColumnPlan]
  /// The places of this entity and all below it.
  let subtree: [Int]
  /// The places of the entity's ancestors and its own.
  let lineage: [Int]
  let lineageNames: Set<String>
  /// Whether the table tells the entities of its rows apart.
  let hasEntityColumn: Bool
  /// Whether there is a generated class, whose objects have their values as properties.
  let isTyped: Bool
  /// Whether the class is asked at the turns of its objects' lives.
  let hasLifecycle: Bool
  /// Whether the class's properties can be followed.
  let isObservable: Bool
  /// What an object without a generated class starts with, by slot.
  let initialValues: [AttributeValue]
  /// How each slot is read from a row. To ask the slots themselves for each row would count references to them.
  let readings: [PropertyPlan.Reading]
  /// Slots whose default is made at each insertion.
  let insertionDefaults: [(slot: Int, value: DefaultValue)]
  /// Slots that have columns, in order.
  let storedSlots: [Int]
  let transientSlots: [Int]
  let derivedSlots: [Int]
  /// Slots whose large values are files beside the store.
  let externalSlots: [Int]
  /// Slots of values that may be of any size.
  let largeSlots: [Int]
  /// Slots of stored attributes that a new object of a generated class must be given a value for; empty for an
  /// entity without such a class, whose objects have no value until they are given one.
  let requiredSlots: [Int]
  /// Slots with a rule that a value may break: the only ones that a save looks at. What the class's type
  /// guarantees is no rule.
  let ruledSlots: [Int]
  /// References that are optional, and so are cleared where their object has been deleted.
  let clearableSlots: [Int]
  /// Whether a relationship with pairs refuses a deletion or takes objects along.
  let hasRuledPairs: Bool
  /// Whether a deletion leaves pairs to the other objects in memory until it is saved.
  let leavesPairs: Bool

  var name: String { description.name }
  var isPolymorphic: Bool { subtree.count > 1 }

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
    slotNumbers = Dictionary(slots.map { ($0.name, $0.number) }, uniquingKeysWith: { first, _ in first })
    relationships = slots.map(\.relationship)
    self.columns = columns
    self.subtree = subtree
    self.lineage = lineage
    self.lineageNames = lineageNames
    self.hasEntityColumn = hasEntityColumn
    isTyped = traits.isTyped
    hasLifecycle = traits.hasLifecycle
    isObservable = traits.isObservable
    initialValues = slots.map { slot in
      if case .value(let value)? = slot.attribute?.defaultValue { return value.withPlainZero }
      return .null
    }
    readings = slots.map(\.reading)
    insertionDefaults = slots.compactMap { slot in
      switch slot.attribute?.defaultValue {
      case .now?: (slot.number, .now)
      case .uuid?: (slot.number, .uuid)
      case .value?, nil: nil
      }
    }
    storedSlots = slots.filter(\.isStored).map(\.number)
    transientSlots = slots.filter { $0.attribute?.isTransient == true }.map(\.number)
    derivedSlots = slots.filter { $0.attribute?.derivation != nil }.map(\.number)
    externalSlots = slots.filter { $0.isStored && $0.attribute?.storesExternally == true }.map(\.number)
    requiredSlots =
      !traits.isTyped
      ? []
      : slots.filter { slot in
        guard let attribute = slot.attribute, slot.isStored, attribute.derivation == nil else { return false }
        return !attribute.isOptional && attribute.defaultValue == nil
      }.map(\.number)
    ruledSlots = slots.filter { $0.hasRules(isTyped: traits.isTyped) }.map(\.number)
    largeSlots = slots.filter { slot in
      if case .attribute(_, .data) = slot.kind { true } else { false }
    }.map(\.number)
    clearableSlots = slots.filter { slot in
      guard let relationship = slot.relationship, case .reference = relationship.storage else { return false }
      return relationship.description.isOptional && relationship.isGuaranteed
    }.map(\.number)
    hasRuledPairs = relationships.contains { $0?.hasRuledPairs == true }
    leavesPairs = relationships.contains { $0?.leavesPairs == true }
  }

  /// The relationship of a slot; nil for any other number.
  func relationship(_ slot: Int) -> RelationshipPlan? {
    relationships.indices.contains(slot) ? relationships[slot] : nil
  }

  func slot(_ key: String) -> PropertyPlan? { slotNumbers[key].map { slots[$0] } }

  /// The columns of a property, or of a field given as `composite.field`; none for what is not stored.
  func columnNumbers(_ key: String) -> [Int] {
    if let slot = slot(key) { return Array(slot.columns) }
    let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
    guard parts.count == 2, let slot = slot(parts[0]), case .composite(_, let fields) = slot.kind,
      let place = fields.firstIndex(where: { $0.description.name == parts[1] }), slot.isStored
    else { return [] }
    return [slot.columns.lowerBound + place]
  }

  func isKind(of other: EntityPlan) -> Bool { lineage.contains(other.index) }

  /// A plan for an object that a wrong name was given for: it has no properties and no table.
  static func unknown(_ name: String) -> EntityPlan {
    EntityPlan(
      index: -1, description: EntityDescription(name: name), root: -1, table: "", storeIndex: nil, slots: [],
      columns: [], subtree: [], lineage: [], lineageNames: [], hasEntityColumn: false)
  }
}
