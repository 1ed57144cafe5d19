import ArgumentParser
import CDConsole

/// A to-do list in a store: the example program of cdgen.
///
/// Its classes `ToDo` and `Category` are generated from `ToDo.cdmodel` during the build.
@main
struct TodoProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "todo",
    abstract: "Keep a list of to-dos.",
    discussion: """
      This is the example program of cdgen. The list is in a SQLite file, or on a PostgreSQL server: see 'todo list --help'.

        todo category add Home
        todo add "Water the plants" --due 5m --category Home
        todo list
        todo done "Water the plants"

      'todo demo' shows every kind of fetch on a separate list. 'todo --version' prints the version.

      The exit status is 0 if there were no errors, 1 if there were errors, and 64 if the arguments are invalid.
      """,
    subcommands: [
      Add.self, List.self, Done.self, Mute.self, Due.self, CategoryCommands.self, Demo.self,
    ])

  static func main() async {
    beginProgram()
    await main(nil)
  }
}
