import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// A model that is an argument of a command.
enum ModelFolder {
  /// Loads a model and prints its diagnostics.
  ///
  /// - Parameter showsWarnings: Whether to print warnings if there are no errors. They would only distract in a command
  ///   that generates nothing from the model.
  /// - Throws: `ExitCode.failure` if the model has errors. All diagnostics are then printed.
  static func load(
    _ path: String, showsWarnings: Bool = true
  ) throws -> (loaded: LoadedModel, model: ManagedObjectModel) {
    let loaded = ModelLoader.load(folder: path)
    if showsWarnings || loaded.hasErrors { report(loaded.diagnostics) }
    guard let model = loaded.model, !loaded.hasErrors else { throw ExitCode.failure }
    return (loaded, model)
  }

  static func report(_ diagnostics: [Diagnostic]) {
    for diagnostic in diagnostics { Console.error(diagnostic.description) }
  }

  /// The path without slashes at its end, which a shell's completion adds.
  static func trimmed(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
