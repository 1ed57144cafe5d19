/// Resolves a version's names, places and columns, and verifies the classes.
struct ModelPlanBuilder {
  let graph: EntityGraph
  let classes: [String: @Sendable (ObjectSeed) -> ManagedObject]
  private let assignment: StoreAssignment
  private var places: [String: Int] = [:]
  private var joins: [JoinPlan] = []
  private var joinPlaces: [String: Int] = [:]

  init(
    graph: EntityGraph, classes: [String: @Sendable (ObjectSeed) -> ManagedObject],
    assignment: StoreAssignment
  ) {
    self.graph = graph
    self.assignment = assignment
    self.classes = classes
  }

  mutating func build() throws -> ([EntityPlan], [JoinPlan]) {
    let entities = graph.entitiesParentsFirst
    for (place, entity) in entities.enumerated() { places[entity.name] = place }
    let columnNames = ColumnNames(graph)
    var probes: [String: ManagedObject] = [:]
    var plans: [EntityPlan] = []
    for (index, entity) in entities.enumerated() {
      let root = graph.root(of: entity.name) ?? entity
      let columns = graph.columns(of: entity.name)
      let slots = try self.slots(of: entity, columns: columns)
      let objectType = try verifiedClass(of: entity, &probes)
      plans.append(
        EntityPlan(
          index: index, description: entity, root: places[root.name] ?? index, table: root.name,
          home: assignment.places[root.name],
          slots: slots,
          columns: try columns.map { column in
            ColumnPlan(
              name: columnNames.name(of: column, root: root.name), slot: column.slot,
              cell: try cell(of: column), isReference: column.kind == .reference,
              isMandatory: isMandatory(column))
          },
          kinds: [index] + graph.descendants(of: entity.name).compactMap { places[$0.name] },
          lineage: graph.lineage(of: entity.name).compactMap { places[$0.name] },
          lineageNames: Set(graph.lineage(of: entity.name).map(\.name)),
          hasEntityColumn: !graph.subentities(of: root.name).isEmpty,
          factory: classes[entity.name], objectType: objectType))
    }
    return (plans, joins)
  }

  private mutating func slots(of entity: EntityDescription, columns: [StoredColumn]) throws -> [SlotPlan] {
    var ranges: [Int: Range<Int>] = [:]
    for column in columns {
      let range = ranges[column.slot] ?? column.ordinal..<column.ordinal
      ranges[column.slot] = range.lowerBound..<column.ordinal + 1
    }
    return try graph.slots(of: entity.name).map { slot in
      let columns = ranges[slot.number] ?? 0..<0
      return SlotPlan(
        number: slot.number, name: slot.property.name, owner: slot.entity,
        kind: try kind(of: slot, columns: columns, entity: entity), columns: columns)
    }
  }

  private mutating func kind(
    of slot: PropertySlot, columns: Range<Int>, entity: EntityDescription
  ) throws -> SlotPlan.Kind {
    switch slot.property {
    case .attribute(let attribute):
      if case .composite(let name) = attribute.type {
        guard let composite = graph.composite(name) else {
          throw ModelError.unknownType(entity: slot.entity, property: attribute.name, type: name)
        }
        return .composite(
          attribute,
          try composite.fields.map { field in
            guard let cell = CellType(field.type, in: graph) else {
              throw ModelError.unknownType(
                entity: slot.entity, property: "\(attribute.name).\(field.name)", type: field.type.schemaName)
            }
            return FieldPlan(description: field, cell: cell)
          })
      }
      guard let cell = CellType(attribute.type, in: graph) else {
        throw ModelError.unknownType(
          entity: slot.entity, property: attribute.name, type: attribute.type.schemaName)
      }
      return .attribute(attribute, cell)
    case .relationship(let relationship):
      return .relationship(try plan(relationship, slot: slot, columns: columns))
    case .fetched(let property):
      throw ModelError.unknownType(entity: slot.entity, property: property.name, type: "fetched")
    }
  }

