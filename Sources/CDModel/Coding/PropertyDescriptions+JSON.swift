extension AttributeDescription {
  @_optimize(none)
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      type: try AttributeType(decoding: reader.required("type")),
      isOptional: try reader.flag("optional"),
      defaultValue: try reader.optional("default").map(DefaultValue.init(decoding:)),
      isTransient: try reader.flag("transient"),
      derivation: try reader.optional("derived")?.expression(),
      storesExternally: try reader.flag("external"),
      minimum: try reader.optional("min").map(AttributeValue.init(decoding:)),
      maximum: try reader.optional("max").map(AttributeValue.init(decoding:)),
      minimumLength: try reader.int("minLength"),
      maximumLength: try reader.int("maxLength"),
      pattern: try reader.string("pattern"),
      propertyName: try reader.string("swiftName"),
      renamedFrom: try reader.string("renamedFrom"),
      hashModifier: try reader.string("hashModifier"),
      info: try reader.dictionary("info"),
      doc: try reader.string("doc"))
    try reader.finish()
  }
}

extension RelationshipDescription {
  @_optimize(none)
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      destination: try reader.required("to").string(),
      isToMany: try reader.flag("toMany"),
      isOptional: try reader.flag("optional"),
      inverse: try reader.string("inverse"),
      deleteRule: try reader.optional("onDelete")?.word() ?? .nullify,
      isOrdered: try reader.flag("ordered"),
      minimumCount: try reader.int("minCount"),
      maximumCount: try reader.int("maxCount"),
      propertyName: try reader.string("swiftName"),
      renamedFrom: try reader.string("renamedFrom"),
      hashModifier: try reader.string("hashModifier"),
      info: try reader.dictionary("info"),
      doc: try reader.string("doc"))
    try reader.finish()
  }
}

extension DefaultValue {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    guard let function = element.value["$function"] else {
      self = .value(try AttributeValue(decoding: element))
      return
    }
    var reader = try element.object()
    _ = reader.optional("$function")
    try reader.finish()
    switch function {
    case .string("now"): self = .now
    case .string("uuid"): self = .uuid
    default: throw element.error(.invalidValue(found: function.canonicalText, expected: "now or uuid"))
    }
  }
}

extension AttributeType {
  @_optimize(none)
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    if case .string(let name) = element.value {
      guard let type = Self.type(named: name) else {
        throw element.error(.invalidValue(found: name, expected: "the name of a type"))
      }
      self = type
      return
    }
    guard case .object = element.value else { throw element.wrongKind("a type") }
    var reader = try element.object()
    if let name = try reader.string("enum") {
      self = .enumeration(name)
    } else if let name = try reader.string("composite") {
      self = .composite(name)
    } else if let name = try reader.string("codable") {
      self = .codable(type: name, codec: try reader.required("codec").int())
    } else {
      try reader.finish()
      throw element.error(.missingMember("enum"))
    }
    try reader.finish()
  }

  /// The type with a fixed name; nil if there is none. There are so few that a dictionary would not be faster.
  private static func type(named name: String) -> AttributeType? {
    for traits in AttributeTraits.all where traits.name == name { return traits.type }
    return nil
  }
}
