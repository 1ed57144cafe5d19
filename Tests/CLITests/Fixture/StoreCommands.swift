import Foundation
import Testing

/// Tests that run `cdstore` in a folder of their own.
protocol StoreCommands {
  var folder: TemporaryFolder { get }
}

extension StoreCommands {
  func run(_ arguments: String..., input: String? = nil) throws -> BuiltTool.Result {
    try BuiltTool.cdstore.run(arguments, in: folder.url, input: input)
  }

  /// Runs a command that must succeed, and returns its output.
  @discardableResult func succeed(
    _ arguments: String..., input: String? = nil, location: SourceLocation = #_sourceLocation
  ) throws -> String {
    let result = try BuiltTool.cdstore.run(arguments, in: folder.url, input: input)
    #expect(result.status == 0, "\(result.errors)", sourceLocation: location)
    return result.output
  }

  /// A dump without the differences between two stores with the same objects: the first line and the UUID of the store.
  func objects(_ dump: String) -> String {
    dump.split(separator: "\n").dropFirst().joined(separator: "\n")
      .replacing(/cdgen:\/\/[0-9A-F-]{36}/, with: "cdgen://STORE")
  }
}
