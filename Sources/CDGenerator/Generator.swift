public import CDModel

/// Generates Swift for a model: typed classes, enumerations, composites, fetch helpers and the model itself.
///
/// ```swift
/// let files = try Generator(options: .init(access: .public)).generate(model)
/// ```
///
/// A generator is a pure function: it reads and writes no files, and the same model and options always give the same
/// bytes. Its running time is linear in the size of the model.
///
/// The classes match the model's current version. The other versions are included in the model's description, so that
/// the runtime can read stores of these versions.
public struct Generator: Sendable {
  /// The options of generated code.
  public struct Options: Hashable, Sendable {
    /// The access level of all declarations that an app uses.
    public var access: AccessLevel

    /// Whether each entity has its own file. Otherwise there is one file, named after the model.
    public var perEntity: Bool

    /// Whether a build without `DEBUG` warns if the current version is not locked. A lock records the exact contents of
    /// the shipped version.
    public var warnsOfUnlockedVersion: Bool

    /// Whether classes and composites list their key paths, which are needed to translate a `#Predicate`.
    public var keyPaths: Bool

    /// Whether classes are observable, so that SwiftUI and `withObservationTracking` track their properties. Observable
    /// classes always list their key paths.
    public var observable: Bool

    /// Whether classes have snapshots: values with all attributes and the identifiers of related objects, which can be
    /// passed to other actors and written as JSON.
    public var snapshots: Bool

    /// Whether related objects can be present in snapshots as snapshots, to a depth that each call chooses. It has an
    /// effect only if there are snapshots.
    public var nestedSnapshots: Bool

    /// Creates options. The defaults are those of `cdgen generate`.
    public init(
      access: AccessLevel = .internal, perEntity: Bool = false, warnsOfUnlockedVersion: Bool = false,
      keyPaths: Bool = false, observable: Bool = false, snapshots: Bool = false,
      nestedSnapshots: Bool = false
    ) {
      self.access = access
      self.perEntity = perEntity
      self.warnsOfUnlockedVersion = warnsOfUnlockedVersion
      self.keyPaths = keyPaths
      self.observable = observable
      self.snapshots = snapshots
      self.nestedSnapshots = nestedSnapshots
    }
  }

  /// The options of the generated code.
  public let options: Options

  /// Creates a generator.
  public init(options: Options = Options()) {
    self.options = options
  }

  /// Generates the Swift files of a model, in the order in which they are written.
  ///
  /// - Parameter model: A model that its loader found valid. Problems that only concern Swift, such as two declarations
  ///   with the same Swift name, are checked here.
  /// - Throws: ``GenerationError`` with all problems that prevent Swift that compiles, not only the first one.
  public func generate(_ model: ManagedObjectModel) throws(GenerationError) -> [GeneratedFile] {
    let declarations = try ModelDeclaration(
      model, hasSnapshots: options.snapshots, nestsSnapshots: options.nestedSnapshots)
    let emitter = FileEmitter(
      declarations: declarations, access: options.access,
      unlockedVersion: options.warnsOfUnlockedVersion ? model.currentVersionNumber : nil,
      listsKeyPaths: options.keyPaths || options.observable, isObservable: options.observable,
      hasSnapshots: options.snapshots)
    return options.perEntity ? emitter.filePerEntity() : [emitter.singleFile()]
  }
}
