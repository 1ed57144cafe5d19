import Foundation
import PackagePlugin

/// Generates a Swift file for each model in a target's directory, before the target is compiled.
///
/// A model is a folder `NAME.cdmodel`, or a symbolic link to one. The plugin looks at names only; what is in
/// the files is the tool's business, which reports mistakes at their line.
@main
struct CDGenPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let models = models(in: target.directoryURL)
    guard !models.isEmpty else {
      Diagnostics.error(
        """
        target '\(target.name)' has no model for CDGenPlugin: add a folder NAME.cdmodel, or a symbolic link to \
        one, to \(target.directoryURL.path) ('swift package cdgen init NAME --directory …' makes one), or take \
        the plugin off the target
        """)
      return []
    }
    let tool = try context.tool(named: "cdgen").url
    var commands: [Command] = []
    for (name, folders) in Dictionary(grouping: models, by: \.name).sorted(by: { $0.key < $1.key }) {
      guard let folder = folders.first?.folder, folders.count == 1 else {
        let paths = folders.map(\.folder.path).joined(separator: " and ")
        Diagnostics.error(
          "target '\(target.name)' has \(folders.count) models named '\(name)': \(paths); rename one of them")
        continue
      }
      let output = context.pluginWorkDirectoryURL.appending(path: "\(name)+Generated.swift")
      commands.append(
        .buildCommand(
          displayName: "Generating \(output.lastPathComponent)", executable: tool,
          arguments: ["generate", folder.path, "--output", output.path],
          // The tool too, so that a newer generator runs; and every file, since a folder stands for its
          // names only.
          inputFiles: [tool] + files(in: folder), outputFiles: [output]))
    }
    return commands
  }

  /// The models in a directory and those below it, links followed.
  private func models(in directory: URL) -> [(name: String, folder: URL)] {
    contents(of: directory).flatMap { entry -> [(name: String, folder: URL)] in
      let folder = entry.resolvingSymlinksInPath()
      guard folder.pathExtension == "cdmodel" || entry.pathExtension == "cdmodel" else {
        // Links elsewhere are not searched: they could lead round in a circle.
        return folder == entry.standardizedFileURL || folder.path == entry.path ? models(in: entry) : []
      }
      return [(folder.deletingPathExtension().lastPathComponent, folder)]
    }
  }

  private func files(in folder: URL) -> [URL] {
    contents(of: folder).filter { !$0.lastPathComponent.hasPrefix(".") && !$0.hasDirectoryPath }
  }

  /// What a directory has, in one order; nothing for a file.
  private func contents(of directory: URL) -> [URL] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return names.sorted().map { directory.appending(path: $0) }
  }
}
