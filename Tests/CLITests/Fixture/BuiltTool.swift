import Foundation

/// A program of this package, as the build made it, run as a user would.
struct BuiltTool: Sendable {
  var name: String

  static let cdgen = BuiltTool(name: "cdgen")
  static let cdgenGraph = BuiltTool(name: "cdgen-graph")
  static let cdstore = BuiltTool(name: "cdstore")
  static let todo = BuiltTool(name: "todo")

  struct Result: Equatable {
    var status: Int32
    var output: String
    var errors: String
  }

  /// Runs the program to its end.
  ///
  /// - Parameter folder: Where it runs, so that relative paths are short and messages the same everywhere.
  func run(_ arguments: String..., in folder: URL) throws -> Result {
    try run(arguments, in: folder)
  }

  /// - Parameters:
  ///   - input: What comes by standard input; nothing by default.
  ///   - variables: What the environment has besides this process's own.
  func run(
    _ arguments: [String], in folder: URL, input: String? = nil, variables: [String: String] = [:]
  ) throws -> Result {
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    process.currentDirectoryURL = folder
    // Help is laid out for the width of the terminal.
    process.environment = ProcessInfo.processInfo.environment
      .merging(["COLUMNS": "100"]) { $1 }.merging(variables) { $1 }
    let given = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: given) }
    if let input {
      try Data(input.utf8).write(to: given)
      process.standardInput = try FileHandle(forReadingFrom: given)
    } else {
      process.standardInput = FileHandle.nullDevice
    }
    // Files, since a pipe that nobody empties would stop the program.
    let streams = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: streams, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: streams) }
    let (output, errors) = (streams.appending(path: "output"), streams.appending(path: "errors"))
    for file in [output, errors] { try Data().write(to: file) }
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.waitUntilExit()
    return Result(
      status: process.terminationStatus,
      output: String(decoding: try Data(contentsOf: output), as: UTF8.self),
      errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
  }

  /// Runs the program where no file can take a byte, as on a full disk, and returns its exit status. Its output is lost.
  func runOnFullDisk(_ arguments: String..., in folder: URL) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments =
      ["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\" > /dev/null 2>&1", "sh", url.path] + arguments
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Starts the program, without input, and with nobody to read its output.
  func start(_ arguments: String..., in folder: URL) throws -> Process {
    let process = Process()
    process.executableURL = url
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// The program's file. The environment variables `CDSTORE` and `TODO` may name programs that were built with other
  /// traits.
  var url: URL { other ?? Self.productsFolder.appending(path: name) }

  /// The file that the environment names; nil for the one of this build.
  var other: URL? {
    let variables = ["cdstore": "CDSTORE", "todo": "TODO"]
    return variables[name].flatMap { ProcessInfo.processInfo.environment[$0] }.map { URL(filePath: $0) }
  }

  /// Where the build put the programs: beside the tests.
  private static var productsFolder: URL {
    #if os(macOS)
      for bundle in Bundle.allBundles where bundle.bundlePath.hasSuffix(".xctest") {
        return bundle.bundleURL.deletingLastPathComponent()
      }
    #endif
    return Bundle.main.bundleURL
  }
}
