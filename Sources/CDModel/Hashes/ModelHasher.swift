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

extension ModelHasher {
  /// What of an entity affects stored data.
  static func data(
    of entity: EntityDescription, parent: EntityHashes?, graph: EntityGraph, types: TypeHashes
  ) -> Digest {
    var writer = JSONObjectWriter()
    writer.add("name", entity.name)
    writer.add("abstract", flag: entity.isAbstract)
    writer.add("parent", entity.parent)
    writer.add("inherited", parent?.data.description)
    writer.add(
      "attributes",
      list: entity.attributes.filter(\.isStored).map { ($0.name, types.data(of: $0)) }.sortedByName())
    writer.add(
      "relationships",
      list: entity.relationships.map { ($0.name, data(of: $0, in: entity.name, graph: graph)) }
        .sortedByName())
    writer.add("hashModifier", entity.hashModifier)
    return digest("data", ("entity", writer.value))
  }

  /// What of a relationship affects stored data. Its bounds and most delete rules are rules for objects. But
  /// `noAction` on either side means that a store does not enforce the reference, which is part of its tables.
  private static func data(
    of relationship: RelationshipDescription, in entity: String, graph: EntityGraph
  ) -> JSONValue {
    let inverse = graph.inverse(of: relationship, in: entity)
    var writer = JSONObjectWriter()
    writer.add("name", relationship.name)
    writer.add("to", relationship.destination)
    writer.add("toMany", flag: relationship.isToMany)
    writer.add("optional", flag: relationship.isOptional)
    writer.add("inverse", relationship.inverse)
    writer.add("ordered", flag: relationship.isOrdered)
    writer.add(
      "unenforced", flag: relationship.deleteRule == .noAction || inverse?.deleteRule == .noAction)
    writer.add("hashModifier", relationship.hashModifier)
    return writer.value
  }
}

/// The digests of a version's enumerations and composites, each made once however many attributes use it.
///
/// They cover what the types hold and not their names, which only Swift sees.
struct TypeHashes {
  private let enums: [String: Digest]
  private var composites: [String: Digest] = [:]

  init(_ version: ModelVersion) {
    let encoder = ModelEncoder(purpose: .definition)
    enums = ModelHasher.byName(version.enums, \.name) { enumeration in
      ModelHasher.digest(
        "data", ("enum", encoder.type(enumeration.rawType)),
        ("cases", .array(enumeration.cases.map(encoder.enumCase))))
    }
    // The fields of a composite are hashed while no composite is known: one inside another, which is a
    // mistake, counts by its name, and a cycle of them does no harm.
    let fieldsOnly = self
    composites = ModelHasher.byName(version.composites, \.name) { composite in
      let fields = composite.fields.filter(\.isStored).map { ($0.name, fieldsOnly.data(of: $0)) }
      return ModelHasher.digest("data", ("composite", .array(fields.sortedByName())))
    }
  }

  /// What of an attribute affects stored data. A derivation does: rows written with another expression hold
  /// values that are wrong for this version until they are computed again.
  func data(of attribute: AttributeDescription) -> JSONValue {
    var writer = JSONObjectWriter()
    writer.add("name", attribute.name)
    writer.add("type", data(of: attribute.type))
    writer.add("optional", flag: attribute.isOptional)
    writer.add("derived", attribute.derivation?.canonicalText)
    writer.add("external", flag: attribute.storesExternally)
    writer.add("hashModifier", attribute.hashModifier)
    return writer.value
  }

  private func data(of type: AttributeType) -> JSONValue {
    let encoder = ModelEncoder(purpose: .definition)
    let (key, digest): (String, Digest?) =
      switch type {
      case .enumeration(let name): ("enum", enums[name])
      case .composite(let name): ("composite", composites[name])
      default: ("", nil)
      }
    guard let digest else { return encoder.type(type) }
    return .object([JSONValue.Member("\(key)Of", .string(digest.description))])
  }
}
