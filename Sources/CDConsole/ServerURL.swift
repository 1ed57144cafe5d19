/// The URL of a server, which a command accepts in place of the path of a store's file.
package enum ServerURL {
  /// Whether an argument is the URL of a server, and not a path. The letters of a scheme can be capitals.
  package static func isServer(_ argument: String) -> Bool {
    let text = argument.lowercased()
    return text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
  }

  /// The failure of a program that was built without PostgreSQL, with the command that builds it.
  ///
  /// - Parameter program: The name of the program's product.
  package static func missingEngine(in program: String) -> Failure {
    Failure(
      "this program was built without PostgreSQL; build it with 'swift build --product \(program) --traits "
        + "Generator,PostgreSQL'")
  }
}
