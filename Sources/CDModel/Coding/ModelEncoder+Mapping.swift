extension ModelEncoder {
  func rules(_ rules: MappingRules) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("from", rules.source)
    writer.add("to", rules.destination)
    writer.add("entities", list: rules.entities.map(rule))
    writer.add("drop", list: rules.drops.map(JSONValue.string))
    writer.add("onDuplicate", list: rules.duplicates.map(duplicates))
    return writer.value
  }

  private func rule(_ rule: EntityRule) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("entity", rule.destination)
    writer.add("from", rule.source)
    writer.add("name", rule.name)
    writer.add("custom", flag: rule.isCustom)
    writer.add("where", rule.filter?.canonicalText)
    writer.add("owned", rule.owned == .drop ? nil : rule.owned.rawValue)
    writer.add("attributes", list: rule.attributes.map(value))
    writer.add("relationships", list: rule.relationships.map(value))
    writer.add("drop", list: rule.drops.map(JSONValue.string))
    writer.add("undecided", list: rule.undecided.map(part))
    return writer.value
  }

  private func part(_ part: UndecidedPart) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", part.name)
    writer.add("note", part.note)
    return writer.value
  }

  private func value(_ mapping: PropertyMapping) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", mapping.name)
    writer.add("value", mapping.value.canonicalText)
    return writer.value
  }

  private func duplicates(_ rule: DuplicateRule) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("entity", rule.entity)
    writer.add("unique", list: rule.properties.map(JSONValue.string))
    writer.add("survivor", rule.survivor.rawValue)
    return writer.value
  }
}
