public import CDModel

/// The result of loading a model.
public struct LoadedModel: Sendable {
  /// The model; nil if any diagnostic is an error.
  public var model: ManagedObjectModel?

  /// The model if each of its versions and mappings is correct by itself; nil if a file has a mistake of its own. A
  /// locked version may have changed, and a step between versions may not be proven.
  ///
  /// It is for tools that show what is missing. Do not generate code from it, and do not open a store with it.
  public var unprovenModel: ManagedObjectModel?

  /// The released versions in `versions.lock`, in order of their numbers.
  public var lockedVersions: [LockedVersion] = []

  /// Whether `versions.lock` contains the current version, so that a build with it may be released.
  public var locksCurrentVersion: Bool {
    lockedVersions.contains { $0.number == unprovenModel?.currentVersionNumber }
  }

  /// All mistakes and warnings, in order of path, line and column.
  public var diagnostics: [Diagnostic]

  /// The files of the model's folder by name, without those that cdgen does not read.
  public var files: [ModelFile]

  /// The position of each element in those files.
  package var positions: ElementPositions

  /// The access level of generated declarations, one of ``accessLevels``; nil if `model.yaml` does not set it.
  ///
  /// It is not part of the model: it belongs to the module that the model is built in, and no store depends on it.
  public var access: String?

  /// Whether generated classes list their key paths, for `#Predicate`. Like ``access``, this is not part of the model.
  public var listsKeyPaths = false

  /// Whether generated classes are observable. Like ``access``, this is not part of the model.
  public var isObservable = false

  /// Whether generated classes have snapshots. Like ``access``, this is not part of the model.
  public var hasSnapshots = false

  /// Whether related objects can be present in snapshots as snapshots. Like ``access``, this is not part of the model.
  public var nestsSnapshots = false

  /// The allowed values of `access` in `model.yaml`.
  public static let accessLevels = ["internal", "package", "public"]

  /// Whether any diagnostic is an error.
  public var hasErrors: Bool { diagnostics.containsErrors }
}
