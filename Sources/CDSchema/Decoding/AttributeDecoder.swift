import CDModel

/// The sort of declaration that contains an attribute.
enum AttributeOwner {
  case entity, composite

  var noun: String {
    switch self {
    case .entity: "an attribute"
    case .composite: "a field"
    }
  }

  var keys: SchemaKeys {
    switch self {
    case .entity: .attribute
    case .composite: .field
    }
  }
}

extension DecodingContext {
  /// Reads an attribute in its short form, which is only a type, or in its long form, a mapping.
  func decodeAttribute(
    _ pair: MarkedNode.Pair, _ element: SchemaElement, owner: AttributeOwner
  ) -> AttributeDescription {
    var result = AttributeDescription(name: pair.name, type: .string)
    switch pair.value.content {
    case .scalar, .sequence:
      positions.record(pair.value, as: "type", of: element)
      if pair.value.isEmpty {
        error(pair.key, "\(owner.noun) needs a type, such as '\(pair.name): String'")
        broken.insert(element)
      } else if let reference = typeReference(pair.value) {
        (result.type, result.isOptional) = (reference.type, reference.isOptional)
        checkField(result.type, at: pair.value, element, owner)
      } else {
        broken.insert(element)
      }
      return result
    case .refused:
      broken.insert(element)
      return result
    case .mapping: break
    }
    guard
      let reader = MappingReader(
        pair.value, of: element, at: pair.key, noun: owner.noun, keys: owner.keys, hints: Self.attributeHints,
        context: self)
    else { return result }
    let isTyped = decodeType(reader, into: &result, owner)
    if !isTyped { broken.insert(element) }
    result.isTransient = reader.bool("transient") ?? false
    result.storesExternally = reader.bool("external") ?? false
    result.minimumLength = reader.int("minLength", atLeast: 0)
    result.maximumLength = reader.int("maxLength", atLeast: 0)
    result.pattern = reader.prose("pattern")
    result.propertyName = reader.text("swiftName")
    result.renamedFrom = reader.text("renamedFrom")
    result.hashModifier = reader.text("hashModifier")
    result.info = reader.info()
    result.doc = reader.prose("doc")
    result.derivation = decodeDerivation(reader)
    if isTyped { decodeConstants(reader, into: &result) }
    return result
  }

  private static let attributeHints: [String: String] = [
    "optional": "an optional attribute has a '?' after its type: String?",
    "indexed": "write indexes in the entity under 'indexes'",
    "index": "write indexes in the entity under 'indexes'",
    "unique": "write unique attributes in the entity under 'unique'",
    "to": "write relationships under 'relationships'",
    "enum": "the enum's name is the 'type'",
    "minimum": "it is 'min' here",
    "maximum": "it is 'max' here",
  ]

  /// Reads the type from `type` or `codable`. Returns false if the type is unknown.
  private func decodeType(
    _ reader: MappingReader, into result: inout AttributeDescription, _ owner: AttributeOwner
  ) -> Bool {
    let codec = reader.int("codec", atLeast: 1)
    if let node = reader.node("codable") {
      if let type = reader.node("type") {
        error(type, "an attribute has either 'type' or 'codable', not both")
        return false
      }
      guard owner != .composite else {
        error(node, "a field cannot be 'codable'; give the entity an attribute of that type")
        broken.insert(reader.element)
        return false
      }
      guard let text = text(of: node, as: "'codable'") else { return false }
      let isOptional = text.hasSuffix("?")
      let name = isOptional ? String(text.dropLast()) : text
      guard SwiftTypeSyntax.isType(name) else {
        error(
          node,
          "'\(text)' is not a Swift type; write one such as Settings, MyApp.Settings or \"[String: Int]\"")
        return false
      }
      result.type = .codable(type: name, codec: codec ?? 1)
      result.isOptional = isOptional
      return true
    }
    if let node = reader.node("codec") { error(node, "'codec' is only allowed together with 'codable'") }
    guard let node = reader.node("type") else {
      reader.reportMissing("\(owner.noun) needs a 'type' (or 'codable')")
      return false
    }
    guard let reference = typeReference(node) else { return false }
    (result.type, result.isOptional) = (reference.type, reference.isOptional)
    return checkField(result.type, at: node, reader.element, owner)
  }

  /// Reports a composite as the type of a composite's field. Composites cannot be nested.
  @discardableResult
  private func checkField(
    _ type: AttributeType, at node: MarkedNode, _ element: SchemaElement, _ owner: AttributeOwner
  ) -> Bool {
    guard owner == .composite, case .composite(let name) = type else { return true }
    if case .part(.field(name, _), _) = element {
      error(node, "composite '\(name)' cannot hold itself")
    } else {
      error(node, "a field cannot be a composite; write the fields of '\(name)' here")
    }
    broken.insert(element)
    return false
  }

  private func decodeDerivation(_ reader: MappingReader) -> ValueExpression? {
    guard let node = reader.node("derived") else { return nil }
    let result = valueExpression(node)
    if result == nil { broken.insert(reader.element) }
    return result
  }

  /// Reads `default`, `min` and `max` according to the attribute's type.
  private func decodeConstants(_ reader: MappingReader, into result: inout AttributeDescription) {
    if let node = reader.node("default") {
      switch (result.type, node.text) {
      case (.date, "now()"): result.defaultValue = .now
      case (.uuid, "uuid()"): result.defaultValue = .uuid
      default:
        if case .enumeration(let name) = result.type,
          broken.contains(.part(.enumeration(name), version: version))
        {
          break
        }
        if case .composite(let name) = result.type, broken.contains(.part(.composite(name), version: version))
        {
          break
        }
        result.defaultValue = value(node, of: result.type, as: "the default").map { .value($0) }
      }
    }
    guard result.type.isOrdered else {
      for key in ["min", "max"] {
        guard let node = reader.node(key) else { continue }
        let remedy = result.type.hasLength ? "; bounds of its length are 'minLength' and 'maxLength'" : ""
        error(
          node,
          "'\(key)' is allowed for numbers and dates, but this attribute has the type "
            + "\(result.type.schemaName)\(remedy)"
        )
      }
      return
    }
    result.minimum = reader.node("min").flatMap { value($0, of: result.type, as: "the minimum") }
    result.maximum = reader.node("max").flatMap { value($0, of: result.type, as: "the maximum") }
  }
}

extension AttributeType {
  /// Whether `minLength` and `maxLength` are allowed for the type.
  var hasLength: Bool { self == .string || self == .data }
}
