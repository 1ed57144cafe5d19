import Foundation
import PackagePlugin

/// Generates a Swift file for each model in a target's directory, before the target is compiled.
///
/// A model is a folder `NAME.cdmodel`, or a symbolic link to one. The plugin uses only the files' names. The tool reads
/// the files and reports mistakes with their lines.
@main
struct CDGenPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let models = models(in: target.directoryURL)
    guard let tool = try? context.tool(named: "cdgen").url else {
      // Even if an app does not use the generator, the package manager runs the plugin for this package's own programs.
      if context.package.displayName != "cdgen" {
        Diagnostics.error(
          "target '\(target.name)' uses CDGenPlugin, and the dependency on cdgen leaves its trait 'Generator' out: "
            + "remove 'traits: []' from that dependency")
      }
      return []
    }
    guard !models.isEmpty else {
      // A command reports the missing model. An error of the plugin itself would also stop 'swift package cdgen init'.
      return [
        .buildCommand(
          displayName: "Looking for a model of \(target.name)", executable: tool,
          arguments: ["missing-model", target.name, relativePath(target.directoryURL, in: context.package)],
          inputFiles: [tool],
          outputFiles: [context.pluginWorkDirectoryURL.appending(path: "\(target.name)+Missing.swift")])
      ]
    }
    var commands: [Command] = []
    for (name, models) in Dictionary(grouping: models, by: \.name).sorted(by: { $0.key < $1.key }) {
      guard let model = models.first, models.count == 1 else {
        let paths = models.map { relativePath($0.place, in: context.package) }.joined(separator: " and ")
        Diagnostics.error(
          "target '\(target.name)' has \(models.count) models named '\(name)', \(paths): remove or rename one"
        )
        continue
      }
      let output = context.pluginWorkDirectoryURL.appending(path: "\(name)+Generated.swift")
      commands.append(
        .buildCommand(
          displayName: "Generating \(output.lastPathComponent)", executable: tool,
          arguments: ["generate", model.folder.path, "--output", output.path],
          // The tool is an input, so that a newer one runs again. Every file is an input, because a folder as input
          // only covers its names. The paths are those in the target, because the package manager asks for the purpose
          // of other files.
          inputFiles: [tool] + files(of: model), outputFiles: [output]))
    }
    return commands
  }

  private struct Model {
    /// The folder, or the link to it, in the target's directory.
    var place: URL
    /// The folder itself. Its name is the model's name.
    var folder: URL
    var name: String { folder.deletingPathExtension().lastPathComponent }
  }

  /// The models in a directory and its subdirectories.
  ///
  /// As the package manager does with sources, it ignores hidden directories. A target whose directory is that of the
  /// package contains `.build`, with the models of the packages that it depends on.
  private func models(in directory: URL) -> [Model] {
    contents(of: directory).flatMap { entry -> [Model] in
      if entry.lastPathComponent.hasPrefix(".") { return [] }
      let folder = entry.resolvingSymlinksInPath()
      if folder.pathExtension == "cdmodel" { return [Model(place: entry, folder: folder)] }
      // Links to other folders are not followed, because they could form a cycle.
      return isLink(entry) ? [] : models(in: entry)
    }
  }

  private func files(of model: Model) -> [URL] {
    contents(of: model.folder).map { model.place.appending(path: $0.lastPathComponent) }
      .filter { !$0.lastPathComponent.hasPrefix(".") && contents(of: $0).isEmpty }
  }

  /// The contents of a directory in sorted order; empty for a file.
  private func contents(of directory: URL) -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return names.sorted().map { directory.appending(path: $0) }
  }

  private func isLink(_ url: URL) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: url.path)) != nil
  }

  private func relativePath(_ url: URL, in package: Package) -> String {
    let root = package.directoryURL.path + "/"
    return url.path.hasPrefix(root) ? String(url.path.dropFirst(root.count)) : url.path
  }
}
