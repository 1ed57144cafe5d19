extension ModelVersion {
  /// The version as canonical JSON. A store contains this text of the version that wrote it.
  public var canonicalJSON: String { jsonValue.canonicalText }

  /// The version as a JSON value. ``canonicalJSON`` is its text.
  package var jsonValue: JSONValue {
    var writer = JSONObjectWriter()
    writer.add("formatVersion", ManagedObjectModel.jsonFormatVersion)
    ModelEncoder(purpose: .canonical).version(self, into: &writer)
    return writer.value
  }

  /// Reads a version from the text of ``canonicalJSON``. White space and the order of an object's members do not
  /// matter.
  public init(canonicalJSON text: String) throws(ModelDecodingError) {
    try self.init(jsonValue: JSONValue(decoding: text))
  }

  /// Reads a version from its ``jsonValue``.
  package init(jsonValue: JSONValue) throws(ModelDecodingError) {
    var reader = try JSONElement(jsonValue).object()
    try reader.checkFormatVersion()
    try self.init(decoding: reader)
  }

  init(decoding reader: JSONObjectReader) throws(ModelDecodingError) {
    var reader = reader
    self.init(
      number: try reader.required("number").int(),
      label: try reader.string("label"),
      basedOn: try reader.list("basedOn") { (each) throws(ModelDecodingError) in try each.int() },
      enums: try reader.list("enums", EnumDescription.init(decoding:)),
      composites: try reader.list("composites", CompositeDescription.init(decoding:)),
      entities: try reader.list("entities", EntityDescription.init(decoding:)),
      configurations: try reader.list("configurations", ConfigurationDescription.init(decoding:)),
      info: try reader.dictionary("info"))
    try reader.finish()
  }
}

extension ConfigurationDescription {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      entities: try reader.list("entities") { (each) throws(ModelDecodingError) in try each.string() })
    try reader.finish()
  }
}

extension EnumDescription {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      rawType: try AttributeType(decoding: reader.required("rawType")),
      cases: try reader.list("cases", Case.init(decoding:)),
      doc: try reader.string("doc"))
    try reader.finish()
  }
}

extension EnumDescription.Case {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      rawValue: try AttributeValue(decoding: reader.required("rawValue")))
    try reader.finish()
  }
}

extension CompositeDescription {
  init(decoding element: JSONElement) throws(ModelDecodingError) {
    var reader = try element.object()
    self.init(
      name: try reader.required("name").string(),
      fields: try reader.list("fields", AttributeDescription.init(decoding:)),
      doc: try reader.string("doc"))
    try reader.finish()
  }
}
