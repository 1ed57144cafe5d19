import Foundation

/// The server on which commands are tested. `.ci/postgresql` starts one, and sets the variable with its URL.
enum CommandServer {
  static let url = ProcessInfo.processInfo.environment["CDGEN_POSTGRES_URL"]

  /// Whether there is a server, and `cdstore` takes URLs.
  static let isUsable: Bool = {
    guard let url, let folder = try? TemporaryFolder(),
      let result = try? BuiltTool.cdstore.run("info", schema("cli_none", url), in: folder.url)
    else { return false }
    return !result.errors.contains("built without PostgreSQL")
  }()

  /// The URL of a store in a schema. The server's URL may already have parameters, such as `features=common`.
  static func schema(_ name: String, _ url: String) -> String {
    url + (url.contains("?") ? "&" : "?") + "schema=" + name
  }
}
