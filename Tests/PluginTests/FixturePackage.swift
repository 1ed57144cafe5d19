import Foundation

/// A package that uses cdgen as any other does: by its manifest, from another folder.
///
/// It is built in a scratch folder of its own, since the checkout's is locked while tests run. Package and
/// scratch stay at one place below it, so that only a first run compiles the dependencies; the package's files
/// are made anew by each run. Afterwards, `.ci/run` builds the packages of the README and of the examples there too: they name the
/// checkout by the same path, so that the runtime and the generator are compiled once for all of them.
struct FixturePackage {
  let folder: URL
  private let scratch: URL

  struct Result {
    var status: Int32
    /// Standard output and standard error, as they came.
    var output: String

    /// The lines that are no progress. That commands which ran beside a failed one were cancelled depends on the
    /// machine's pace, and on what was built before.
    var messages: [String] {
      output.split(separator: "\n").map(String.init).filter {
        ($0.contains("error: ") || $0.contains("warning: ")) && $0 != "error: cancelled"
      }
    }
  }

  init() throws {
    let checkout = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let home = checkout.appending(path: ".build/plugin-tests")
    folder = home.appending(path: "Fixture")
    scratch = home.appending(path: "scratch")
    try? FileManager.default.removeItem(at: folder)
    let link = home.appending(path: "cdgen")
    try? FileManager.default.removeItem(at: link)
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: checkout)
    try write(
      """
      // swift-tools-version: 6.0
      import PackageDescription

      let package = Package(
        name: "Fixture",
        platforms: [.macOS(.v15)],
        dependencies: [.package(path: "../cdgen")],
        targets: [
          .executableTarget(
            name: "App",
            dependencies: [.product(name: "CDRuntime", package: "cdgen")],
            plugins: [.plugin(name: "CDGenPlugin", package: "cdgen")])
        ]
      )

      """, to: "Package.swift")
  }

  func write(_ text: String, to path: String) throws {
    let file = folder.appending(path: path)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  func replace(_ old: String, with new: String, in path: String) throws {
    let file = folder.appending(path: path)
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    try write(text.replacing(old, with: new), to: path)
  }

  func remove(_ path: String) throws {
    try FileManager.default.removeItem(at: folder.appending(path: path))
  }

  func link(_ path: String, to destination: String) throws {
    try FileManager.default.createSymbolicLink(
      atPath: folder.appending(path: path).path, withDestinationPath: destination)
  }

  func build() throws -> Result { try swift("build") }

  /// Builds the package and runs its program.
  func buildAndRun() throws -> Result {
    let build = try build()
    guard build.status == 0 else { return build }
    return try run(scratch.appending(path: "debug/App"), [])
  }

  /// `swift package cdgen`, with leave to write.
  func cdgen(_ arguments: String...) throws -> Result {
    try swift("package", ["--allow-writing-to-package-directory", "cdgen"] + arguments)
  }

  /// `swift package VERB`, without leave to write.
  func reading(_ arguments: String...) throws -> Result { try reading(arguments) }
  func reading(_ arguments: [String]) throws -> Result { try swift("package", arguments) }

  func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: folder.appending(path: path).path)
  }

  /// The options of the package come first: behind leave to write, SwiftPM takes them for a plugin's.
  private func swift(_ command: String, _ arguments: [String] = []) throws -> Result {
    func once() throws -> Result {
      try run(
        URL(filePath: "/usr/bin/env"),
        ["swift", command, "--package-path", folder.path, "--scratch-path", scratch.path] + arguments)
    }
    let result = try once()
    // Swift 6.3's own commands crash now and then, while they wait for the programs that they run.
    let hasCrashed =
      result.output.contains("*** Program crashed") && result.output.contains("Thread 0 \"swift-")
    return hasCrashed ? try once() : result
  }

  private func run(_ program: URL, _ arguments: [String]) throws -> Result {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    let log = folder.deletingLastPathComponent().appending(path: "log.txt")
    try Data().write(to: log)
    let handle = try FileHandle(forWritingTo: log)
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    process.waitUntilExit()
    return Result(
      status: process.terminationStatus, output: String(decoding: try Data(contentsOf: log), as: UTF8.self))
  }
}
