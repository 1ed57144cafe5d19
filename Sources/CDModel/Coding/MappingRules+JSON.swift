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
