import CDModel

extension DecodingContext {
  /// Reads the enumerations under `enums:`. The readable parts of a wrong enumeration are kept, so that attributes that
  /// use it are not reported too.
  func decodeEnums(_ pairs: [MarkedNode.Pair]) -> [EnumDescription] {
    pairs.compactMap { pair in
      let element = SchemaElement.part(.enumeration(pair.name), version: version)
      declare(element, at: pair.key)
      let result = decodeEnum(pair, element)
      enums[pair.name] = result
      return result
    }
  }

  private func decodeEnum(_ pair: MarkedNode.Pair, _ element: SchemaElement) -> EnumDescription {
    var result = EnumDescription(name: pair.name, rawType: .string, cases: [])
    guard
      let reader = MappingReader(
        pair.value, of: element, at: pair.key, noun: "an enum", keys: .stringEnumeration,
        hints: ["values": "write its cases under 'cases'", "rawType": "it is 'type' here"], context: self)
    else {
      broken.insert(element)
      return result
    }
    result.doc = reader.prose("doc")
    var hasType = false
    if let text = reader.text("type"), let node = reader.node("type") {
      let types = [AttributeTraits.string] + AttributeTraits.integers
      if let traits = types.first(where: { $0.name == text }) {
        (result.rawType, hasType) = (traits.type, true)
      } else {
        error(
          node, "the type of an enum is \(Self.rawTypes), not '\(text)'",
          suggestion: ForeignTypes.names[ForeignTypes.key(text)].flatMap { name in
            types.contains { $0.name == name } ? name : nil
          })
      }
    } else if !reader.has("type") {
      reader.reportMissing("enum '\(pair.name)' has no 'type': \(Self.rawTypes)")
    }
    if !hasType { broken.insert(element) }
    if let cases = reader.node("cases") {
      result.cases = decodeCases(cases, of: result, element, isTypeKnown: hasType)
      if result.cases.isEmpty { broken.insert(element) }
    } else {
      reader.reportMissing("enum '\(pair.name)' has no 'cases'")
      broken.insert(element)
    }
    return result
  }

  /// The names of the raw types as a list for people.
  private static let rawTypes =
    (["String"] + AttributeTraits.integers.map(\.name)).list(lastAfter: "or")

  private func decodeCases(
    _ node: MarkedNode, of owner: EnumDescription, _ element: SchemaElement, isTypeKnown: Bool
  ) -> [EnumDescription.Case] {
    var cases: [EnumDescription.Case] = []
    var seen: [AttributeValue: String] = [:]
    func add(_ name: String, at key: MarkedNode, _ rawValue: AttributeValue, from value: MarkedNode) {
      let place = SchemaElement.enumCase(version: version, enumeration: owner.name, name: name)
      declare(place, at: key)
      positions.record(value, as: "value", of: place)
      if let first = seen[rawValue] {
        error(value, "case '\(name)' has the same raw value as case '\(first)'; each case needs its own")
        broken.insert(element)
      } else {
        seen[rawValue] = name
      }
      cases.append(.init(name: name, rawValue: rawValue))
    }
    switch node.content {
    case .mapping(let pairs):
      for pair in pairs {
        if !isTypeKnown {
          declare(.enumCase(version: version, enumeration: owner.name, name: pair.name), at: pair.key)
          cases.append(.init(name: pair.name, rawValue: .string(pair.name)))
          continue
        }
        let value = value(pair.value, of: owner.rawType, as: "the raw value of a case")
        if value == nil { broken.insert(element) }
        add(pair.name, at: pair.key, value ?? .string(pair.name), from: pair.value)
      }
    case .sequence(let elements):
      if isTypeKnown, owner.rawType != .string {
        error(
          node,
          "the cases of an enum of \(owner.rawType.schemaName) need their raw values, "
            + "because stores contain them: { first: 0, second: 1 }")
        broken.insert(element)
      }
      for node in elements {
        guard let name = text(of: node, as: "a case") else {
          broken.insert(element)
          continue
        }
        if cases.contains(where: { $0.name == name }) {
          error(node, "case '\(name)' is repeated here")
          broken.insert(element)
          continue
        }
        add(name, at: node, .string(name), from: node)
      }
    case .scalar, .refused:
      error(node, "'cases' is a mapping of names to raw values, not \(node.kindName)")
      return []
    }
    if cases.isEmpty { error(node, "enum '\(owner.name)' has no cases; it needs one at least") }
    return cases
  }
}
