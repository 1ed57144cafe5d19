import CDModel

extension DecodingContext {
  private static let relationshipHints: [String: String] = [
    "type": "the related entity is 'to'",
    "entity": "the related entity is 'to'",
    "destination": "the related entity is 'to'",
    "deleteRule": "it is 'onDelete' here",
    "toMany": "a to-many relationship is written to: [Entity]",
    "min": "the bounds are one 'count', such as 0...500",
    "max": "the bounds are one 'count', such as 0...500",
    "minCount": "the bounds are one 'count', such as 0...500",
    "maxCount": "the bounds are one 'count', such as 0...500",
    "default": "relationships have no default",
  ]

  /// Reads a relationship. Returns nil if its destination cannot be read.
  func decodeRelationship(_ pair: MarkedNode.Pair, _ element: SchemaElement) -> RelationshipDescription? {
    guard case .mapping = pair.value.content else {
      broken.insert(element)
      error(
        pair.value.isEmpty ? pair.key : pair.value,
        "a relationship is a mapping such as { to: Category?, inverse: \(pair.name) }, "
          + "and not \(pair.value.kindName)")
      return nil
    }
    guard
      let reader = MappingReader(
        pair.value, of: element, at: pair.key, noun: "a relationship", keys: .relationship,
        hints: Self.relationshipHints, context: self)
    else { return nil }
    var result = RelationshipDescription(name: pair.name, destination: "")
    let hasDestination = decodeDestination(reader, into: &result)
    if !hasDestination { broken.insert(element) }
    decodeInverse(reader, into: &result)
    if let text = reader.text("onDelete"), let node = reader.node("onDelete") {
      if let rule = DeleteRule(rawValue: text) {
        result.deleteRule = rule
      } else {
        let rules = DeleteRule.allCases.map(\.rawValue)
        error(
          node, "unknown delete rule '\(text)'; the rules are \(rules.list(lastAfter: "and"))",
          suggestion: closestName(to: text, in: rules))
      }
    }
    result.isOrdered = reader.bool("ordered") ?? false
    if hasDestination { decodeCardinality(reader, into: &result) }
    result.propertyName = reader.text("swiftName")
    result.renamedFrom = reader.text("renamedFrom")
    result.hashModifier = reader.text("hashModifier")
    result.info = reader.info()
    result.doc = reader.prose("doc")
    return hasDestination ? result : nil
  }

  private func decodeDestination(_ reader: MappingReader, into result: inout RelationshipDescription) -> Bool
  {
    guard let node = reader.node("to") else {
      reader.reportMissing("a relationship needs 'to': Entity, Entity? or [Entity]")
      return false
    }
    if case .sequence(let elements) = node.content {
      guard elements.count == 1, let destination = elements[0].text, !elements[0].isEmpty else {
        error(node, "a to-many relationship names one entity: [Entity]")
        return false
      }
      guard !destination.hasSuffix("?") else {
        error(
          elements[0], "the objects of a to-many relationship are never nil",
          suggestion: "[\(destination.dropLast())]")
        return false
      }
      positions.record(elements[0], as: "destination", of: reader.element)
      result.destination = destination
      result.isToMany = true
      return true
    }
    guard let text = text(of: node, as: "'to'") else { return false }
    result.isOptional = text.hasSuffix("?")
    result.destination = result.isOptional ? String(text.dropLast()) : text
    positions.record(node, as: "destination", of: reader.element)
    return true
  }

  private func decodeInverse(_ reader: MappingReader, into result: inout RelationshipDescription) {
    if !reader.has("inverse") {
      if broken.contains(reader.element) { return }
      warning(
        reader.place,
        "relationship '\(result.name)' names no 'inverse': name the relationship of "
          + "'\(result.destination)' that leads back, or write inverse: none if it is one-sided on purpose")
      return
    }
    guard let text = reader.text("inverse") else {
      broken.insert(reader.element)
      return
    }
    result.inverse = text == "none" ? nil : text
  }

  /// Reads `ordered`, `count` and `optional`. The first two are only for to-many relationships.
  private func decodeCardinality(_ reader: MappingReader, into result: inout RelationshipDescription) {
    let isOptional = reader.bool("optional")
    guard result.isToMany else {
      if let node = reader.node("ordered") {
        error(node, "'ordered' belongs to a to-many relationship, written to: [\(result.destination)]")
      }
      if let node = reader.node("count") {
        error(node, "'count' belongs to a to-many relationship, written to: [\(result.destination)]")
      }
      if let node = reader.node("optional") {
        let form = isOptional == false ? result.destination : result.destination + "?"
        error(node, "'optional' belongs to a to-many relationship; of a to-one write to: \(form)")
      }
      return
    }
    if let node = reader.node("count"), let text = text(of: node, as: "'count'") {
      if let bounds = CountRange(text) {
        (result.minimumCount, result.maximumCount) = (bounds.minimum, bounds.maximum)
      } else {
        error(node, "'count' is a number or a range such as 0...500, 1... or ...5, not '\(text)'")
      }
    }
    // A count of at least one object makes the relationship mandatory, unless `optional` says otherwise.
    result.isOptional = isOptional ?? ((result.minimumCount ?? 0) == 0)
  }
}

/// The limits in `count`: `3`, `0...500`, `1...`, `...5`.
private struct CountRange {
  var minimum: Int?
  var maximum: Int?

  init?(_ text: String) {
    func count(_ text: Substring) -> Int? {
      guard let number = LiteralDecoder.integer(String(text)), number >= 0, number <= Int64(Int32.max) else {
        return nil
      }
      return Int(number)
    }
    guard let dots = text.firstRange(of: "...") else {
      guard let number = count(text[...]) else { return nil }
      (minimum, maximum) = (number, number)
      return
    }
    let lower = text[..<dots.lowerBound]
    let upper = text[dots.upperBound...]
    if lower.isEmpty && upper.isEmpty { return nil }
    if !lower.isEmpty {
      guard let number = count(lower) else { return nil }
      minimum = number
    }
    if !upper.isEmpty {
      guard let number = count(upper) else { return nil }
      maximum = number
    }
  }
}
