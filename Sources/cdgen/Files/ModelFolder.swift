import ArgumentParser
import CDConsole
import CDModel
import CDSchema

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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

  /// Prints diagnostics on the error stream. On a terminal, each is followed by its line with a caret under the place.
  static func report(_ diagnostics: [Diagnostic]) {
    let isTerminal = Terminal.isTerminal(.errors)
    for diagnostic in diagnostics {
      guard isTerminal else {
        Console.error(diagnostic.description)
        continue
      }
      Console.report(Terminal.plain(diagnostic.description))
      guard let excerpt = SourceExcerpt(diagnostic.location) else { continue }
      Console.error(excerpt.lines[0])
      Console.error(Terminal.text(excerpt.lines[1], .success, on: .errors))
    }
  }

  /// The folder of the target that a directory belongs to, where the package manager looks for targets whose paths the
  /// manifest does not name. The directory itself if it is in no such target.
  static func targetFolder(of directory: String) -> String {
    let sources: Set = ["Sources", "Source", "src", "srcs", "Tests"]
    var package = FileSystem.url(directory, directoryHint: .isDirectory).standardizedFileURL
    var below: [String] = []
    while package.pathComponents.count > 1 {
      if FileManager.default.fileExists(atPath: package.appending(path: "Package.swift").path) {
        guard below.count > 1, sources.contains(below[0]) else { return directory }
        return package.appending(path: below[0]).appending(path: below[1]).path
      }
      below.insert(package.lastPathComponent, at: 0)
      package.deleteLastPathComponent()
    }
    return directory
  }

  /// Whether a folder or one of its subfolders contains a model that the build plugin reads.
  static func hasModel(in folder: String) -> Bool {
    let names = (try? FileSystem.names(in: folder)) ?? []
    return names.contains { name in
      let path = FileSystem.join(folder, name)
      guard !name.hasPrefix("."), FileSystem.isFolder(path) else { return false }
      // Links to other folders are not followed, because they could form a cycle.
      return name.hasSuffix(".cdmodel") || !isLink(path) && hasModel(in: path)
    }
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  /// The path without slashes at its end, which a shell's completion adds.
  static func trimmed(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  /// Runs a command that reads a file of a model and then writes it again. Other such commands wait until it has ended, so
  /// that each of them sees the changes of the one before.
  ///
  /// The lock ends with the process, however it ends. If the file system has no such locks, no lock is held.
  static func whileLocked<R>(_ path: String, _ work: () throws -> R) throws -> R {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // The work reports a folder that cannot be read.
    guard descriptor >= 0 else { return try work() }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
    return try work()
  }
}
