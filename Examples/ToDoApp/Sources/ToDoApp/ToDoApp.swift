import CDRuntime
import Foundation

/// A to-do list in the browser: the example application of cdgen.
@main
enum ToDoApp {
  static func main() async {
    if CommandLine.arguments.contains("--help") { return say(Options.help) }
    do {
      let server = Server(try Options(Array(CommandLine.arguments.dropFirst())))
      ErrorTexts.useWordsOfTheApp()
      Task { await Quitting(server: server).handleSignals() }
      try await server.run()
    } catch let mistake as Options.Mistake {
      complain("error: \(mistake.text)\n\n\(Options.help)")
      exit(64)
    } catch {
      complain("error: the server cannot start: \(error)")
      exit(1)
    }
  }
}
