import CDModel

extension DecodingContext {
  /// Reads the composites under `composites:`. Each is a mapping of fields, or a mapping with `fields` and `doc`.
  func decodeComposites(_ pairs: [MarkedNode.Pair]) -> [CompositeDescription] {
    pairs.map { pair in
      let element = SchemaElement.part(.composite(pair.name), version: version)
      declare(element, at: pair.key)
      let result = decodeComposite(pair, element)
      composites[pair.name] = result
      return result
    }
  }

  private func decodeComposite(_ pair: MarkedNode.Pair, _ element: SchemaElement) -> CompositeDescription {
    var result = CompositeDescription(name: pair.name, fields: [])
    guard let direct = self.pairs(of: pair.value, noun: "a composite") else {
      broken.insert(element)
      return result
    }
    if let first = direct.first, isAmbiguous(direct) {
      error(
        first.key,
        "this may be a field called 'fields', or the fields of '\(pair.name)'; write { type: … } without 'fields' "
          + "for a field 'type', or { fields: … } with a type's name for a field 'fields'")
      broken.insert(element)
      return result
    }
    var fields = direct
    if hasLongForm(direct) {
      guard
        let reader = MappingReader(
          pair.value, of: element, at: pair.key, noun: "a composite", keys: .composite, context: self)
      else { return result }
      result.doc = reader.prose("doc")
      fields = reader.pairs("fields")
    }
    if fields.isEmpty {
      error(pair.key, "composite '\(pair.name)' has no fields; it needs one at least")
      broken.insert(element)
    }
    result.fields = fields.map { field in
      let place = SchemaElement.part(.field(composite: pair.name, name: field.name), version: version)
      declare(place, at: field.key)
      let attribute = decodeAttribute(field, place, owner: .composite)
      if broken.contains(place) { broken.insert(element) }
      return attribute
    }
    return result
  }

  /// Whether `fields` contains the fields. It can also be a field with this name, which has a type.
  private func hasLongForm(_ pairs: [MarkedNode.Pair]) -> Bool {
    guard let inner = innerFields(pairs) else { return false }
    guard inner.contains(where: { $0.name == "type" || $0.name == "codable" }) else { return true }
    // A comment is hardly the name of a type, which a field `doc` has.
    if let doc = pairs.first(where: { $0.name == "doc" })?.value.text, !doc.isEmpty, !isTypeName(doc) {
      return true
    }
    return pairs.allSatisfy { $0.name == "fields" || $0.name == "doc" }
      && inner.contains { !SchemaKeys.attribute.names.contains($0.name) }
  }

  /// Whether `fields` is all that a composite has, and may be a field with this name, as well as the fields.
  private func isAmbiguous(_ pairs: [MarkedNode.Pair]) -> Bool {
    guard pairs.count == 1, let inner = innerFields(pairs), !hasLongForm(pairs) else { return false }
    return inner.allSatisfy { field in
      if case .mapping = field.value.content { return true }
      return field.value.text.map(isTypeName) ?? false
    }
  }

  private func innerFields(_ pairs: [MarkedNode.Pair]) -> [MarkedNode.Pair]? {
    guard let fields = pairs.first(where: { $0.name == "fields" }),
      case .mapping(let inner) = fields.value.content
    else { return nil }
    return inner
  }
}
