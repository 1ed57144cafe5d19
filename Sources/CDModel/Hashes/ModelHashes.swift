/// The hashes by which versions are told apart. <doc:CanonicalJSON> says what each of them covers.
///
/// No hash depends on the order of declarations, except where that order has a meaning: an enumeration's
/// cases, the elements of an index, the properties of a unique constraint, the keys of a sort order.
public struct ModelHashes: Hashable, Sendable {
  /// What affects stored data, of all entities. A store of this data hash can be opened without migration.
  public let data: Digest
  /// Indexes and unique constraints. A store that differs in this alone has its indexes made anew.
  public let layout: Digest
  /// Everything that has an effect: what a lock guards. Not comments, the label or the version's number.
  public let definition: Digest
  /// The hashes of each entity, by name.
  public let entities: [String: EntityHashes]
  /// The definition of each enumeration, by name, to say which one has changed.
  public let enums: [String: Digest]
  /// The definition of each composite, by name, to say which one has changed.
  public let composites: [String: Digest]
  /// The data hash of each configuration's entities, by the configuration's name. It is the version's own
  /// data hash where a configuration lists all entities.
  public let configurations: [String: Digest]

  /// Computes the hashes of a version, in time proportional to its size.
  public init(_ version: ModelVersion) {
    self.init(EntityGraph(version))
  }

  /// Computes the hashes of a version whose names have been resolved already.
  public init(_ graph: EntityGraph) {
    let version = graph.version
    let entities = ModelHasher.entities(of: graph)
    let encoder = ModelEncoder(purpose: .definition)
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
  /// The data hash of some of the version's entities, as of a configuration that lists them.
  public func data(of entities: [String]) -> Digest {
    ModelHasher.data(of: entities, in: self.entities)
  }
}

/// The hashes of one entity.
public struct EntityHashes: Hashable, Sendable {
  /// What affects the stored data of the entity's objects: what it inherits and the enumerations and
  /// composites that it uses are part of it.
  public let data: Digest
  /// The entity's indexes and unique constraints, with those it inherits.
  public let layout: Digest
  /// All that the entity itself declares, so that a change is found in one place; neither what it inherits
  /// nor the enumerations and composites that it names.
  public let definition: Digest
}

extension ModelVersion {
  /// The hashes of the version. They are computed at each call: keep them.
  public var hashes: ModelHashes { ModelHashes(self) }

  /// ``ModelHashes/definition`` alone, for a fraction of what all hashes cost.
  public var definitionHash: Digest {
    var whole = JSONObjectWriter()
    ModelEncoder(purpose: .definition).version(self, into: &whole)
    return ModelHasher.digest("definition", ("version", whole.value))
  }
}
