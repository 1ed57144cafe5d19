/// A model with its generated classes. Generated code declares one a model.
public protocol GeneratedModel: Sendable {
  @_spi(Generated) static var _definition: ModelDefinition { get }
}

extension GeneratedModel {
  /// The model that the code was generated from.
  ///
  /// It is parsed anew at each call: keep it. An unreadable one, which no generator writes, is empty.
  public static var model: ManagedObjectModel {
    (try? ManagedObjectModel(canonicalJSON: _definition.canonicalJSON))
      ?? ManagedObjectModel(name: "\(Self.self)", id: EmptyValue.uuid, versions: [], currentVersionNumber: 0)
  }
}

/// The version check: code generated for another format names a type that this runtime has not, and so does
/// not compile. Regenerate it with the `cdgen` of the same release as the runtime.
@_spi(Generated) public enum GeneratedCodeFormat1 {}

/// What generated code tells the runtime of a model.
@_spi(Generated) public struct ModelDefinition: Sendable {
  public let canonicalJSON: String
  public let classes: [String: @Sendable (ObjectSeed) -> ManagedObject]

  public init(
    format: GeneratedCodeFormat1.Type, canonicalJSON: String,
    classes: [String: @Sendable (ObjectSeed) -> ManagedObject]
  ) {
    self.canonicalJSON = canonicalJSON
    self.classes = classes
  }
}
