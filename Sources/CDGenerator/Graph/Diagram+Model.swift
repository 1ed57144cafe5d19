package import CDModel

extension Diagram {
  /// Creates the diagram of a version. The boxes are in order of declaration: entities, composites, enumerations.
  package init(_ version: ModelVersion, named name: String) {
    let graph = EntityGraph(version)
    title = "\(name), version \(version.number)" + (version.label.map { " (\($0))" } ?? "")
    boxes = version.entities.map(Box.init)
    boxes += version.composites.map { composite in
      Box(name: composite.name, kind: .composite, rows: composite.fields.map { Row($0, unique: []) })
    }
    boxes += version.enums.map { each in
      Box(
        name: each.name, kind: .enumeration,
        rows: each.cases.map { Row(name: $0.name, type: $0.rawValue.diagramText) })
    }
    connections = Self.inheritance(version) + Self.relationships(graph)
  }

  private static func inheritance(_ version: ModelVersion) -> [Connection] {
    let places = places(of: version)
    return version.entities.enumerated().compactMap { child, entity in
      guard let parent = entity.parent.flatMap({ places[$0] }) else { return nil }
      return Connection(
        kind: .inheritance, from: End(box: parent, row: nil, multiplicity: .exactlyOne),
        to: End(box: child, row: nil, multiplicity: .zeroOrOne))
    }
  }

  /// Creates one connection for a relationship and its inverse, at the one that is declared first.
  private static func relationships(_ graph: EntityGraph) -> [Connection] {
    let places = places(of: graph.version)
    var drawn: Set<RowPlace> = []
    var result: [Connection] = []
    for (box, entity) in graph.version.entities.enumerated() {
      for (index, relationship) in entity.relationships.enumerated() {
        let start = RowPlace(box: box, row: entity.attributes.count + index)
        guard drawn.insert(start).inserted, let destination = places[relationship.destination] else {
          continue
        }
        let inverse = graph.inverse(of: relationship, in: entity.name)
        let back = inverse.flatMap { place(of: $0, in: relationship.destination, graph, places) }
        if let back { drawn.insert(back) }
        result.append(
          Connection(
            kind: inverse == nil ? .oneSided : .relationship,
            from: End(box: box, row: start.row, multiplicity: inverse?.multiplicity ?? .zeroOrMore),
            to: End(
              box: back?.box ?? destination, row: back?.row, multiplicity: relationship.multiplicity)))
      }
    }
    return result
  }

  private struct RowPlace: Hashable {
    var box: Int
    var row: Int
  }

  private static func place(
    of relationship: RelationshipDescription, in entity: String, _ graph: EntityGraph, _ places: [String: Int]
  ) -> RowPlace? {
    guard let owner = graph.declaringEntity(of: relationship.name, in: entity), let box = places[owner.name],
      let index = owner.relationships.firstIndex(where: { $0.name == relationship.name })
    else { return nil }
    return RowPlace(box: box, row: owner.attributes.count + index)
  }

  private static func places(of version: ModelVersion) -> [String: Int] {
    Dictionary(zip(version.entities.map(\.name), 0...), uniquingKeysWith: { first, _ in first })
  }
}

extension Diagram.Box {
  fileprivate init(_ entity: EntityDescription) {
    name = entity.name
    kind = entity.isAbstract ? .abstractEntity : .entity
    let unique = entity.uniquenessConstraints
    rows =
      entity.attributes.map { Diagram.Row($0, unique: unique) }
      + entity.relationships.map { Diagram.Row($0, unique: unique) }
  }
}

extension Diagram.Row {
  fileprivate init(_ attribute: AttributeDescription, unique: [[String]]) {
    name = attribute.name
    type = attribute.type.schemaName + (attribute.isOptional ? "?" : "")
    isUnique = unique.contains([attribute.name])
    notes = Self.notes(attribute.name, unique)
    if attribute.isTransient { notes.append("transient") }
    if attribute.derivation != nil { notes.append("derived") }
  }

  fileprivate init(_ relationship: RelationshipDescription, unique: [[String]]) {
    name = relationship.name
    let destination = relationship.destination
    type =
      relationship.isToMany
      ? "[\(destination)]" : destination + (relationship.isOptional ? "?" : "")
    isRelationship = true
    isUnique = unique.contains([relationship.name])
    notes = Self.notes(relationship.name, unique)
    if relationship.isOrdered { notes.append("ordered") }
    if relationship.deleteRule != .nullify { notes.append(relationship.deleteRule.rawValue) }
  }

  /// A note for each constraint over several properties that includes this one.
  private static func notes(_ name: String, _ unique: [[String]]) -> [String] {
    unique.filter { $0.count > 1 && $0.contains(name) }
      .map { "unique with " + $0.filter { $0 != name }.joined(separator: ", ") }
  }
}

extension RelationshipDescription {
  fileprivate var multiplicity: Diagram.Multiplicity {
    if !isToMany { return isOptional ? .zeroOrOne : .exactlyOne }
    return !isOptional || (minimumCount ?? 0) > 0 ? .oneOrMore : .zeroOrMore
  }
}

extension AttributeValue {
  /// The raw value of a case. Other values are not shown.
  fileprivate var diagramText: String {
    switch self {
    case .int(let value): String(value)
    case .string(let value): "\"\(value)\""
    default: ""
    }
  }
}
