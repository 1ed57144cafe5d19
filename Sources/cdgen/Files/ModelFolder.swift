import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// A model as a command's argument.
enum ModelFolder {
  /// Loads a model and prints what there is to say about it.
  ///
  /// - Parameter showsWarnings: Whether warnings are printed where there are no mistakes. Of a command that
  ///   makes nothing of the model that is built they would only be in the way.
  /// - Throws: `ExitCode.failure` if it has mistakes, all of which have then been printed.
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

  /// A path without the slashes that a shell's completion leaves at its end.
  static func trimmed(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
