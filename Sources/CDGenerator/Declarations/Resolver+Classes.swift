import CDModel

extension Resolver {
  mutating func classes() -> [ClassDeclaration] {
    let entities = graph.version.entities
    // The initialiser parameters and the names of an entity's own properties. Subentities need them too.
    var parameters: [String: [Initializers.Parameter]] = [:]
    var memberNames: [String: Set<String>] = [:]
    var own: [(attributes: [AttributeDeclaration], relationships: [RelationshipDeclaration])] = []
    own.reserveCapacity(entities.count)
    for entity in entities {
      let properties = properties(of: entity)
      own.append((properties.attributes, properties.relationships))
      parameters[entity.name] = properties.parameters
      memberNames[entity.name] = checkOwnNames(of: entity)
    }
    var result: [ClassDeclaration] = []
    result.reserveCapacity(entities.count)
    let places = Dictionary(
      entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    for (place, entity) in entities.enumerated() {
      let lineage = graph.lineage(of: entity.name)
      if let parent = entity.parent, graph.entity(parent) == nil {
        report(.unknownType(parent), type: entity.name)
      }
      let ancestors = lineage.dropLast()
      if !ancestors.isEmpty { checkInheritedNames(of: entity, ancestors: ancestors, memberNames) }
      let superentity = ancestors.last
      let ownParameters = parameters[entity.name] ?? []
      let inherited = ancestors.flatMap { parameters[$0.name] ?? [] }
      let hasContext = (inherited + ownParameters).contains { $0.name == "context" }
      let initializers = Initializers(
        inherited: inherited, own: ownParameters,
        overridesFull: superentity.map { !$0.isAbstract && ownParameters.isEmpty } ?? false,
        overridesEmpty: superentity.map { !$0.isAbstract } ?? false,
        contextName: hasContext ? SwiftName.otherContext : "context")
      result.append(
        ClassDeclaration(
          entityName: entity.name, entity: SwiftLiteral.string(entity.name), plainName: entity.swiftName,
          typeName: SwiftName.escaped(entity.swiftName), expression: expression(of: entity.swiftName),
          superclass: superentity.map { SwiftName.escaped($0.swiftName) }, isAbstract: entity.isAbstract,
          attributes: own[place].attributes, relationships: own[place].relationships,
          fetched: fetchedProperties(of: entity), properties: propertyNames(of: entity),
          initializers: initializers,
          uniqueKeys: uniqueKeys(of: entity), templates: templates(of: entity),
          snapshot: hasSnapshots
            ? snapshot(lineage.compactMap { places[$0.name] }.map { own[$0] }, of: lineage) : nil,
          doc: entity.doc))
    }
    return result
  }

  /// - Parameter properties: Those of the entity's ancestors, and its own at the end.
  private func snapshot(
    _ properties: [(attributes: [AttributeDeclaration], relationships: [RelationshipDeclaration])],
    of lineage: [EntityDescription]
  ) -> SnapshotDeclaration {
    SnapshotDeclaration(
      attributes: properties.flatMap(\.attributes), relationships: properties.flatMap(\.relationships),
      owners: lineage.map(\.name), isNested: nestsSnapshots)
  }

  // MARK: Names

  /// Checks that the names of an entity's own properties are different, and returns them.
  private mutating func checkOwnNames(of entity: EntityDescription) -> Set<String> {
    var names: Set<String> = []
    let reserved = ReservedNames.publicMembers.union(hasSnapshots ? ReservedNames.snapshotMembers : [])
    func add(_ name: String, for member: String) {
      if !names.insert(name).inserted { report(.duplicateName(name), type: entity.name, member: member) }
    }
    for (member, name) in Self.members(of: entity) {
      checkName(name, of: entity.name, member: member, reserved: reserved)
      add(name, for: member)
    }
    for relationship in entity.relationships where relationship.isToMany {
      let name = SwiftName.capitalized(relationship.swiftName)
      add("addTo" + name, for: relationship.name)
      add("removeFrom" + name, for: relationship.name)
      if relationship.isOrdered { add("insertInto" + name, for: relationship.name) }
    }
    return names
  }

  private mutating func checkInheritedNames(
    of entity: EntityDescription, ancestors: ArraySlice<EntityDescription>, _ names: [String: Set<String>]
  ) {
    guard let own = names[entity.name], !own.isEmpty else { return }
    for ancestor in ancestors {
      guard let inherited = names[ancestor.name], !inherited.isDisjoint(with: own) else { continue }
      for (member, name) in Self.members(of: entity) where inherited.contains(name) {
        report(.duplicateName(name), type: entity.name, member: member)
      }
      for relationship in entity.relationships where relationship.isToMany {
        let name = "addTo" + SwiftName.capitalized(relationship.swiftName)
        if inherited.contains(name) {
          report(.duplicateName(name), type: entity.name, member: relationship.name)
        }
      }
    }
  }

  /// The name and the Swift name of each property of an entity.
  private static func members(of entity: EntityDescription) -> [(member: String, name: String)] {
    entity.attributes.map { ($0.name, $0.swiftName) } + entity.relationships.map { ($0.name, $0.swiftName) }
      + entity.fetchedProperties.map { ($0.name, $0.swiftName ?? $0.name) }
  }

  // MARK: Properties

  private func propertyNames(of entity: EntityDescription) -> [(key: String, name: String)] {
    graph.slots(of: entity.name).compactMap { slot in
      switch slot.property {
      case .attribute(let attribute):
        (SwiftLiteral.string(attribute.name), SwiftName.escaped(attribute.swiftName))
      case .relationship(let relationship):
        (SwiftLiteral.string(relationship.name), SwiftName.escaped(relationship.swiftName))
      case .fetched: nil
      }
    }
  }

  private mutating func properties(
    of entity: EntityDescription
  ) -> (
    attributes: [AttributeDeclaration], relationships: [RelationshipDeclaration],
    parameters: [Initializers.Parameter]
  ) {
    var columns: [Int: Int] = [:]
    for column in graph.columns(of: entity.name) where column.entity == entity.name {
      // For a composite, the first of its columns is used.
      if columns[column.slot] == nil { columns[column.slot] = column.ordinal }
    }
    var attributes: [AttributeDeclaration] = []
    var relationships: [RelationshipDeclaration] = []
    var parameters: [Initializers.Parameter] = []
    attributes.reserveCapacity(entity.attributes.count)
    relationships.reserveCapacity(entity.relationships.count)
    for slot in graph.slots(of: entity.name) where slot.entity == entity.name {
      let column = columns[slot.number]
      switch slot.property {
      case .attribute(let attribute):
        guard let declaration = declaration(of: attribute, slot.number, column, in: entity.name) else {
          continue
        }
        attributes.append(declaration)
        let codableType = declaration.type.kind == .codable ? declaration.type.name : nil
        if !attribute.isOptional, attribute.defaultValue == nil, attribute.derivation == nil {
          let name = declaration.property
          parameters.append(
            .init(
              name: name, type: declaration.type.name, assignment: declaration.assignment(name),
              needsFoundation: declaration.type.needsFoundation, codableType: codableType))
        } else if isOptionalParameter(attribute) {
          let name = declaration.property
          parameters.append(
            .init(
              name: name, type: declaration.type.name + "?", assignment: declaration.assignment(name),
              needsFoundation: declaration.type.needsFoundation, isOptional: true, codableType: codableType))
        }
      case .relationship(let relationship):
        guard let declaration = declaration(of: relationship, slot.number, column, in: entity.name) else {
          continue
        }
        relationships.append(declaration)
        if !relationship.isOptional, !relationship.isToMany {
          let name = declaration.property
          parameters.append(
            .init(
              name: name, type: declaration.destination,
              assignment: "_setToOne(\(name), \(declaration.slot))", needsFoundation: false))
        }
      case .fetched: break
      }
    }
    return (attributes, relationships, parameters)
  }

  /// Whether an initialiser has a parameter for an optional attribute. If the attribute has a default of its own, the
  /// parameter's default would replace it.
  private func isOptionalParameter(_ attribute: AttributeDescription) -> Bool {
    guard attribute.isOptional, attribute.derivation == nil, !attribute.isTransient else { return false }
    switch attribute.defaultValue {
    case nil, .value(.null)?: return true
    case .value?, .now?, .uuid?: return false
    }
  }

  private mutating func declaration(
    of attribute: AttributeDescription, _ slot: Int, _ column: Int?, in entity: String
  ) -> AttributeDeclaration? {
    guard let type = valueType(attribute.type) else {
      report(.unknownType(attribute.type.schemaName), type: entity, member: attribute.name)
      return nil
    }
    if type.kind == .codable { noteCodable(type.name, of: entity) }
    let name = attribute.swiftName
    var initialValue =
      attribute.isOptional && type.kind != .codable ? "nil" : firstRawValue(attribute.type) ?? type.empty
    var sharedDefault: SharedDefault?
    var insertionDefault: String?
    switch attribute.defaultValue {
    case .value(.null)?:
      if !attribute.isOptional { report(.unfittingValue, type: entity, member: attribute.name) }
    case .value(let value)?:
      guard let literal = storageLiteral(value, of: attribute.type) else {
        report(.unfittingValue, type: entity, member: attribute.name)
        return nil
      }
      initialValue = literal
      if Literal.isCostly(attribute.type) {
        let shared = sharedDefaultName(name, in: entity)
        sharedDefault = SharedDefault(
          name: shared, value: literal, needsFoundation: needsFoundation(value, of: attribute.type))
        initialValue = "\(expression(of: graph.entity(entity)?.swiftName ?? entity)).\(shared)"
      }
    case .now?:
      insertionDefault = "Foundation.Date()"
      if attribute.type != .date { report(.unfittingValue, type: entity, member: attribute.name) }
    case .uuid?:
      insertionDefault = "Foundation.UUID.random()"
      if attribute.type != .uuid { report(.unfittingValue, type: entity, member: attribute.name) }
    case nil: break
    }
    return AttributeDeclaration(
      key: SwiftLiteral.string(attribute.name), property: SwiftName.escaped(name), storage: storage(name),
      type: type, isOptional: attribute.isOptional, slot: String(slot),
      isReadLater: attribute.mayNameFile && column != nil,
      column: column.map { String($0) },
      initialValue: initialValue, sharedDefault: sharedDefault, insertionDefault: insertionDefault,
      fallback: fallback(attribute.type, default: attribute.defaultValue),
      isReadOnly: attribute.derivation != nil,
      isFetchable: !attribute.isTransient && type.kind != .codable, doc: attribute.doc)
  }

  /// The name of the static property for an attribute's default. The names of two attributes may differ only in the case
  /// of the first letter.
  private func sharedDefaultName(_ name: String, in entity: String) -> String {
    let capitalized = SwiftName.capitalized(name)
    let isAmbiguous =
      graph.entity(entity)?.attributes.contains {
        $0.swiftName != name && SwiftName.capitalized($0.swiftName) == capitalized
      } ?? false
    return "_default" + (isAmbiguous ? "_" + name : capitalized)
  }

  /// Whether the constant for a default names a type from Foundation.
  private func needsFoundation(_ value: AttributeValue, of type: AttributeType) -> Bool {
    guard case .composite(let name) = type, case .composite(let values) = value else {
      return valueType(type)?.needsFoundation ?? false
    }
    return (graph.composite(name)?.fields ?? []).contains { field in
      values[field.name, default: .null] != .null && valueType(field.type)?.needsFoundation == true
    }
  }

  private mutating func declaration(
    of relationship: RelationshipDescription, _ slot: Int, _ column: Int?, in entity: String
  ) -> RelationshipDeclaration? {
    guard let destination = classNames(of: relationship.destination) else {
      report(.unknownType(relationship.destination), type: entity, member: relationship.name)
      return nil
    }
    let name = relationship.swiftName
    let kind: RelationshipDeclaration.Kind =
      relationship.isToMany
      ? relationship.isOrdered ? .orderedToMany : .toMany
      : column == nil ? .inverseReference : .reference
    return RelationshipDeclaration(
      key: SwiftLiteral.string(relationship.name), property: SwiftName.escaped(name), storage: storage(name),
      capitalizedName: SwiftName.capitalized(name), kind: kind, isOptional: relationship.isOptional,
      destination: destination.type, destinationExpression: destination.expression,
      destinationEntity: SwiftLiteral.string(relationship.destination), slot: String(slot),
      column: column.map { String($0) }, doc: relationship.doc)
  }

  private func storage(_ name: String) -> String {
    let isReserved =
      ReservedNames.objectMembers.contains(name)
      || hasSnapshots && ReservedNames.snapshotStorage.contains(name)
    return isReserved ? "__" + name : "_" + name
  }

  private mutating func fetchedProperties(of entity: EntityDescription) -> [FetchedDeclaration] {
    var result: [FetchedDeclaration] = []
    for property in entity.fetchedProperties {
      guard let destination = classNames(of: property.entity) else {
        report(.unknownType(property.entity), type: entity.name, member: property.name)
        continue
      }
      result.append(
        FetchedDeclaration(
          key: SwiftLiteral.string(property.name),
          property: SwiftName.escaped(property.swiftName ?? property.name), destination: destination.type,
          doc: property.doc))
    }
    return result
  }
}
