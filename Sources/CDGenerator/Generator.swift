public import CDModel

/// Makes Swift of a model: typed classes, enumerations, composites, fetch helpers and the model itself.
///
/// ```swift
/// let files = try Generator(options: .init(access: .public)).generate(model)
/// ```
///
/// A generator is a function from values to values. It reads and writes no file, and the same model and
/// options give the same bytes. Its time grows linearly with the model.
///
/// The classes are those of the model's current version; the other versions are part of the model's
/// description, so that the runtime can read stores that they wrote.
public struct Generator: Sendable {
  /// What can be chosen about generated code.
  public struct Options: Hashable, Sendable {
    /// The access level of everything that an app uses.
    public var access: AccessLevel

    /// Whether each entity gets a file of its own. Otherwise there is one file, named after the model.
    public var perEntity: Bool

    /// Whether a build without `DEBUG` warns that the current version is not locked. Whoever ships a version
    /// has to be able to tell later what it was.
    public var warnsOfUnlockedVersion: Bool

    /// Whether classes and composites list their key paths, by which a `#Predicate` is translated.
    public var keyPaths: Bool

    /// Whether classes are observable: SwiftUI and `withObservationTracking` follow their properties. They list their
    /// key paths then, in any case.
    public var observable: Bool

    public init(
      access: AccessLevel = .internal, perEntity: Bool = false, warnsOfUnlockedVersion: Bool = false,
      keyPaths: Bool = false, observable: Bool = false
    ) {
      self.access = access
      self.perEntity = perEntity
      self.warnsOfUnlockedVersion = warnsOfUnlockedVersion
      self.keyPaths = keyPaths
      self.observable = observable
    }
  }

  public let options: Options

  public init(options: Options = Options()) {
    self.options = options
  }

  /// The Swift files of a model, ordered as they are to be written.
  ///
  /// - Parameter model: A model that its loader found valid. What the loader leaves to Swift, such as two
  ///   names that give one Swift name, is checked here.
  /// - Throws: All that stands in the way of Swift that compiles, not the first mistake alone.
  public func generate(_ model: ManagedObjectModel) throws(GenerationError) -> [GeneratedFile] {
    let declarations = try ModelDeclaration(model)
    let emitter = FileEmitter(
      declarations: declarations, access: options.access,
      unlockedVersion: options.warnsOfUnlockedVersion ? model.currentVersionNumber : nil,
      listsKeyPaths: options.keyPaths || options.observable, isObservable: options.observable)
    return options.perEntity ? emitter.filePerEntity() : [emitter.singleFile()]
  }
}
