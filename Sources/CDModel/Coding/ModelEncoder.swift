/// Encodes the parts of a model as JSON.
package struct ModelEncoder {
  enum Purpose {
    /// For compiled models: everything, in declared order.
    case canonical
    /// For the definition hash: without texts for people, and with lists sorted if their order has no meaning.
    case definition
  }

  let purpose: Purpose

  package static var definition: ModelEncoder { ModelEncoder(purpose: .definition) }

  /// Encodes a list whose order has no meaning. The list is sorted for a hash.
  private func list<Element>(
    _ elements: [Element], by name: (Element) -> String, _ encode: (Element) -> JSONValue
  ) -> [JSONValue] {
    // Most lists of a model are empty.
    if elements.isEmpty { return [] }
    return switch purpose {
    case .canonical: elements.map(encode)
    case .definition: elements.map { (name($0), encode($0)) }.sortedByName()
    }
  }

  /// Returns text for people, or nil if the JSON is for a hash.
  private func comment(_ text: String?) -> String? {
    purpose == .canonical ? text : nil
  }

  @_optimize(none)
  func version(_ version: ModelVersion, into writer: inout JSONObjectWriter) {
    if purpose == .canonical { writer.add("number", version.number) }
    writer.add("label", comment(version.label))
    let basedOn = purpose == .canonical ? version.basedOn : version.basedOn.ordered()
    writer.add("basedOn", list: basedOn.map { .int(Int64($0)) })
    writer.add("enums", list: list(version.enums, by: { $0.name }, enumeration))
    writer.add("composites", list: list(version.composites, by: { $0.name }, composite))
    writer.add("entities", list: list(version.entities, by: { $0.name }, entity))
    writer.add("configurations", list: list(version.configurations, by: { $0.name }, configuration))
    if purpose == .canonical { writer.add("info", dictionary: version.info) }
  }

  package func configuration(_ configuration: ConfigurationDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", configuration.name)
    writer.add("entities", list: list(configuration.entities, by: { $0 }, JSONValue.string))
    return writer.value
  }

  @_optimize(none)
  package func enumeration(_ enumeration: EnumDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", enumeration.name)
    writer.add("rawType", type(enumeration.rawType))
    writer.add("cases", list: enumeration.cases.map(enumCase))
    writer.add("doc", comment(enumeration.doc))
    return writer.value
  }

  func enumCase(_ enumCase: EnumDescription.Case) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", enumCase.name)
    writer.add("rawValue", enumCase.rawValue.jsonValue())
    return writer.value
  }

  package func composite(_ composite: CompositeDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", composite.name)
    writer.add("fields", list: list(composite.fields, by: { $0.name }, attribute))
    writer.add("doc", comment(composite.doc))
    return writer.value
  }
}

extension [(String, JSONValue)] {
  /// The values sorted by name, and by their text if names are equal, so that the result does not depend on the order
  /// of declarations.
  func sortedByName() -> [JSONValue] {
    ordered { left, right in
      if left.0.precedes(right.0) { return true }
      if right.0.precedes(left.0) { return false }
      return left.1.canonicalText.precedes(right.1.canonicalText)
    }
    .map(\.1)
  }
}

extension ModelEncoder {
  @_optimize(none)
  package func entity(_ entity: EntityDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", entity.name)
    writer.add("class", entity.className)
    writer.add("abstract", flag: entity.isAbstract)
    writer.add("parent", entity.parent)
    writer.add("renamedFrom", entity.renamedFrom)
    writer.add("attributes", list: list(entity.attributes, by: { $0.name }, attribute))
    writer.add("relationships", list: list(entity.relationships, by: { $0.name }, relationship))
    writer.add("fetched", list: list(entity.fetchedProperties, by: { $0.name }, fetchedProperty))
    writer.add("fetches", list: list(entity.fetchTemplates, by: { $0.name }, fetchTemplate))
    writer.add("indexes", list: indexes(of: entity))
    writer.add("unique", list: uniquenessConstraints(of: entity))
    writer.add("hashModifier", entity.hashModifier)
    writer.add("info", dictionary: entity.info)
    writer.add("doc", comment(entity.doc))
    return writer.value
  }

  package func indexes(of entity: EntityDescription) -> [JSONValue] {
    list(entity.indexes, by: { _ in "" }, index)
  }

  package func uniquenessConstraints(of entity: EntityDescription) -> [JSONValue] {
    list(entity.uniquenessConstraints, by: { _ in "" }, properties)
  }

  private func properties(_ names: [String]) -> JSONValue {
    .array(names.map(JSONValue.string))
  }

  @_optimize(none)
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

  @_optimize(none)
  package func fetchTemplate(_ template: FetchTemplate) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", template.name)
    writer.add("where", template.predicate?.canonicalText)
    writer.add("sort", list: template.sort.map(sortKey))
    writer.add("limit", template.limit)
    writer.add("doc", comment(template.doc))
    return writer.value
  }

  @_optimize(none)
  package func fetchedProperty(_ property: FetchedPropertyDescription) -> JSONValue {
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

extension ModelEncoder {
  @_optimize(none)
  package func attribute(_ attribute: AttributeDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", attribute.name)
    writer.add("type", type(attribute.type))
    writer.add("optional", flag: attribute.isOptional)
    writer.add("default", attribute.defaultValue.map(defaultValue))
    writer.add("transient", flag: attribute.isTransient)
    writer.add("derived", attribute.derivation?.canonicalText)
    writer.add("external", flag: attribute.storesExternally)
    writer.add("min", attribute.minimum?.jsonValue())
    writer.add("max", attribute.maximum?.jsonValue())
    writer.add("minLength", attribute.minimumLength)
    writer.add("maxLength", attribute.maximumLength)
    writer.add("pattern", attribute.pattern)
    writer.add("swiftName", attribute.propertyName)
    writer.add("renamedFrom", attribute.renamedFrom)
    writer.add("hashModifier", attribute.hashModifier)
    writer.add("info", dictionary: attribute.info)
    writer.add("doc", comment(attribute.doc))
    return writer.value
  }

  package func relationship(_ relationship: RelationshipDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", relationship.name)
    writer.add("to", relationship.destination)
    writer.add("toMany", flag: relationship.isToMany)
    writer.add("optional", flag: relationship.isOptional)
    writer.add("inverse", relationship.inverse)
    if relationship.deleteRule != .nullify { writer.add("onDelete", relationship.deleteRule.rawValue) }
    writer.add("ordered", flag: relationship.isOrdered)
    writer.add("minCount", relationship.minimumCount)
    writer.add("maxCount", relationship.maximumCount)
    writer.add("swiftName", relationship.propertyName)
    writer.add("renamedFrom", relationship.renamedFrom)
    writer.add("hashModifier", relationship.hashModifier)
    writer.add("info", dictionary: relationship.info)
    writer.add("doc", comment(relationship.doc))
    return writer.value
  }

  func type(_ type: AttributeType) -> JSONValue {
    var writer = JSONObjectWriter()
    switch type {
    case .enumeration(let name): writer.add("enum", name)
    case .composite(let name): writer.add("composite", name)
    case .codable(let name, let codec):
      writer.add("codable", name)
      writer.add("codec", codec)
    default: return .string(type.schemaName)
    }
    return writer.value
  }

  private func defaultValue(_ value: DefaultValue) -> JSONValue {
    switch value {
    case .value(let value): value.jsonValue()
    case .now: .object([JSONValue.Member("$function", .string("now"))])
    case .uuid: .object([JSONValue.Member("$function", .string("uuid"))])
    }
  }
}
