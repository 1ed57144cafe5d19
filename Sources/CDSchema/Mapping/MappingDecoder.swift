import CDModel

/// The contents of a mapping file, and whether the file could be read completely.
struct DecodedMapping {
  var rules: MappingRules
  /// Whether the file has a reported mistake, so that its meaning is unknown.
  var isBroken: Bool
}

extension DecodingContext {
  private static let ruleHints = [
    "source": "the entity that objects come from is 'from'",
    "filter": "'where' selects the objects to migrate",
    "predicate": "'where' selects the objects to migrate",
    "custom": "write 'policy: custom'",
    "onDuplicate": "write it beside 'entities', with the entity's name below it",
    "to": "the entity that the objects become is the name above",
  ]

  /// Reads the mapping of a step.
  ///
  /// - Parameter root: The document; nil for an empty file.
  func decodeMapping(_ root: MarkedNode?, from source: Int, to destination: Int) -> DecodedMapping {
    let element = SchemaElement.mapping(from: source, to: destination)
    let start = MarkedNode(content: .scalar("", .plain), range: 0..<0)
    declare(element, at: start)
    var rules = MappingRules(source: source, destination: destination)
    // An empty file means that everything can be inferred. It allows a step between sibling versions.
    guard
      let reader = MappingReader(
        root ?? start, of: element, at: start, noun: "a mapping", keys: .mapping,
        hints: [
          "from": "the file's name gives the versions; the 'from' of an entity is written below 'entities'",
          "attributes": "write them below an entity, and the entity below 'entities'",
        ], context: self)
    else { return DecodedMapping(rules: rules, isBroken: true) }
    for pair in reader.pairs("entities") { decodeRules(pair, of: element, into: &rules) }
    rules.drops = names(reader, "drop", of: "entities")
    decodeDuplicates(reader, element, into: &rules)
    return DecodedMapping(rules: rules, isBroken: false)
  }

  /// Reads the rule of one entity, or a list of rules if its objects come from several source entities.
  private func decodeRules(_ pair: MarkedNode.Pair, of mapping: SchemaElement, into rules: inout MappingRules)
  {
    guard case .sequence(let nodes) = pair.value.content else {
      if let rule = decodeRule(pair.value, pair.name, at: pair.key, rules) { rules.entities.append(rule) }
      return
    }
    if nodes.isEmpty { error(pair.value, "an empty list has no meaning for '\(pair.name)'") }
    for node in nodes {
      if let rule = decodeRule(node, pair.name, at: node, rules) { rules.entities.append(rule) }
    }
  }

  private func decodeRule(
    _ node: MarkedNode, _ name: String, at place: MarkedNode, _ rules: MappingRules
  ) -> EntityRule? {
    let element = SchemaElement.entityRule(
      from: rules.source, to: rules.destination, index: rules.entities.count)
    declare(element, at: place)
    guard
      let reader = MappingReader(
        node, of: element, at: place, noun: "the mapping of an entity", keys: .entityRule,
        hints: Self.ruleHints, context: self)
    else { return nil }
    var rule = EntityRule(destination: name)
    rule.source = reader.text("from")
    rule.name = mappingName(reader)
    if let text = reader.text("policy"), let node = reader.node("policy") {
      rule.isCustom = text == "custom"
      if !rule.isCustom { error(node, "the only policy is 'custom', not '\(text)'", suggestion: "custom") }
    }
    if let node = reader.node("where") { rule.filter = predicate(node) }
    if let text = reader.text("owned"), let node = reader.node("owned") {
      let words = OwnedObjects.allCases.map(\.rawValue)
      if let owned = OwnedObjects(rawValue: text) {
        rule.owned = owned
      } else {
        error(
          node,
          "'owned' is \(words.joined(separator: " or ")), not '\(text)'",
          suggestion: closestName(to: text, in: words))
      }
    }
    rule.attributes = values(reader, "attributes", of: element)
    rule.relationships = values(reader, "relationships", of: element)
    rule.drops = names(reader, "drop", of: "properties")
    for pair in reader.pairs("undecided") {
      guard let note = text(of: pair.value, as: "the note about '\(pair.name)'") else { continue }
      positions.record(pair.key, as: "undecided[\(rule.undecided.count)]", of: element)
      rule.undecided.append(UndecidedPart(pair.name, note: note))
    }
    return rule
  }

  /// Reads a mapping's name. In a custom mapping, it becomes the name of a function.
  private func mappingName(_ reader: MappingReader) -> String? {
    guard let text = reader.text("name"), let node = reader.node("name") else { return nil }
    if let problem = NameRules.problem(with: text) {
      error(node, problem)
      return nil
    }
    return text
  }

  private func values(_ reader: MappingReader, _ key: String, of element: SchemaElement) -> [PropertyMapping]
  {
    var result: [PropertyMapping] = []
    for pair in reader.pairs(key) {
      guard let value = valueExpression(pair.value) else { continue }
      positions.record(pair.key, as: "key:\(key)[\(result.count)]", of: element)
      positions.record(pair.value, as: "\(key)[\(result.count)]", of: element)
      result.append(PropertyMapping(name: pair.name, value: value))
    }
    return result
  }

  private func names(_ reader: MappingReader, _ key: String, of what: String) -> [String] {
    var result: [String] = []
    for node in reader.list(key, of: what) ?? [] {
      guard let name = text(of: node, as: "a name") else { continue }
      if result.contains(name) {
        error(node, "'\(name)' is repeated here")
        continue
      }
      positions.record(node, as: "\(key)[\(result.count)]", of: reader.element)
      result.append(name)
    }
    return result
  }

  /// Reads duplicate rules: `{ Person: { fullName: keepFirst, "name, city": keepLast } }`.
  private func decodeDuplicates(
    _ reader: MappingReader, _ element: SchemaElement, into rules: inout MappingRules
  ) {
    let words = DuplicateRule.Survivor.allCases.map(\.rawValue)
    for entity in reader.pairs("onDuplicate") {
      for pair in pairs(of: entity.value, noun: "'\(entity.name)'") ?? [] {
        guard let word = text(of: pair.value, as: "'\(pair.name)'") else { continue }
        guard let survivor = DuplicateRule.Survivor(rawValue: word) else {
          error(
            pair.value,
            "the object that stays is chosen by \(words.joined(separator: " or ")), not '\(word)'",
            suggestion: closestName(to: word, in: words))
          continue
        }
        let properties = pair.name.split(separator: ",").map { name in
          String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        positions.record(pair.key, as: "onDuplicate[\(rules.duplicates.count)]", of: element)
        rules.duplicates.append(
          DuplicateRule(entity: entity.name, properties: properties, survivor: survivor))
      }
    }
  }
}
