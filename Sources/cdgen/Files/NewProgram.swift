import CDConsole
import CDSchema

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The first program of an executable target that has no source file yet.
///
/// The package manager does not build a target without a source file, and does not run its plugins. So a new model in
/// an empty target would have no effect.
struct NewProgram {
  /// The target's folder.
  let folder: String
  /// The target's name.
  let target: String

  /// Looks at the folder in which a model was made. Nil if the folder is not that of an executable target without source
  /// files, as far as the manifest shows.
  init?(in directory: String) {
    let manager = FileManager.default
    let url = FileSystem.url(directory, directoryHint: .isDirectory).standardizedFileURL
    let target = url.lastPathComponent
    var package = url
    repeat {
      package.deleteLastPathComponent()
      guard package.path.count > 1 else { return nil }
    } while !manager.fileExists(atPath: package.appending(path: "Package.swift").path)
    guard
      let manifest = try? String(contentsOf: package.appending(path: "Package.swift"), encoding: .utf8),
      Self.hasExecutableTarget(target, in: manifest),
      let files = try? manager.subpathsOfDirectory(atPath: url.path),
      !files.contains(where: { $0.hasSuffix(".swift") })
    else { return nil }
    folder = directory
    self.target = target
  }

  /// Whether a manifest declares an executable target. Looks at the text, because only the package manager can run the
  /// manifest.
  private static func hasExecutableTarget(_ name: String, in manifest: String) -> Bool {
    manifest.components(separatedBy: ".executableTarget(").dropFirst().contains { rest in
      let argument = rest.drop { $0.isWhitespace }
      guard argument.hasPrefix("name:") else { return false }
      return argument.dropFirst("name:".count).drop { $0.isWhitespace }.hasPrefix("\"\(name)\"")
    }
  }

  /// Writes the program for a model and returns its path.
  ///
  /// - Parameter isFurther: Whether the target has another model already.
  func write(model name: String, isFurther: Bool) throws -> String {
    let path = FileSystem.join(folder, "main.swift")
    let program = ModelTemplate.firstProgram(model: name, isFurther: isFurther)
    try OutputFile(path: path, contents: program).create()
    return path
  }
}
