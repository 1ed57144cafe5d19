public import CDModel

/// What came of loading a model.
public struct LoadedModel: Sendable {
  /// The model; nil if any diagnostic is an error.
  public var model: ManagedObjectModel?

  /// Every mistake and warning, in order of path, line and column.
  public var diagnostics: [Diagnostic]

  /// The files of the model's folder by their names, those that cdgen does not read left out.
  public var files: [ModelFile]

  /// Where each element stands in those files.
  public var positions: ElementPositions

  /// Whether anything is wrong that must be mended.
  public var hasErrors: Bool { diagnostics.containsErrors }
}
