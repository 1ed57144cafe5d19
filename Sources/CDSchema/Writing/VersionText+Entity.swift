import CDModel

extension VersionText {
  func entity(_ entity: EntityDescription) -> YAMLValue {
    let (number, name) = (version.number, entity.name)
    var pairs = PairList()
    pairs.add("doc", entity.doc)
    pairs.add("abstract", flag: entity.isAbstract)
    pairs.add("parent", entity.parent)
    pairs.add("class", entity.className)
    pairs.add("renamedFrom", entity.renamedFrom)
    pairs.add(
      "attributes",
      entity.attributes.map {
        pair($0.name, attribute($0), of: .part(.attribute(entity: name, name: $0.name), version: number))
      }, .lines)
    pairs.add(
      "relationships",
      entity.relationships.map {
        pair(
          $0.name, relationship($0), of: .part(.relationship(entity: name, name: $0.name), version: number))
      }, .lines)
    pairs.add(
      "fetched",
      entity.fetchedProperties.map {
        pair($0.name, fetched($0), of: .part(.fetchedProperty(entity: name, name: $0.name), version: number))
      }, .lines)
    pairs.add(
      "indexes",
      entity.indexes.isEmpty ? nil : .list(entity.indexes.map { .list($0.elements.map(sortKey)) }))
    pairs.add(
      "unique",
      entity.uniquenessConstraints.isEmpty
        ? nil : .list(entity.uniquenessConstraints.map { .list($0.map { .text($0) }) }))
    pairs.add(
      "fetches",
      entity.fetchTemplates.map {
        pair($0.name, template($0), of: .part(.fetchTemplate(entity: name, name: $0.name), version: number))
      }, .lines)
    pairs.add("hashModifier", entity.hashModifier)
    pairs.add("info", entity.info)
    return .mapping(pairs.list, .lines)
  }

  /// An element by its name, with its comment.
  private func pair(_ name: String, _ value: YAMLValue, of element: SchemaElement) -> YAMLPair {
    YAMLPair(name, value, comment: comments[element])
  }

  private func sortKey(_ key: SortKey) -> YAMLValue {
    .text((key.isAscending ? "" : "-") + key.keyPath + key.options.canonicalText)
  }

  func relationship(_ relationship: RelationshipDescription) -> YAMLValue {
    var pairs = PairList()
    let destination = relationship.destination
    pairs.add(
      "to",
      relationship.isToMany
        ? .list([.text(destination)]) : .text(destination + (relationship.isOptional ? "?" : "")))
    pairs.add("inverse", relationship.inverse ?? "none")
    if relationship.deleteRule != .nullify { pairs.add("onDelete", relationship.deleteRule.rawValue) }
    pairs.add("ordered", flag: relationship.isOrdered)
    if relationship.isToMany, relationship.isOptional != ((relationship.minimumCount ?? 0) == 0) {
      pairs.add("optional", relationship.isOptional ? "true" : "false")
    }
    if relationship.isToMany { pairs.add("count", Self.count(relationship)) }
    pairs.add("swiftName", relationship.propertyName)
    pairs.add("renamedFrom", relationship.renamedFrom)
    pairs.add("hashModifier", relationship.hashModifier)
    pairs.add("info", relationship.info)
    pairs.add("doc", relationship.doc)
    return .mapping(pairs.list, .short)
  }

  private static func count(_ relationship: RelationshipDescription) -> String? {
    switch (relationship.minimumCount, relationship.maximumCount) {
    case (nil, nil): nil
    case (let minimum?, nil): "\(minimum)..."
    case (nil, let maximum?): "...\(maximum)"
    case (let minimum?, let maximum?): minimum == maximum ? "\(minimum)" : "\(minimum)...\(maximum)"
    }
  }

  private func template(_ template: FetchTemplate) -> YAMLValue {
    var pairs = PairList()
    pairs.add("where", template.predicate?.canonicalText)
    pairs.add("sort", template.sort.isEmpty ? nil : .list(template.sort.map(sortKey)))
    pairs.add("limit", template.limit)
    pairs.add("doc", template.doc)
    return .mapping(pairs.list, .short)
  }

  private func fetched(_ property: FetchedPropertyDescription) -> YAMLValue {
    var pairs = PairList()
    pairs.add("entity", property.entity)
    pairs.add("where", property.predicate?.canonicalText)
    pairs.add("sort", property.sort.isEmpty ? nil : .list(property.sort.map(sortKey)))
    pairs.add("limit", property.limit)
    pairs.add("swiftName", property.swiftName)
    pairs.add("info", property.info)
    pairs.add("doc", property.doc)
    return .mapping(pairs.list, .short)
  }
}
