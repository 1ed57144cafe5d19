extension MappingRules {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      source: try reader.required("from").int(),
      destination: try reader.required("to").int(),
      entities: try reader.list("entities", EntityRule.init(decoding:)),
      drops: try reader.list("drop") { (each) throws(ModelDecodingError) in try each.string() },
      duplicates: try reader.list("onDuplicate", DuplicateRule.init(decoding:)))
    try reader.finish()
  }
}

extension EntityRule {
  @_optimize(none)
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      destination: try reader.required("entity").string(),
      source: try reader.string("from"),
      name: try reader.string("name"),
      isCustom: try reader.flag("custom"),
      filter: try reader.optional("where")?.predicate(),
      owned: try reader.optional("owned")?.word() ?? .drop,
      attributes: try reader.list("attributes", PropertyMapping.init(decoding:)),
      relationships: try reader.list("relationships", PropertyMapping.init(decoding:)),
      drops: try reader.list("drop") { (each) throws(ModelDecodingError) in try each.string() },
      undecided: try reader.list("undecided", UndecidedPart.init(decoding:)))
    try reader.finish()
  }
}

extension UndecidedPart {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(try reader.required("name").string(), note: try reader.required("note").string())
    try reader.finish()
  }
}

extension PropertyMapping {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(), value: try reader.required("value").expression())
    try reader.finish()
  }
}

extension DuplicateRule {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    let entity = try reader.required("entity").string()
    let properties = try reader.list("unique") { (each) throws(ModelDecodingError) in try each.string() }
    let survivor: Survivor = try reader.required("survivor").word()
    self.init(entity: entity, properties: properties, survivor: survivor)
    try reader.finish()
  }
}

// MARK: Writing

extension ModelEncoder {
  @_optimize(none)
  func rules(_ rules: MappingRules) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("from", rules.source)
    writer.add("to", rules.destination)
    writer.add("entities", list: rules.entities.map(rule))
    writer.add("drop", list: rules.drops.map(JSONValue.string))
    writer.add("onDuplicate", list: rules.duplicates.map(duplicates))
    return writer.value
  }

  @_optimize(none)
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
