/// Computes hashes of canonical JSON. Each text is an object that names the sort of hash.
package enum ModelHasher {
  /// The version of the hashing rules. A new number changes every hash, so every existing store would no longer match
  /// its model. Hashes stored in the tests prevent an accidental change. Until the first release, the rules change under
  /// the same number.
  private static let formatVersion = 1

  package static func digest(_ kind: String, _ members: (String, JSONValue)...) -> Digest {
    var writer = JSONObjectWriter()
    writer.add("hash", kind)
    writer.add("format", formatVersion)
    for (key, value) in members { writer.add(key, value) }
    return SHA256.digest(of: writer.value.canonicalBytes)
  }

  /// The digest of each element by its name. If several elements have the same name, the first one counts.
  static func byName<Element>(
    _ elements: [Element], _ name: (Element) -> String, _ digest: (Element) -> Digest
  ) -> [String: Digest] {
    Dictionary(elements.map { (name($0), digest($0)) }, uniquingKeysWith: { first, _ in first })
  }

  /// The data hash of a set of entities. An unknown name is hashed with null in place of a digest.
  @_optimize(none)
  static func data(of names: [String], in entities: [String: EntityHashes]) -> Digest {
    let sorted = Set(names).ordered { $0.precedes($1) }
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

  /// The layout hash of a version. It leaves out entities without indexes and unique constraints.
  static func layout(of version: ModelVersion) -> Digest {
    let entities = version.entities.lazy
      .filter { !$0.indexes.isEmpty || !$0.uniquenessConstraints.isEmpty }
      .map { ($0.name, layout(of: $0)) }
    return digest("layout", ("entities", .array(Array(entities).sortedByName())))
  }

  /// The hashes of all entities.
  @_optimize(none)
  static func entities(of graph: EntityGraph) -> [String: EntityHashes] {
    let types = TypeHashes(graph.version)
    let definition = ModelEncoder.definition
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

  @_optimize(none)
  private static func layout(of entity: EntityDescription) -> JSONValue {
    let encoder = ModelEncoder.definition
    var writer = JSONObjectWriter()
    writer.add("name", entity.name)
    writer.add("indexes", list: encoder.indexes(of: entity))
    writer.add("unique", list: encoder.uniquenessConstraints(of: entity))
    return writer.value
  }
}

extension ModelHasher {
  /// The hash of everything in an entity that affects stored data.
  @_optimize(none)
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

  /// The parts of a relationship that affect stored data. Bounds and most delete rules are checked on objects only. But
  /// with `noAction` on either side, the store does not enforce the reference, which changes its tables.
  ///
  /// The inverse counts as well: it decides which side has the references, whether they are pairs in a table of their own,
  /// and whether positions are beside them. The other side's objects can be in another store. So a store would not notice
  /// such a change if only the hash of the other entity covered it.
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
    writer.add("inverseToMany", flag: inverse?.isToMany == true)
    writer.add("inverseOrdered", flag: inverse?.isOrdered == true)
    writer.add("ordered", flag: relationship.isOrdered)
    writer.add("holdsRows", flag: graph.holdsRows(of: relationship, entity))
    writer.add(
      "unenforced",
      flag: relationship.deleteRule.leavesReferences || inverse?.deleteRule.leavesReferences == true)
    writer.add("hashModifier", relationship.hashModifier)
    return writer.value
  }
}

/// The digests of a version's enumerations and composites. Each is computed once, however many attributes use the type.
///
/// They cover the contents of the types, but not their names, which matter in Swift only.
struct TypeHashes {
  private let enums: [String: Digest]
  private var composites: [String: Digest] = [:]

  init(_ version: ModelVersion) {
    let encoder = ModelEncoder.definition
    enums = ModelHasher.byName(version.enums, \.name) { enumeration in
      ModelHasher.digest(
        "data", ("enum", encoder.type(enumeration.rawType)),
        ("cases", .array(enumeration.cases.map(encoder.enumCase))))
    }
    // No composite digest exists yet while the fields are hashed. So a composite inside another one, which is a
    // mistake, is hashed by its name, and a cycle of composites does no harm.
    let fieldsOnly = self
    composites = ModelHasher.byName(version.composites, \.name) { composite in
      let fields = composite.fields.filter(\.isStored).map { ($0.name, fieldsOnly.data(of: $0)) }
      return ModelHasher.digest("data", ("composite", .array(fields.sortedByName())))
    }
  }

  /// The parts of an attribute that affect stored data. A derivation is one of them: rows written with another
  /// expression contain wrong values until they are computed again.
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
    let encoder = ModelEncoder.definition
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
