/// The facts about an entity's generated class that the runtime needs. All are false for an entity without a class.
struct EntityTraits: Sendable {
  /// Whether there is a generated class, whose objects have their values as properties.
  var isTyped = false
  /// Whether the class conforms to ``ManagedObjectLifecycle``.
  var hasLifecycle = false
  /// Whether the class's properties can be observed.
  var isObservable = false
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
  /// Whether the class conforms to ``ManagedObjectLifecycle``.
  let hasLifecycle: Bool
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
  /// The optional references, which are cleared when their object is deleted.
  let clearableSlots: [Int]
  /// Whether a relationship with a join table has the delete rule `deny` or `cascade`.
  let hasRuledPairs: Bool
  /// Whether other objects in memory keep their pairs with a deleted object until the deletion is saved.
  let leavesPairs: Bool

  package var name: String { description.name }
  /// Whether the entity has subentities.
  package var isPolymorphic: Bool { subtree.count > 1 }

  @_optimize(none)
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
    derivedSlots = slots.filter { $0.isDerived }.map(\.number)
    externalSlots = slots.filter { $0.isStored && $0.mayNameFile }.map(\.number)
    laterSlots = slots.filter(\.isReadLater).map(\.number)
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

  /// Whether the entity is another one or a subentity of it.
  package func isKind(of other: EntityPlan) -> Bool { lineage.contains(other.index) }

  /// A plan for an object that was created with an unknown entity name. It has no properties and no table.
  static func unknown(_ name: String) -> EntityPlan {
    EntityPlan(
      index: -1, description: EntityDescription(name: name), root: -1, table: "", storeIndex: nil, slots: [],
      columns: [], subtree: [], lineage: [], lineageNames: [], hasEntityColumn: false)
  }
}
