package import ArgumentParser

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ParsableCommand {
  /// Runs a program. Call it from `main()`.
  ///
  /// The argument parser prints an error's text for the people who use an app, if the error has one. The user of a command
  /// line needs the precise text.
  package static func runProgram() {
    Console.begin()
    do {
      var command = try parseAsRoot()
      do {
        try command.run()
      } catch let error as any LocalizedError {
        throw Failure(String(describing: error))
      }
    } catch {
      exit(withError: error)
    }
  }
}
