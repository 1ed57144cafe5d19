import Foundation
import Testing

@Suite struct UsageTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func withoutArgumentsTheCommandsAreListed() throws {
    let result = try BuiltTool.cdgen.run(in: folder.url)
    #expect(result.status == 0)
    #expect(result.errors == "")
    #expect(
      result.output == """
        OVERVIEW: Check data models written in YAML and generate Swift from them.

        A model is a folder NAME.cdmodel. It contains model.yaml and one file for each version: 1.yaml,
        2.yaml, …

          cdgen init ToDo                                         create a model
          cdgen check ToDo.cdmodel                                report mistakes
          cdgen generate ToDo.cdmodel --output ToDo+Generated.swift

        Mistakes are reported as 'path:line:column: error: message' on standard error. The exit status is 0
        if there were no errors, 1 if there were errors, and 64 if the arguments are invalid. Warnings do
        not change it. 'cdgen --version' prints the version.

        USAGE: cdgen <subcommand>

        OPTIONS:
          -h, --help              Show help information.

        SUBCOMMANDS:
          init                    Create a new model.
          check                   Report every mistake in models.
          generate                Generate Swift code from a model.
          compile                 Write a model as one file of canonical JSON.
          add-version             Create the next version of a model.
          diff                    Show what a migration does, and which rules are missing.
          stub                    Write the beginning of your code for custom migration steps.
          lock                    Lock a released version, so that it never changes again.
          graph                   Draw the entities and relationships of a version.
          import                  Convert a model of Xcode, with all its versions.
          export                  Convert a model to a model of Xcode.
          format                  Format the files of models.
          watch                   Check models, or generate Swift from one, after each change of their
                                  files.
          json-schema             Print the JSON Schema of a model's files or of its data.
          openapi                 Print OpenAPI components that describe a model's data.
          install-completions     Install the completions for a shell.

          See 'cdgen help <subcommand>' for detailed help.

        """)
  }

  @Test(arguments: [
    "init", "check", "generate", "compile", "add-version", "diff", "stub", "lock", "graph", "import",
    "export", "json-schema",
  ])
  func helpShowsAnExample(command: String) throws {
    let result = try BuiltTool.cdgen.run(command, "--help", in: folder.url)
    #expect(result.status == 0)
    #expect(result.errors == "")
    #expect(result.output.split(separator: "\n").contains { $0.hasPrefix("  cdgen \(command) ") })
    #expect(try folder.names() == [])
  }

  @Test(arguments: [BuiltTool.cdgen, .cdgenGraph, .cdstore, .todo])
  func versionIsThatOfAllPrograms(tool: BuiltTool) throws {
    #expect(
      try tool.run("--version", in: folder.url)
        == .init(status: 0, output: "\(tool.name) 0.1.0\n", errors: ""))
    // The statuses are those that the README lists.
    let help = try tool.run("--help", in: folder.url)
    #expect(help.status == 0 && help.output.contains("exit status"))
    #expect(try tool.run("--versoin", in: folder.url).status == 64)
  }

  @Test(arguments: [
    (BuiltTool.cdgen, ["chek", "A.cdmodel"], "chek", "check"),
    (.cdgen, ["add_version"], "add_version", "add-version"),
    (.cdstore, ["Fetch", "n.sqlite"], "Fetch", "fetch"), (.todo, ["lisst"], "lisst", "list"),
    (.todo, ["category", "ad", "Home"], "ad", "add"),
  ])
  func aMisspeltCommandIsFound(tool: BuiltTool, arguments: [String], wrong: String, meant: String) throws {
    let result = try tool.run(arguments, in: folder.url)
    #expect(result.status == 64 && result.output == "")
    #expect(result.errors.hasPrefix("Error: There is no command '\(wrong)'. Did you mean '\(meant)'?\n"))
  }

  @Test(arguments: [
    ["frobnicate"], ["check"], ["generate", "A.cdmodel"], ["graph", "A.cdmodel", "--format", "png"],
    ["generate", "A.cdmodel", "--output", "a", "--access", "private"],
    ["generate", "A.cdmodel", "--output", "a.swift", "--per-entity"], ["init"], ["check", "--frob"],
  ])
  func wrongUsageIsSixtyFour(arguments: [String]) throws {
    let result = try BuiltTool.cdgen.run(arguments, in: folder.url)
    #expect(result.status == 64)
    #expect(result.output == "")
    #expect(result.errors.hasPrefix("Error: "))
    #expect(try folder.names() == [])
  }
}
