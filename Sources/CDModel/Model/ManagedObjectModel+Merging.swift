#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The reasons why models cannot be merged.
public enum ModelMergeError: Error, Hashable, Sendable {
  /// The list of models is empty.
  case noModels
  /// A model's current version is not among its versions.
  case noCurrentVersion(model: String)
  /// Two models have the same identity, so they are versions of the same model. Merge only one of them.
  case sameIdentity(models: [String])
  /// Two models have an entity of the same name, or with names that differ only in case.
  case entityInTwo(entity: String, models: [String])
  /// Two models have different enumerations or composites with the same name.
  case typeInTwo(type: String, models: [String])
  /// A configuration has the name of one of the models. That name stands for all entities of the model.
  case configurationNamedAsModel(String)
}

extension ModelMergeError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noModels: "there is no model to merge"
    case .noCurrentVersion(let model):
      "model '\(model)' does not have the version that is set as its current version"
    case .sameIdentity(let models):
      "\(Self.list(models)) have the same `id:`; merge each model once, and set a new `id:` in a copy"
    case .entityInTwo(let entity, let models):
      "\(Self.list(models)) both have an entity '\(entity)'; rename it in one of them"
    case .typeInTwo(let type, let models):
      "\(Self.list(models)) have different types named '\(type)'; rename one of them"
    case .configurationNamedAsModel(let name):
      "configuration '\(name)' has the name of a merged model, which stands for all of that model's entities; "
        + "rename it"
    }
  }

  private static func list(_ models: [String]) -> String {
    "models " + models.map { "'\($0)'" }.joined(separator: " and ")
  }
}

extension ManagedObjectModel {
  /// Merges models, so that one coordinator can manage the objects of all of them.
  ///
  /// The merged model has one version, made of the current versions of its ``parts``. It has their configurations and,
  /// in addition, one configuration for each part, with the part's name and all its entities.
  ///
  /// A store that contains only the entities of one part keeps that part's identity. It can also be opened with the
  /// part alone, and it migrates along the part's versions. Any other store has the identity of the merged model, which
  /// is derived from those of the parts. In such a store, each part migrates along its own versions.
  ///
  /// Enumerations and composites that several models declare in the same way are merged into one.
  ///
  /// - Parameter models: Models of different identities, in any order. A single model is returned unchanged.
  /// - Throws: ``ModelMergeError``.
  @_optimize(none)
  public init(merging models: [ManagedObjectModel]) throws(ModelMergeError) {
    guard let first = models.first else { throw .noModels }
    guard models.count > 1 else {
      self = first
      return
    }
    var merge = ModelMerge()
    for model in models { try merge.add(model) }
    self.init(
      name: models.map(\.name).joined(separator: "+"), id: Self.identity(of: models),
      imports: Set(models.flatMap(\.imports)).ordered(), versions: [merge.version], currentVersionNumber: 1)
    parts = models
  }

  /// The identity of a merged model. The order of the models has no effect.
  @_optimize(none)
  private static func identity(of models: [ManagedObjectModel]) -> UUID {
    let text = models.map(\.id.uuidString).ordered().joined(separator: "\n")
    var bytes = Array(SHA256.digest(of: Array(text.utf8)).bytes.prefix(16))
    // Marks the UUID as made from a hash: version 8, with the standard variant.
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

/// Builds the version of a merged model, one model at a time.
private struct ModelMerge {
  private(set) var version = ModelVersion(number: 1)
  private var names: [UUID: String] = [:]
  /// The models by entity name in lower case, because names of tables must differ in more than case. `types` has the
  /// models by type name.
  private var entities: [String: String] = [:]
  private var types: [String: String] = [:]

  @_optimize(none)
  mutating func add(_ model: ManagedObjectModel) throws(ModelMergeError) {
    guard let part = model.currentVersion else { throw .noCurrentVersion(model: model.name) }
    if let other = names.updateValue(model.name, forKey: model.id) {
      throw .sameIdentity(models: [other, model.name])
    }
    for entity in part.entities {
      if let other = entities.updateValue(model.name, forKey: entity.name.lowercased()) {
        throw .entityInTwo(entity: entity.name, models: [other, model.name])
      }
      version.entities.append(entity)
    }
    for type in part.enums {
      if try isNew(type.name, of: model, isSame: version.enums.contains(type)) { version.enums.append(type) }
    }
    for type in part.composites {
      let isSame = version.composites.contains(type)
      if try isNew(type.name, of: model, isSame: isSame) { version.composites.append(type) }
    }
    try addConfigurations(of: part, model)
  }

  /// Whether no other model has a type of this name. Throws an error if one has a different type of this name.
  private mutating func isNew(
    _ type: String, of model: ManagedObjectModel, isSame: Bool
  ) throws(ModelMergeError) -> Bool {
    if let other = types[type] {
      if isSame { return false }
      throw .typeInTwo(type: type, models: [other, model.name])
    }
    types[type] = model.name
    return true
  }

  @_optimize(none)
  private mutating func addConfigurations(
    of part: ModelVersion, _ model: ManagedObjectModel
  ) throws(ModelMergeError) {
    let whole = ConfigurationDescription(name: model.name, entities: part.entities.map(\.name))
    for configuration in [whole] + part.configurations {
      guard let place = version.configurations.firstIndex(where: { $0.name == configuration.name }) else {
        version.configurations.append(configuration)
        continue
      }
      // Configurations of several models with the same name become one, which has the entities of all.
      if names.values.contains(configuration.name) { throw .configurationNamedAsModel(configuration.name) }
      version.configurations[place].entities += configuration.entities
    }
  }
}

extension ModelMergeError: PresentableError {
  public var situation: ErrorSituation { .mistakeOfApp }
}
