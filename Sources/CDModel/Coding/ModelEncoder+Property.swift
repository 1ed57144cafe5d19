extension ModelEncoder {
  func attribute(_ attribute: AttributeDescription) -> JSONValue {
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

  func relationship(_ relationship: RelationshipDescription) -> JSONValue {
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
