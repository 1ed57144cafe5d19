import ArgumentParser
import CDConsole

/// The command line for stores. It uses no generated classes, and reads and writes objects by key.
@main
struct CDStore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cdstore",
    abstract: "Create, fill, read, migrate and check stores.",
    discussion: """
      A store contains its model. You need --model only to create a store and to migrate it. A program that is built \
      with the package's trait PostgreSQL also takes URLs of stores on a server: \
      postgresql://HOST/DATABASE?schema=NAME.

        cdstore create Notes.sqlite --model Notes.cdmodel
        cdstore load Notes.sqlite notes.json
        cdstore dump Notes.sqlite > notes.jsonl
        cdstore fetch Notes.sqlite Note --where "text CONTAINS 'tea'" --sort -written --limit 10
        cdstore info Notes.sqlite
        cdstore migrate Notes.sqlite --model Notes.cdmodel --dry-run
        cdstore verify Notes.sqlite
        cdstore convert Notes.sqlite Notes.xml --type xml

      The exit status is 0 if there were no errors, 1 if there were errors, 64 if the arguments are invalid, and 130 \
      if a migration was interrupted. 'cdstore --version' prints the version.
      """,
    subcommands: [
      Create.self, Load.self, Dump.self, Fetch.self, Filter.self, Info.self, Migrate.self, Plan.self,
      Verify.self, Convert.self, InstallCompletions<CDStore>.self,
    ])

  static func main() {
    runProgram()
  }
}
