import Foundation
import Testing

/// The compiler, on sources that use the modules which the tests were built with.
struct SwiftCompiler {
  /// What a run gave: nothing, where all was well.
  struct Outcome {
    let isSuccess: Bool
    let messages: String

    /// The texts of the errors, in order, without their places and without the compiler's group.
    var errors: [String] { placedErrors.map(\.text) }

    /// The same, with the paths of the files in which they are.
    var placedErrors: [(path: String, text: String)] {
      messages.split(separator: "\n").compactMap { line in
        // The compiler repeats each beneath the line of the source that it shows.
        guard let range = line.range(of: #"^/[^ ]+:\d+:\d+: error: "#, options: .regularExpression) else {
          return nil
        }
        let text = line[range.upperBound...]
        let message = String(
          text.range(of: #" \[#\w+\]$"#, options: .regularExpression).map { text[..<$0.lowerBound] } ?? text)
        return (String(line.prefix { $0 != ":" }), message)
      }
    }
  }

  /// The features of the next language mode that this package enables.
  static let features = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]

  private let modules: URL

  init() throws {
    modules = try #require(
      Self.candidates.first {
        FileManager.default.fileExists(atPath: $0.appending(path: "CDRuntime.swiftmodule").path)
      }, "there is no built CDRuntime module beside the tests")
  }

  /// The folders of modules that could belong to the running test bundle.
  private static var candidates: [URL] {
    let bundles = [CommandLine.arguments[0], Bundle.main.bundlePath] + CommandLine.arguments.dropFirst()
    return bundles.flatMap { path -> [URL] in
      var folder = URL(filePath: path).resolvingSymlinksInPath()
      var folders: [URL] = []
      for _ in 0..<6 where folder.path != "/" {
        folder.deleteLastPathComponent()
        folders.append(folder.appending(path: "Modules"))
      }
      return folders
    }
  }

  /// Compiles files as one module to the point at which all diagnostics are known.
  ///
  /// It writes no module. After an error the driver would remove that and the output, which is the system's null device.
  func check(
    _ files: [URL], module: String = "Generated", _ options: [String] = [],
    features: [String] = SwiftCompiler.features, warningsAreErrors: Bool = true
  ) throws -> Outcome {
    try compile(
      ["-wmo", "-parse-as-library", "-emit-sil", "-o", "/dev/null", "-module-name", module] + options, files,
      features: features, warningsAreErrors: warningsAreErrors)
  }

  /// Compiles a package's manifest.
  func checkManifest(_ file: URL) throws -> Outcome {
    let manifests = URL(filePath: try target().paths.runtimeResourcePath).appending(path: "pm/ManifestAPI")
    return try run([
      "swiftc", "-swift-version", "6", "-typecheck", "-package-description-version", "6.1.0", "-I",
      manifests.path, file.path,
    ])
  }

  /// Writes the symbol graphs of a module's public declarations.
  func extractSymbols(of module: String, to folder: URL) throws -> Outcome {
    try run(
      [
        "swift", "symbolgraph-extract", "-module-name", module, "-target", try target().target.triple, "-I",
        modules.path, "-minimum-access-level", "public", "-output-dir", folder.path,
      ] + moduleMaps)
  }

  /// Writes a module that other files can import. All diagnostics are known then, as after a check.
  func emitModule(_ files: [URL], module: String, to folder: URL, _ options: [String]) throws -> Outcome {
    try compile(
      [
        "-wmo", "-parse-as-library", "-emit-module", "-module-name", module, "-emit-module-path",
        folder.appending(path: "\(module).swiftmodule").path,
      ] + options, files)
  }

  private func compile(
    _ options: [String], _ files: [URL], features: [String] = SwiftCompiler.features,
    warningsAreErrors: Bool = true
  ) throws -> Outcome {
    var arguments = [
      "swiftc", "-swift-version", "6", "-package-name", "cases", "-I", modules.path, "-D", "DEBUG",
    ]
    for feature in features { arguments += ["-enable-upcoming-feature", feature] }
    if warningsAreErrors { arguments.append("-warnings-as-errors") }
    return try run(arguments + moduleMaps + options + files.map(\.path))
  }

  /// What the compiler says of itself.
  private struct TargetInfo: Decodable {
    struct Target: Decodable { let triple: String }
    struct Paths: Decodable { let runtimeResourcePath: String }
    let target: Target
    let paths: Paths
  }

  private func target() throws -> TargetInfo {
    let outcome = try run(["swiftc", "-print-target-info"])
    return try JSONDecoder().decode(TargetInfo.self, from: Data(outcome.messages.utf8))
  }

  private func run(_ arguments: [String]) throws -> Outcome {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = errors
    try process.run()
    let output = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Outcome(
      isSuccess: process.terminationStatus == 0, messages: String(decoding: output, as: UTF8.self))
  }

  /// The maps of the C modules that the package's modules import.
  private var moduleMaps: [String] {
    let checkout = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return ["CProcessor", "CSQLite", "CLibYAML"].flatMap { name in
      ["-Xcc", "-fmodule-map-file=\(checkout.appending(path: "Sources/\(name)/module.modulemap").path)"]
    }
  }
}
