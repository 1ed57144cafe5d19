/// Makes the texts that are hashed: canonical JSON of an object that says what kind of hash it is for.
enum ModelHasher {
  /// The version of the rules for what is hashed. Raising it changes every hash, so that every store has to
  /// be looked at: the stored vectors in the tests guard against doing so by accident.
  private static let formatVersion = 1

  static func digest(_ kind: String, _ members: (String, JSONValue)...) -> Digest {
    var writer = JSONObjectWriter()
    writer.add("hash", kind)
    writer.add("format", formatVersion)
    for (key, value) in members { writer.add(key, value) }
    return SHA256.digest(of: writer.value.canonicalBytes)
  }

  /// A digest for each name; the first of those with one name.
  static func byName<Element>(
    _ elements: [Element], _ name: (Element) -> String, _ digest: (Element) -> Digest
  ) -> [String: Digest] {
    Dictionary(elements.map { (name($0), digest($0)) }, uniquingKeysWith: { first, _ in first })
  }

  /// The data hash of a set of entities. A name that the version does not have counts as such.
  static func data(of names: [String], in entities: [String: EntityHashes]) -> Digest {
    let sorted = Set(names).sorted { $0.precedes($1) }
    return digest(
      "data",
      (
        "entities",
        .array(
          sorted.map { name in
            .array([.string(name), entities[name].map { .string($0.data.description) } ?? .null])
          })
      ))
  }

  /// The layout hash of a version: an entity without indexes and unique constraints is no part of it.
  static func layout(of version: ModelVersion) -> Digest {
    let entities = version.entities.lazy
      .filter { !$0.indexes.isEmpty || !$0.uniquenessConstraints.isEmpty }
      .map { ($0.name, layout(of: $0)) }
    return digest("layout", ("entities", .array(Array(entities).sortedByName())))
  }

  /// The hashes of all entities.
  static func entities(of graph: EntityGraph) -> [String: EntityHashes] {
    let types = TypeHashes(graph.version)
    let definition = ModelEncoder(purpose: .definition)
    var result: [String: EntityHashes] = [:]
    result.reserveCapacity(graph.version.entities.count)
    for entity in graph.entitiesParentsFirst {
      let parent = graph.parent(of: entity.name).flatMap { result[$0.name] }
      result[entity.name] = EntityHashes(
        data: data(of: entity, parent: parent, graph: graph, types: types),
        layout: digest(
          "layout", ("inherited", parent.map { .string($0.layout.description) } ?? .null),
          ("entity", layout(of: entity))),
        definition: digest("definition", ("entity", definition.entity(entity))))
    }
    return result
  }

  private static func layout(of entity: EntityDescription) -> JSONValue {
    let encoder = ModelEncoder(purpose: .definition)
    var writer = JSONObjectWriter()
    writer.add("name", entity.name)
    writer.add("indexes", list: encoder.indexes(of: entity))
    writer.add("unique", list: encoder.uniquenessConstraints(of: entity))
    return writer.value
  }
}
