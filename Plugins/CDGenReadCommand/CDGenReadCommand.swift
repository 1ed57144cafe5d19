import Foundation
import PackagePlugin

/// `swift package cdgen-read`: runs a command of the tool that only reads, in the package's directory.
///
/// The package manager asks for permissions once for a plugin, and not for each of its commands. So the commands that
/// write are left to the plugin with the verb `cdgen`.
@main
struct CDGenReadCommand: CommandPlugin {
  /// The commands that write nothing.
  private static let readers: Set<String> = [
    "check", "diff", "graph", "json-schema", "openapi", "help", "--help", "-h", "--version",
  ]

  /// The commands that write nothing with `--check`.
  private static let checkers: Set<String> = ["generate", "format"]

  func performCommand(context: PluginContext, arguments: [String]) throws {
    guard let tool = try? context.tool(named: "cdgen").url else {
      Diagnostics.error(
        "the dependency on cdgen leaves its trait 'Generator' out: remove 'traits: []' from that dependency")
      return
    }
    let command = arguments.first ?? "--help"
    guard Self.onlyReads(command, arguments) else {
      let line = arguments.joined(separator: " ")
      Diagnostics.error(
        "'cdgen \(line)' writes files; run it as "
          + "'swift package --allow-writing-to-package-directory cdgen \(line)'")
      return
    }
    let process = Process()
    process.executableURL = tool
    process.arguments = arguments.isEmpty ? ["--help"] : arguments
    process.currentDirectoryURL = context.package.directoryURL
    try process.run()
    process.waitUntilExit()
    guard process.terminationReason == .exit else {
      Diagnostics.error("cdgen ended with signal \(process.terminationStatus)")
      return
    }
    // The tool has already reported the problem. This error only sets the exit status.
    if process.terminationStatus != 0 {
      Diagnostics.error("cdgen ended with status \(process.terminationStatus)")
    }
  }

  private static func onlyReads(_ command: String, _ arguments: [String]) -> Bool {
    if arguments.contains("--help") || arguments.contains("-h") { return true }
    if checkers.contains(command) { return arguments.contains("--check") }
    let writes = arguments.contains { argument in
      // The tool takes the file after an equals sign too, even after the short name.
      let name = argument.prefix { $0 != "=" }
      return name == "--accept" || name == "-o" || name == "--output"
    }
    return readers.contains(command) && !writes
  }
}
