extension EntityDescription {
  @_optimize(none)
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      className: try reader.string("class"),
      isAbstract: try reader.flag("abstract"),
      parent: try reader.string("parent"),
      renamedFrom: try reader.string("renamedFrom"),
      attributes: try reader.list("attributes", AttributeDescription.init(decoding:)),
      relationships: try reader.list("relationships", RelationshipDescription.init(decoding:)),
      fetchedProperties: try reader.list("fetched", FetchedPropertyDescription.init(decoding:)),
      fetchTemplates: try reader.list("fetches", FetchTemplate.init(decoding:)),
      indexes: try reader.list("indexes", IndexDescription.init(decoding:)),
      uniquenessConstraints: try reader.list("unique") { (each) throws(ModelDecodingError) in
        try each.list { (each) throws(ModelDecodingError) in try each.string() }
      },
      hashModifier: try reader.string("hashModifier"),
      info: try reader.dictionary("info"),
      doc: try reader.string("doc"))
    try reader.finish()
  }
}

extension IndexDescription {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(elements: try reader.required("elements").list(SortKey.init(decoding:)))
    try reader.finish()
  }
}

extension SortKey {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      try reader.required("key").string(), ascending: try !reader.flag("descending"),
      options: ComparisonOptions(letters: try reader.string("options") ?? ""))
    try reader.finish()
  }
}

extension FetchTemplate {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      predicate: try reader.optional("where")?.predicate(),
      sort: try reader.list("sort", SortKey.init(decoding:)),
      limit: try reader.int("limit"),
      doc: try reader.string("doc"))
    try reader.finish()
  }
}

extension FetchedPropertyDescription {
  @_optimize(none)
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      entity: try reader.required("entity").string(),
      predicate: try reader.optional("where")?.predicate(),
      sort: try reader.list("sort", SortKey.init(decoding:)),
      limit: try reader.int("limit"),
      swiftName: try reader.string("swiftName"),
      info: try reader.dictionary("info"),
      doc: try reader.string("doc"))
    try reader.finish()
  }
}

extension JSONElement {
  func predicate() throws(ModelDecodingError) -> FetchPredicate {
    let text = try string()
    do {
      return try FetchPredicate(format: text)
    } catch {
      throw self.error(.invalidExpression(text: text, message: error.description))
    }
  }

  func expression() throws(ModelDecodingError) -> ValueExpression {
    let text = try string()
    do {
      return try ValueExpression(format: text)
    } catch {
      throw self.error(.invalidExpression(text: text, message: error.description))
    }
  }
}
