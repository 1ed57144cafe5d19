import CDModel

extension DecodingContext {
  private static let entityHints: [String: String] = [
    "extends": "the entity to inherit from is 'parent'",
    "superclass": "the entity to inherit from is 'parent'",
    "inherits": "the entity to inherit from is 'parent'",
    "swiftName": "the class of an entity is named by 'class'",
    "className": "the class of an entity is named by 'class'",
    "fields": "an entity has 'attributes'",
    "properties": "an entity has 'attributes' and 'relationships'",
    "fetchRequests": "write named fetches under 'fetches'",
    "uniquenessConstraints": "write them under 'unique'",
  ]

  func decodeEntity(_ pair: MarkedNode.Pair) -> EntityDescription {
    let name = pair.name
    let element = SchemaElement.part(.entity(name), version: version)
    declare(element, at: pair.key)
    var result = EntityDescription(name: name)
    guard
      let reader = MappingReader(
        pair.value, of: element, at: pair.key, noun: "an entity", keys: .entity,
        hints: Self.entityHints, context: self)
    else {
      broken.insert(element)
      return result
    }
    result.isAbstract = reader.bool("abstract") ?? false
    result.parent = reader.text("parent")
    result.className = reader.text("class")
    result.renamedFrom = reader.text("renamedFrom")
    result.hashModifier = reader.text("hashModifier")
    result.info = reader.info()
    result.doc = reader.prose("doc")
    result.attributes = reader.pairs("attributes").map { pair in
      let place = SchemaElement.part(.attribute(entity: name, name: pair.name), version: version)
      declare(place, at: pair.key)
      return decodeAttribute(pair, place, owner: .entity)
    }
    result.relationships = reader.pairs("relationships").compactMap { pair in
      let place = SchemaElement.part(.relationship(entity: name, name: pair.name), version: version)
      declare(place, at: pair.key)
      return decodeRelationship(pair, place)
    }
    result.fetchedProperties = reader.pairs("fetched").compactMap { pair in
      let place = SchemaElement.part(.fetchedProperty(entity: name, name: pair.name), version: version)
      declare(place, at: pair.key)
      return decodeFetchedProperty(pair, place)
    }
    result.fetchTemplates = reader.pairs("fetches").compactMap { pair in
      let place = SchemaElement.part(.fetchTemplate(entity: name, name: pair.name), version: version)
      declare(place, at: pair.key)
      return decodeFetchTemplate(pair, place)
    }
    result.indexes = decodeIndexes(reader, of: name)
    result.uniquenessConstraints = decodeUnique(reader, of: name)
    return result
  }

  private func decodeFetchTemplate(_ pair: MarkedNode.Pair, _ element: SchemaElement) -> FetchTemplate? {
    guard
      let reader = MappingReader(
        pair.value, of: element, at: pair.key, noun: "a fetch", keys: .fetchTemplate,
        hints: ["predicate": "it is 'where' here", "order": "it is 'sort' here"], context: self)
    else {
      broken.insert(element)
      return nil
    }
    var result = FetchTemplate(name: pair.name)
    result.predicate = decodePredicate(reader)
    result.sort = sortKeys(reader, "sort")
    result.limit = reader.int("limit", atLeast: 1)
    result.doc = reader.prose("doc")
    return result
  }

  private func decodeFetchedProperty(
    _ pair: MarkedNode.Pair, _ element: SchemaElement
  ) -> FetchedPropertyDescription? {
    guard
      let reader = MappingReader(
        pair.value, of: element, at: pair.key, noun: "a fetched property",
        keys: .fetchedProperty,
        hints: ["to": "the fetched entity is 'entity'", "predicate": "it is 'where' here"], context: self)
    else {
      broken.insert(element)
      return nil
    }
    guard reader.has("entity") else {
      reader.reportMissing("a fetched property needs 'entity', whose objects it fetches")
      broken.insert(element)
      return nil
    }
    guard let entity = reader.text("entity") else {
      broken.insert(element)
      return nil
    }
    var result = FetchedPropertyDescription(name: pair.name, entity: entity)
    result.predicate = decodePredicate(reader)
    result.sort = sortKeys(reader, "sort")
    result.limit = reader.int("limit", atLeast: 1)
    result.swiftName = reader.text("swiftName")
    result.info = reader.info()
    result.doc = reader.prose("doc")
    return result
  }

  private func decodePredicate(_ reader: MappingReader) -> FetchPredicate? {
    guard let node = reader.node("where") else { return nil }
    let result = predicate(node)
    if result == nil { broken.insert(reader.element) }
    return result
  }

  /// Reads a list of lists, and returns each inner list with its index.
  private func lists(_ reader: MappingReader, _ key: String, example: String) -> [(
    Int, MarkedNode, [MarkedNode]
  )] {
    guard let lists = reader.list(key, of: "lists, such as \(example)") else { return [] }
    return lists.enumerated().compactMap { place, node in
      guard case .sequence(let elements) = node.content else {
        error(node, "'\(key)' is a list of lists, such as \(example), and this is \(node.kindName)")
        return nil
      }
      guard !elements.isEmpty else {
        error(node, "an empty list; name the properties, such as \(example)")
        return nil
      }
      return (place, node, elements)
    }
  }

  private func decodeIndexes(_ reader: MappingReader, of name: String) -> [IndexDescription] {
    var result: [IndexDescription] = []
    for (_, node, elements) in lists(reader, "indexes", example: "[[name], [name, -dueDate]]") {
      let element = SchemaElement.index(version: version, entity: name, index: result.count)
      declare(element, at: node)
      result.append(IndexDescription(elements: sortKeys(elements, of: element, prefix: "elements")))
    }
    return result
  }

  private func decodeUnique(_ reader: MappingReader, of name: String) -> [[String]] {
    var result: [[String]] = []
    for (_, node, elements) in lists(reader, "unique", example: "[[isbn], [name, publisher]]") {
      let element = SchemaElement.uniquenessConstraint(version: version, entity: name, index: result.count)
      declare(element, at: node)
      var names: [String] = []
      for node in elements {
        guard let text = text(of: node, as: "a property's name") else {
          broken.insert(element)
          continue
        }
        positions.record(node, as: "elements[\(names.count)]", of: element)
        names.append(text)
      }
      result.append(names)
    }
    return result
  }
}