  private mutating func plan(
    _ relationship: RelationshipDescription, slot: PropertySlot, columns: Range<Int>
  ) throws -> RelationshipPlan {
    guard let destination = places[relationship.destination] else {
      throw ModelError.unknownEntity(
        entity: slot.entity, property: relationship.name, destination: relationship.destination)
    }
    let inverse = graph.inverse(of: relationship, in: slot.entity)
    if let name = relationship.inverse, inverse == nil {
      throw ModelError.wrongInverse(entity: slot.entity, property: relationship.name, inverse: name)
    }
    let inverseSlot = inverse.flatMap { inverse in
      graph.slots(of: relationship.destination).first { $0.property.name == inverse.name }?.number
    }
    let storage: RelationshipPlan.Storage
    if let column = columns.first {
      storage = .reference(column: column)
    } else if !relationship.isToMany {
      storage = .inverseReference
    } else if let inverse, !inverse.isToMany {
      storage = .referencesOfOthers
    } else {
      storage = join(relationship, inverse, slot: slot, destination: destination)
    }
    return RelationshipPlan(
      description: relationship, slot: slot.number, owner: slot.entity, destination: destination,
      inverseSlot: inverseSlot, inverse: inverse, storage: storage,
      isWithinStore: home(of: slot.entity) == home(of: relationship.destination))
  }

  private func home(of entity: String) -> Int? {
    graph.root(of: entity).flatMap { assignment.places[$0.name] }
  }

  private mutating func join(
    _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?, slot: PropertySlot,
    destination: Int
  ) -> RelationshipPlan.Storage {
    let own = "\(slot.entity).\(relationship.name)"
    var table = own
    if let inverse {
      let owner =
        graph.declaringEntity(of: inverse.name, in: relationship.destination)?.name
        ?? relationship.destination
      let other = "\(owner).\(inverse.name)"
      if other.utf8.lexicographicallyPrecedes(own.utf8) { table = other }
    }
    if let place = joinPlaces[table] { return .join(place, isSource: table == own) }
    let place = joins.count
    joinPlaces[table] = place
    let owner = places[slot.entity] ?? destination
    let isSource = table == own
    let isSymmetric = inverse == relationship && slot.entity == relationship.destination
    joins.append(
      JoinPlan(
        table: table, source: isSource ? owner : destination, target: isSource ? destination : owner,
        isOrdered: isSource ? relationship.isOrdered : inverse?.isOrdered ?? false,
        isInverseOrdered: isSymmetric
          ? false : isSource ? inverse?.isOrdered ?? false : relationship.isOrdered))
    return .join(place, isSource: isSource)
  }

  private func cell(of column: StoredColumn) throws -> CellType {
    guard let type = column.type else { return .int64 }
    guard let cell = CellType(type, in: graph) else {
      throw ModelError.unknownType(
        entity: column.entity, property: column.name, type: type.schemaName)
    }
    return cell
  }

  /// Whether a row of the entity cannot be without the value.
  private func isMandatory(_ column: StoredColumn) -> Bool {
    switch column.property {
    case .attribute(let attribute): !attribute.isOptional && column.field?.isOptional != true
    case .relationship(let relationship): !relationship.isOptional
    case .fetched: false
    }
  }

  /// The entity's generated class, once it is certain that it descends from its parent's. Objects are cast
  /// without a check later on, in to-many relationships and in fetches: this is what makes that sound.
  private func verifiedClass(
    of entity: EntityDescription, _ probes: inout [String: ManagedObject]
  ) throws -> (any EntityClass.Type)? {
    guard let factory = classes[entity.name] else {
      if !classes.isEmpty { throw ModelError.classMissing(entity: entity.name) }
      return nil
    }
    let probe = factory(ObjectSeed(detached: .detached))
    guard let type = type(of: probe) as? any EntityClass.Type, type.entityName == entity.name else {
      throw ModelError.wrongClass(entity: entity.name, found: "\(Swift.type(of: probe))")
    }
    if let parent = graph.parent(of: entity.name), let above = probes[parent.name],
      let parentType = Swift.type(of: above) as? any EntityClass.Type, !Self.isInstance(probe, of: parentType)
    {
      throw ModelError.wrongClass(entity: entity.name, found: "\(type), which is no \(parentType)")
    }
    probes[entity.name] = probe
    return type
  }

  private static func isInstance<T: EntityClass>(_ object: ManagedObject, of type: T.Type) -> Bool {
    object is T
  }
}
