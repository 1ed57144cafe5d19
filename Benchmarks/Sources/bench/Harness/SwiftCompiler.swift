import Foundation

/// Runs `swiftc` on sources that use CDRuntime.
struct SwiftCompiler {
  private let modules: URL
  private let folder: URL

  /// - Parameter modules: The folder with CDRuntime's built module. The default is the folder in this program's build.
  init(modules path: String?) throws {
    if let path {
      modules = URL(filePath: path)
    } else {
      let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      modules = program.deletingLastPathComponent().appending(path: "Modules")
    }
    let runtime = modules.appending(path: "CDRuntime.swiftmodule")
    guard FileManager.default.fileExists(atPath: runtime.path) else {
      throw BenchError("there is no CDRuntime.swiftmodule in \(modules.path); name its folder with --modules")
    }
    folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func removeFiles() {
    // Remaining files in a temporary folder do no harm.
    try? FileManager.default.removeItem(at: folder)
  }

  /// Writes a source file for ``compile(_:isOptimized:)``.
  func write(_ source: String, as name: String) throws -> URL {
    let url = folder.appending(path: name)
    try source.write(to: url, atomically: true, encoding: .utf8)
    return url
  }

  /// Compiles a file as a whole module and returns the CPU seconds that it took.
  func compile(_ source: URL, isOptimized: Bool) throws -> Double {
    try run(
      ["-wmo", "-c", "-o", folder.appending(path: "out.o").path, isOptimized ? "-O" : "-Onone"], source)
  }

  /// Type-checks a file and returns the CPU seconds that it took.
  func check(_ source: URL) throws -> Double { try run(["-typecheck"], source) }

  private func run(_ options: [String], _ source: URL) throws -> Double {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      [
        "swiftc", "-parse-as-library", "-module-name", "Generated", "-swift-version", "6", "-I", modules.path,
        "-module-cache-path", folder.appending(path: "cache").path,
        "-enable-upcoming-feature", "ExistentialAny", "-enable-upcoming-feature", "InternalImportsByDefault",
        "-enable-upcoming-feature", "MemberImportVisibility",
      ] + moduleMaps + options + [source.path]
    let errors = Pipe()
    process.standardError = errors
    let start = CPUTime.children
    try process.run()
    let output = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let seconds = CPUTime.children - start
    guard process.terminationStatus == 0 else {
      throw BenchError(
        "swiftc failed on \(source.lastPathComponent):\n\(String(decoding: output, as: UTF8.self))")
    }
    return seconds
  }

  /// The module maps of the C modules that CDRuntime imports. CDRuntime's module does not contain their paths.
  private var moduleMaps: [String] {
    var checkout = URL(filePath: #filePath)
    for _ in 0..<5 { checkout.deleteLastPathComponent() }
    return ["CProcessor", "CSQLite"].flatMap { name in
      ["-Xcc", "-fmodule-map-file=\(checkout.appending(path: "Sources/\(name)/module.modulemap").path)"]
    }
  }
}
