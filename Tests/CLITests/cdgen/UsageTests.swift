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

        A model is a folder NAME.cdmodel with a model.yaml and a file for each version, 1.yaml, 2.yaml, …

          cdgen init ToDo                                         make a model
          cdgen check ToDo.cdmodel                                look for mistakes
          cdgen generate ToDo.cdmodel --output ToDo+Generated.swift

        Mistakes are reported as 'path:line:column: error: message' on standard error. The exit status is 0
        if all went well, warnings included, 1 if there were errors, and 64 if the arguments make no sense.

        USAGE: cdgen <subcommand>

        OPTIONS:
          -h, --help              Show help information.

        SUBCOMMANDS:
          init                    Make a new model.
          check                   Report every mistake in models.
          generate                Generate Swift from a model.
          compile                 Write a model as one file of canonical JSON.
          add-version             Start a model's next version.
          diff                    Show what a migration does, and what is missing.
          stub                    Begin the app's own code for custom migration steps.
          lock                    Mark a version as released, so that it never changes again.
          graph                   Draw a version's entities and relationships.
          import                  Make a model of one of Xcode's, with all its versions.
          export                  Write a model as one of Xcode's.
          json-schema             Print the JSON Schema of a model's files.

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
