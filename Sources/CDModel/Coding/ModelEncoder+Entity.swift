extension ModelEncoder {
  func entity(_ entity: EntityDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", entity.name)
    writer.add("class", entity.className)
    writer.add("abstract", flag: entity.isAbstract)
    writer.add("parent", entity.parent)
    writer.add("renamedFrom", entity.renamedFrom)
    writer.add("attributes", list: list(entity.attributes, by: \.name, attribute))
    writer.add("relationships", list: list(entity.relationships, by: \.name, relationship))
    writer.add("fetched", list: list(entity.fetchedProperties, by: \.name, fetchedProperty))
    writer.add("fetches", list: list(entity.fetchTemplates, by: \.name, fetchTemplate))
    writer.add("indexes", list: indexes(of: entity))
    writer.add("unique", list: uniquenessConstraints(of: entity))
    writer.add("hashModifier", entity.hashModifier)
    writer.add("info", dictionary: entity.info)
    writer.add("doc", comment(entity.doc))
    return writer.value
  }

  func indexes(of entity: EntityDescription) -> [JSONValue] {
    list(entity.indexes, by: { _ in "" }, index)
  }

  func uniquenessConstraints(of entity: EntityDescription) -> [JSONValue] {
    list(entity.uniquenessConstraints, by: { _ in "" }, properties)
  }

  private func properties(_ names: [String]) -> JSONValue {
    .array(names.map(JSONValue.string))
  }

  private func index(_ index: IndexDescription) -> JSONValue {
    .object([JSONValue.Member("elements", .array(index.elements.map(sortKey)))])
  }

  private func sortKey(_ key: SortKey) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("key", key.keyPath)
    writer.add("descending", flag: !key.isAscending)
    writer.add("options", key.options.isEmpty ? nil : key.options.letters)
    return writer.value
  }

  func fetchTemplate(_ template: FetchTemplate) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", template.name)
    writer.add("where", template.predicate?.canonicalText)
    writer.add("sort", list: template.sort.map(sortKey))
    writer.add("limit", template.limit)
    writer.add("doc", comment(template.doc))
    return writer.value
  }

  func fetchedProperty(_ property: FetchedPropertyDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", property.name)
    writer.add("entity", property.entity)
    writer.add("where", property.predicate?.canonicalText)
    writer.add("sort", list: property.sort.map(sortKey))
    writer.add("limit", property.limit)
    writer.add("swiftName", property.swiftName)
    writer.add("info", dictionary: property.info)
    writer.add("doc", comment(property.doc))
    return writer.value
  }
}
