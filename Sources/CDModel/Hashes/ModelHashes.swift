/// The hashes that distinguish versions. <doc:CanonicalJSON> describes what each of them covers.
///
/// No hash depends on the order of declarations, except where that order has a meaning: an enumeration's
/// cases, the elements of an index, the properties of a unique constraint, the keys of a sort order.
package struct ModelHashes: Hashable, Sendable {
  /// Covers everything that affects stored data, for all entities. A store with this data hash can be opened without a
  /// migration.
  package let data: Digest
  /// Covers indexes and unique constraints. If a store differs only in this hash, its indexes are rebuilt.
  package let layout: Digest
  /// Covers everything that has an effect, and is recorded in the lock. It does not cover comments, the label and the
  /// version's number.
  package let definition: Digest
  /// The hashes of each entity, by name.
  package let entities: [String: EntityHashes]
  /// The definition hash of each enumeration, by name. It shows which one has changed.
  package let enums: [String: Digest]
  /// The definition hash of each composite, by name. It shows which one has changed.
  package let composites: [String: Digest]
  /// The data hash of each configuration's entities, by the configuration's name. If a configuration lists all
  /// entities, this is the version's data hash.
  package let configurations: [String: Digest]

  /// Computes the hashes of a version, in time proportional to its size.
  package init(_ version: ModelVersion) {
    self.init(EntityGraph(version))
  }

  /// Computes the hashes of a version whose names are already resolved.
  @_optimize(none)
  package init(_ graph: EntityGraph) {
    let version = graph.version
    let entities = ModelHasher.entities(of: graph)
    let encoder = ModelEncoder.definition
    self.entities = entities
    data = ModelHasher.data(of: version.entities.map(\.name), in: entities)
    layout = ModelHasher.layout(of: version)
    definition = version.definitionHash
    enums = ModelHasher.byName(version.enums, \.name) {
      ModelHasher.digest("definition", ("enum", encoder.enumeration($0)))
    }
    composites = ModelHasher.byName(version.composites, \.name) {
      ModelHasher.digest("definition", ("composite", encoder.composite($0)))
    }
    configurations = ModelHasher.byName(version.configurations, \.name) {
      ModelHasher.data(of: $0.entities, in: entities)
    }
  }
}

extension ModelHashes {
  /// The data hash of some of the version's entities, such as those of a configuration.
  package func data(of entities: [String]) -> Digest {
    ModelHasher.data(of: entities, in: self.entities)
  }
}

/// The hashes of one entity.
package struct EntityHashes: Hashable, Sendable {
  /// Covers everything that affects the stored data of the entity's objects. Inherited properties, and the enumerations
  /// and composites that the entity uses, are included.
  package let data: Digest
  /// Covers the entity's indexes and unique constraints, including inherited ones.
  package let layout: Digest
  /// Covers the entity's own declarations only, so that a change shows at one entity. Inherited properties, and the
  /// contents of enumerations and composites, are not included.
  package let definition: Digest
}

extension ModelVersion {
  /// The hashes of the version. They are computed on every call, so keep the result.
  package var hashes: ModelHashes { ModelHashes(self) }

  /// Only ``ModelHashes/definition``. This is much cheaper than computing all hashes.
  package var definitionHash: Digest {
    var whole = JSONObjectWriter()
    ModelEncoder.definition.version(self, into: &whole)
    return ModelHasher.digest("definition", ("version", whole.value))
  }
}
