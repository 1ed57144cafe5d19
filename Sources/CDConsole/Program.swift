package import ArgumentParser
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The release that the programs of this package belong to.
package enum Release {
  /// The version number, which `--version` prints.
  package static let version = "0.1.0"
}

extension ParsableCommand {
  /// Runs a program. Call it from `main()`.
  ///
  /// The argument parser prints an error's text for the people who use an app, if the error has one. The user of a command
  /// line needs the precise text. It may have names from a file that somebody else has made.
  package static func runProgram() {
    beginProgram()
    do {
      var command = try parseAsRoot()
      do {
        try command.run()
      } catch let error where error is any LocalizedError || error is Failure {
        throw Failure(Terminal.plain(lines: String(describing: error)))
      }
    } catch {
      exit(withError: error)
    }
  }

  /// Prepares the process, and answers what the argument parser does not: `--version` and misspelt subcommands.
  ///
  /// The parser's own `--version` would be in the help of every subcommand, although several have an option of that name
  /// for the version of a model.
  package static func beginProgram() {
    Console.begin()
    let arguments = CommandLine.arguments.dropFirst()
    do {
      if arguments.elementsEqual(["--version"]) {
        try Console.write(line: "\(_commandName) \(Release.version)")
        exit()
      }
      if let (wrong, meant) = misspeltSubcommand(in: arguments) {
        throw ValidationError("There is no command '\(wrong)'. Did you mean '\(meant)'?")
      }
    } catch {
      exit(withError: error)
    }
  }

  /// Finds an argument in the place of a subcommand that is nearly the name of one.
  private static func misspeltSubcommand(in arguments: ArraySlice<String>) -> (wrong: String, meant: String)?
  {
    var commands = configuration.subcommands
    for argument in arguments {
      if commands.isEmpty || argument.hasPrefix("-") || argument == "help" { return nil }
      if let command = commands.first(where: { $0.isNamed(argument) }) {
        commands = command.configuration.subcommands
        continue
      }
      let names = commands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
      return closestName(to: argument, in: names).map { (argument, $0) }
    }
    return nil
  }

  private static func isNamed(_ name: String) -> Bool {
    _commandName == name || configuration.aliases.contains(name)
  }
}
