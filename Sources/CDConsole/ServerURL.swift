/// The URL of a server, which a command accepts in place of the path of a store's file.
package enum ServerURL {
  /// Whether an argument is the URL of a server, and not a path.
  package static func isServer(_ argument: String) -> Bool {
    argument.hasPrefix("postgresql://") || argument.hasPrefix("postgres://")
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
