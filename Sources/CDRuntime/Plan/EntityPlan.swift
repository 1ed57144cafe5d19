/// An entity with everything resolved that its objects and its table need. Immutable, shared by all contexts.
final class EntityPlan: Sendable {
  /// The place in ``ModelPlan/entities``.
  let index: Int
  let description: EntityDescription
  /// The place of the root entity, whose table the objects are in.
  let root: Int
  let table: String
  /// The place of the store that holds the objects; nil where none of the coordinator's does.
  let home: Int?
  let slots: [SlotPlan]
  let slotNumbers: [String: Int]
  /// The relationships by slot; nil where a slot is an attribute's.
  let relationships: [RelationshipPlan?]
  let columns: [ColumnPlan]
  /// The places of this entity and all below it.
  let kinds: [Int]
  /// The places of the entity's ancestors and its own.
  let lineage: [Int]
  let lineageNames: Set<String>
  /// Whether the table tells the entities of its rows apart.
  let hasEntityColumn: Bool
  let factory: (@Sendable (ObjectSeed) -> ManagedObject)?
  /// The generated class; nil for an entity without one.
  let objectType: (any EntityClass.Type)?
  /// Whether the class is asked at the turns of its objects' lives.
  let hasLifecycle: Bool
  /// Whether the class's properties can be followed.
  let isObservable: Bool
  /// What an object without a generated class starts with, by slot.
  let initialValues: [AttributeValue]
  /// How each slot is read from a row. To ask the slots themselves for each row would count references to them.
  let readings: [SlotPlan.Reading]
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
  let sql: EntitySQL

  var name: String { description.name }
  var isPolymorphic: Bool { kinds.count > 1 }

  init(
    index: Int, description: EntityDescription, root: Int, table: String, home: Int?, slots: [SlotPlan],
    columns: [ColumnPlan], kinds: [Int], lineage: [Int], lineageNames: Set<String>,
    hasEntityColumn: Bool,
    factory: (@Sendable (ObjectSeed) -> ManagedObject)?, objectType: (any EntityClass.Type)?
  ) {
    self.index = index
    self.description = description
    self.root = root
    self.table = table
    self.home = home
    self.slots = slots
    slotNumbers = Dictionary(slots.map { ($0.name, $0.number) }, uniquingKeysWith: { first, _ in first })
    relationships = slots.map(\.relationship)
    self.columns = columns
    self.kinds = kinds
    self.lineage = lineage
    self.lineageNames = lineageNames
    self.hasEntityColumn = hasEntityColumn
    self.factory = factory
    self.objectType = objectType
    hasLifecycle = objectType is any ManagedObjectLifecycle.Type
    isObservable = objectType is any ObservableEntityClass.Type
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
      factory == nil
      ? []
      : slots.filter { slot in
        guard let attribute = slot.attribute, slot.isStored, attribute.derivation == nil else { return false }
        return !attribute.isOptional && attribute.defaultValue == nil
      }.map(\.number)
    ruledSlots = slots.filter { $0.hasRules(isTyped: factory != nil) }.map(\.number)
    largeSlots = slots.filter { slot in
      if case .attribute(_, .data) = slot.kind { true } else { false }
    }.map(\.number)
    clearableSlots = slots.filter { slot in
      guard let relationship = slot.relationship, case .reference = relationship.storage else { return false }
      return relationship.description.isOptional && relationship.isGuaranteed
    }.map(\.number)
    sql = EntitySQL(
      table: table, entity: hasEntityColumn ? description.name : nil, columns: columns.map(\.name))
  }

  /// The relationship of a slot; nil for any other number.
  func relationship(_ slot: Int) -> RelationshipPlan? {
    relationships.indices.contains(slot) ? relationships[slot] : nil
  }

  /// Whether the entity's objects may be of a class: the generated one or one below it, or, where the model came
  /// without classes, none but ``ManagedObject`` itself.
  func admits(_ type: ManagedObject.Type) -> Bool {
    func isBelow<Object: EntityClass>(_ expected: Object.Type) -> Bool { type is Object.Type }
    guard let objectType else { return type == ManagedObject.self }
    return type == objectType || isBelow(objectType)
  }

  func slot(_ key: String) -> SlotPlan? { slotNumbers[key].map { slots[$0] } }

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
      index: -1, description: EntityDescription(name: name), root: -1, table: "", home: nil, slots: [],
      columns: [],
      kinds: [], lineage: [], lineageNames: [], hasEntityColumn: false, factory: nil, objectType: nil)
  }
}

/// The texts of an entity's statements on single rows.
struct EntitySQL: Sendable {
  let select: String
  let selectByKey: String
  let insert: String
  let delete: String

  init(table: String, entity: String?, columns: [String]) {
    let table = SQLite.quoted(table)
    let names = columns.map(SQLite.quoted)
    select = "SELECT " + (["_pk", "_version"] + names).joined(separator: ", ") + " FROM \(table)"
    selectByKey = select + " WHERE _pk = ?1"
    let system = entity == nil ? ["_pk", "_version"] : ["_pk", "_version", "_entity"]
    let parameters =
      ["?", "1"] + (entity.map { [SQLite.literal($0)] } ?? []) + names.map { _ in "?" }
    insert =
      "INSERT INTO \(table) (\((system + names).joined(separator: ", "))) "
      + "VALUES (\(parameters.joined(separator: ", ")))"
    delete = "DELETE FROM \(table) WHERE _pk = ?1 AND _version = ?2"
  }
}
