/// Resolves a version's names, indexes and columns.
struct ModelPlanBuilder {
  private let graph: EntityGraph
  private let traits: [String: EntityTraits]
  private let assignment: StoreAssignment
  private var entityIndices: [String: Int] = [:]
  private var joins: [JoinPlan] = []
  private var joinIndices: [String: Int] = [:]

  init(graph: EntityGraph, traits: [String: EntityTraits], assignment: StoreAssignment) {
    self.graph = graph
    self.traits = traits
    self.assignment = assignment
  }

  mutating func build() throws -> ([EntityPlan], [JoinPlan]) {
    let entities = graph.entitiesParentsFirst
    for (entityIndex, entity) in entities.enumerated() { entityIndices[entity.name] = entityIndex }
    let columnNames = ColumnNames(graph)
    var plans: [EntityPlan] = []
    for (index, entity) in entities.enumerated() {
      let root = graph.root(of: entity.name) ?? entity
      let columns = graph.columns(of: entity.name)
      let slots = try self.slots(of: entity, columns: columns)
      plans.append(
        EntityPlan(
          index: index, description: entity, root: entityIndices[root.name] ?? index, table: root.name,
          storeIndex: assignment.storeIndices[root.name],
          slots: slots,
          columns: try columns.map { column in
            ColumnPlan(
              name: columnNames.name(of: column, root: root.name), slot: column.slot,
              storageType: try column.type.map { try storageType($0, column.entity, column.name) } ?? .int64,
              isReference: column.kind == .reference, isMandatory: isMandatory(column))
          },
          subtree: [index] + graph.descendants(of: entity.name).compactMap { entityIndices[$0.name] },
          lineage: graph.lineage(of: entity.name).compactMap { entityIndices[$0.name] },
          lineageNames: Set(graph.lineage(of: entity.name).map(\.name)),
          hasEntityColumn: !graph.subentities(of: root.name).isEmpty,
          traits: traits[entity.name] ?? EntityTraits()))
    }
    return (plans, joins)
  }

  private mutating func slots(of entity: EntityDescription, columns: [StoredColumn]) throws -> [PropertyPlan]
  {
    let slots = graph.slots(of: entity.name)
    // By slot. The columns of a slot have consecutive ordinals.
    var ranges = [Range<Int>](repeating: 0..<0, count: slots.count)
    for column in columns {
      let range = ranges[column.slot].isEmpty ? column.ordinal..<column.ordinal : ranges[column.slot]
      ranges[column.slot] = range.lowerBound..<column.ordinal + 1
    }
    var plans: [PropertyPlan] = []
    for slot in slots {
      let columns = ranges[slot.number]
      plans.append(
        PropertyPlan(
          number: slot.number, name: slot.property.name, owner: slot.entity,
          kind: try kind(of: slot, columns: columns, entity: entity), columns: columns))
    }
    return plans
  }

  private mutating func kind(
    of slot: PropertySlot, columns: Range<Int>, entity: EntityDescription
  ) throws -> PropertyPlan.Kind {
    switch slot.property {
    case .attribute(let attribute):
      if case .composite(let name) = attribute.type {
        guard let composite = graph.composite(name) else {
          throw ModelError.unknownType(entity: slot.entity, property: attribute.name, type: name)
        }
        let fields = try composite.fields.map { field in
          FieldPlan(
            description: field,
            storageType: try storageType(field.type, slot.entity, "\(attribute.name).\(field.name)"))
        }
        return .composite(fitted(attribute, fields.fitted), fields)
      }
      let stored = try storageType(attribute.type, slot.entity, attribute.name)
      return .attribute(fitted(checked(attribute, of: entity), stored.fitted), stored)
    case .relationship(let relationship):
      return .relationship(try plan(relationship, slot: slot, columns: columns))
    case .fetched(let property):
      throw ModelError.unknownType(entity: slot.entity, property: property.name, type: "fetched")
    }
  }

  /// An attribute whose default is as the columns store it: a model made in Swift can have an integer as the default of a
  /// `double`. A default that does not fit stays.
  private func fitted(
    _ attribute: AttributeDescription, _ fit: (AttributeValue) -> AttributeValue?
  ) -> AttributeDescription {
    guard case .value(let value)? = attribute.defaultValue, let stored = fit(value), stored != value else {
      return attribute
    }
    var attribute = attribute
    attribute.defaultValue = .value(stored)
    return attribute
  }

  /// An attribute whose derivation is as the checker writes it: it has raw values in place of the names of cases, for
  /// example. The model keeps the derivation as written. One with a mistake stays, so that the save reports it.
  @_optimize(none)
  private func checked(
    _ attribute: AttributeDescription, of entity: EntityDescription
  ) -> AttributeDescription {
    guard let derivation = attribute.derivation else { return attribute }
    let checked = ExpressionChecker(graph: graph).check(
      derivation, on: entity.name, expecting: .attribute(attribute.type))
    if checked.hasErrors { return attribute }
    var attribute = attribute
    attribute.derivation = checked.expression
    return attribute
  }

  private mutating func plan(
    _ relationship: RelationshipDescription, slot: PropertySlot, columns: Range<Int>
  ) throws -> RelationshipPlan {
    guard let destination = entityIndices[relationship.destination] else {
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
      isWithinStore: storeIndex(of: slot.entity) == storeIndex(of: relationship.destination))
  }

  private func storeIndex(of entity: String) -> Int? {
    graph.root(of: entity).flatMap { assignment.storeIndices[$0.name] }
  }

  @_optimize(none)
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
    if let index = joinIndices[table] { return .join(index, isSource: table == own) }
    let index = joins.count
    joinIndices[table] = index
    let owner = entityIndices[slot.entity] ?? destination
    let isSource = table == own
    let isSymmetric = inverse == relationship && slot.entity == relationship.destination
    joins.append(
      JoinPlan(
        table: table, source: isSource ? owner : destination, target: isSource ? destination : owner,
        isOrdered: isSource ? relationship.isOrdered : inverse?.isOrdered ?? false,
        isInverseOrdered: isSymmetric
          ? false : isSource ? inverse?.isOrdered ?? false : relationship.isOrdered))
    return .join(index, isSource: isSource)
  }

  private func storageType(
    _ type: AttributeType, _ entity: String, _ property: @autoclosure () -> String
  ) throws -> StorageType {
    guard let storageType = StorageType(type, in: graph) else {
      throw ModelError.unknownType(entity: entity, property: property(), type: type.schemaName)
    }
    return storageType
  }

  /// Whether every row of the entity must have a value in the column.
  private func isMandatory(_ column: StoredColumn) -> Bool {
    switch column.property {
    case .attribute(let attribute): !attribute.isOptional && column.field?.isOptional != true
    case .relationship(let relationship): !relationship.isOptional
    case .fetched: false
    }
  }
}
