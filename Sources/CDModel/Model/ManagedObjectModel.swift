#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model: its identity and all its versions.
///
/// A model is a value. It is read from a `NAME.cdmodel` folder, from code that was generated from this folder, or from
/// a compiled model file. All of these give equal models.
public struct ManagedObjectModel: Hashable, Sendable {
  /// The model's name: the name of its folder without the extension.
  public var name: String

  /// The model's identity, created once by `cdgen init`. A store with another identity is never opened with this model,
  /// even if the entities have the same names.
  public var id: UUID

  /// The modules that generated code imports for the types of `codable:` attributes.
  public var imports: [String]

  /// The versions, in ascending order of their numbers.
  public var versions: [ModelVersion]

  /// The number of the version that generated classes match and that new stores are created with.
  public var currentVersionNumber: Int

  /// The mapping rules of migration steps, in addition to what can be inferred. There is at most one for each step.
  public var mappings: [MappingRules]

  /// The numbers of the locked versions. A locked version does not change any more, because users may have stores of
  /// it. All other versions are drafts.
  public var lockedVersionNumbers: Set<Int>

  /// The models that a merged model was made from, as given; empty for other models.
  public internal(set) var parts: [ManagedObjectModel] = []

  /// Creates a model.
  public init(
    name: String, id: UUID, imports: [String] = [], versions: [ModelVersion], currentVersionNumber: Int,
    mappings: [MappingRules] = [], lockedVersionNumbers: Set<Int> = []
  ) {
    self.lockedVersionNumbers = lockedVersionNumbers
    self.mappings = mappings
    self.name = name
    self.id = id
    self.imports = imports
    self.versions = versions
    self.currentVersionNumber = currentVersionNumber
  }

  /// The version with a number; nil if the model has none.
  public func version(_ number: Int) -> ModelVersion? {
    versions.first { $0.number == number }
  }

  /// The current version; nil if the model has no version of that number.
  public var currentVersion: ModelVersion? { version(currentVersionNumber) }
}
