#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model: its identity and every version that it has had.
///
/// A model is a value. It is read from a `NAME.cdmodel` folder, from the code that the generator made of
/// that folder, or from a compiled model file; the same model is equal however it was read.
public struct ManagedObjectModel: Hashable, Sendable {
  /// The model's name: the folder's, without its extension.
  public var name: String

  /// The model's identity, made once by `cdgen init`. A store of another identity is never opened with
  /// this model, whatever its entities are called.
  public var id: UUID

  /// The modules that generated code imports, for the types that `codable:` attributes name.
  public var imports: [String]

  /// The versions, in ascending order of their numbers.
  public var versions: [ModelVersion]

  /// The number of the version that generated classes speak for and that new stores are made with.
  public var currentVersionNumber: Int

  /// What is said of steps between versions beyond what can be inferred, at most once of each step.
  public var mappings: [MappingRules]

  /// The numbers of the versions that are locked: what they are does not change any more, for users may have stores of
  /// them. Any other version is a draft.
  public var lockedVersionNumbers: Set<Int>

  /// The models that a merged model is made of, as they were given; empty for any other.
  public internal(set) var parts: [ManagedObjectModel] = []

  /// A model as given.
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

  /// The version with a number, or nil where the model has none.
  public func version(_ number: Int) -> ModelVersion? {
    versions.first { $0.number == number }
  }

  /// The current version, or nil where `currentVersionNumber` names none.
  public var currentVersion: ModelVersion? { version(currentVersionNumber) }
}
