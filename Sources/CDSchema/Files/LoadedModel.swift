public import CDModel

/// What came of loading a model.
public struct LoadedModel: Sendable {
  /// The model; nil if any diagnostic is an error.
  public var model: ManagedObjectModel?

  /// The model where each of its versions and mappings is right in itself, though a locked version may have
  /// changed, or a step between versions not be proven; nil where a file has a mistake of its own.
  ///
  /// It is for tools that show what is missing. Nothing may be generated from it or stored by it.
  public var unprovenModel: ManagedObjectModel?

  /// The released versions, as `versions.lock` has them, in order of their numbers.
  public var lockedVersions: [LockedVersion] = []

  /// Whether `versions.lock` holds the current version, so that what is built may be released.
  public var locksCurrentVersion: Bool {
    lockedVersions.contains { $0.number == unprovenModel?.currentVersionNumber }
  }

  /// Every mistake and warning, in order of path, line and column.
  public var diagnostics: [Diagnostic]

  /// The files of the model's folder by their names, those that cdgen does not read left out.
  public var files: [ModelFile]

  /// Where each element stands in those files.
  public var positions: ElementPositions

  /// How far generated declarations can be seen, one of ``accessLevels``; nil where `model.yaml` does not say.
  ///
  /// It is no part of the model: it is about the module that the model is built in, and no store knows it.
  public var access: String?

  /// Whether generated classes are to list their key paths, for `#Predicate`; as with ``access``, it is no part of the
  /// model.
  public var listsKeyPaths = false

  /// Whether generated classes are to be observable; as with ``access``, it is no part of the model.
  public var isObservable = false

  /// What `access` in `model.yaml` can be.
  public static let accessLevels = ["internal", "package", "public"]

  /// Whether anything is wrong that must be mended.
  public var hasErrors: Bool { diagnostics.containsErrors }
}
