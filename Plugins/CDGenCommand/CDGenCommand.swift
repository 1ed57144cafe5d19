import Foundation
import PackagePlugin

/// `swift package cdgen`: runs the tool with the given arguments in the package's directory.
///
/// Without arguments, the tool lists its commands. Commands that write need `--allow-writing-to-package-directory`
/// before `cdgen`.
@main
struct CDGenCommand: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) throws {
    guard let tool = try? context.tool(named: "cdgen").url else {
      Diagnostics.error(
        "the dependency on cdgen leaves its trait 'Generator' out: remove 'traits: []' from that dependency")
      return
    }
    let process = Process()
    process.executableURL = tool
    process.arguments = arguments
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
}
