import CDModel

/// The contents of a version's file, before the checks that need more than one element.
struct DecodedVersion {
  var version: ModelVersion
  /// Whether the file contains `basedOn`.
  var hasBases: Bool
  /// Elements whose own declaration has a mistake.
  var broken: Set<SchemaElement>
}

extension DecodingContext {
  /// Reads a version's file.
  ///
  /// - Parameter root: The document; nil for an empty file.
  func decodeVersion(_ root: MarkedNode?) -> DecodedVersion {
    var result = ModelVersion(number: version)
    let element = SchemaElement.version(version)
    let start = MarkedNode(content: .scalar("", .plain), range: 0..<0)
    declare(element, at: start)
    guard let root, !root.isEmpty else {
      error(start, "the file is empty; a version needs 'entities'")
      return DecodedVersion(version: result, hasBases: false, broken: [element])
    }
    guard
      let reader = MappingReader(
        root, of: element, at: start, noun: "a version", keys: .version,
        hints: [
          "id": "write the model's identity in model.yaml",
          "current": "name the current version in model.yaml",
          "imports": "write imports in model.yaml",
          "version": "the version's number is the file's name",
        ], context: self)
    else { return DecodedVersion(version: result, hasBases: false, broken: [element]) }
    result.label = reader.prose("label")
    result.basedOn = decodeBases(reader)
    // The names of types are read first, because attributes may use them before their declaration.
    let compositePairs = reader.pairs("composites")
    compositeNames = Set(compositePairs.map(\.name))
    let entityPairs = reader.pairs("entities")
    entityNames = Set(entityPairs.map(\.name))
    result.enums = decodeEnums(reader.pairs("enums"))
    result.composites = decodeComposites(compositePairs)
    result.entities = entityPairs.map(decodeEntity)
    if !reader.has("entities") || reader.node("entities")?.isEmpty == true {
      error(reader.node("entities") ?? start, "the version has no 'entities'")
    }
    result.configurations = decodeConfigurations(reader)
    result.info = reader.info()
    return DecodedVersion(version: result, hasBases: reader.has("basedOn"), broken: broken)
  }

  /// Reads `basedOn`: a number or a list of numbers.
  private func decodeBases(_ reader: MappingReader) -> [Int] {
    guard let node = reader.node("basedOn") else { return [] }
    let nodes: [MarkedNode]
    if case .sequence(let elements) = node.content { nodes = elements } else { nodes = [node] }
    if nodes.isEmpty { error(node, "'basedOn' names a version or several") }
    var result: [Int] = []
    for node in nodes {
      guard let text = text(of: node, as: "'basedOn'") else { continue }
      guard let number = LiteralDecoder.integer(text), number >= 1, number <= Int64(VersionFile.highestNumber)
      else {
        error(node, "'basedOn' is the number of a version, or a list of them, not '\(text)'")
        continue
      }
      if result.contains(Int(number)) {
        error(node, "version \(number) is repeated here")
        continue
      }
      positions.record(node, as: "basedOn[\(result.count)]", of: reader.element)
      result.append(Int(number))
    }
    return result
  }

  private func decodeConfigurations(_ reader: MappingReader) -> [ConfigurationDescription] {
    reader.pairs("configurations").compactMap { pair in
      let element = SchemaElement.part(.configuration(pair.name), version: version)
      declare(element, at: pair.key)
      guard case .sequence(let nodes) = pair.value.content else {
        error(
          pair.value.isEmpty ? pair.key : pair.value,
          "a configuration is a list of entities, not \(pair.value.kindName)")
        return nil
      }
      var entities: [String] = []
      for node in nodes {
        guard let name = text(of: node, as: "an entity's name") else { continue }
        if entities.contains(name) {
          error(node, "entity '\(name)' is repeated here")
          continue
        }
        positions.record(node, as: "entities[\(entities.count)]", of: element)
        entities.append(name)
      }
      return ConfigurationDescription(name: pair.name, entities: entities)
    }
  }
}
