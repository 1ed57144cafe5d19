import ArgumentParser
import CDConsole
import CDSchema

/// `cdgen json-schema`
struct PrintJSONSchema: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "json-schema",
    abstract: "Print the JSON Schema of a model's files.",
    discussion: """
      An editor that knows it completes keys and marks mistakes while a file is written.

        cdgen json-schema > cdmodel.schema.json

      In an editor that runs the YAML language server, this line at the top of a version's file is enough:

        # yaml-language-server: $schema=../../cdmodel.schema.json

      For a mapping it is $schema=../../cdmodel.schema.json#/$defs/mapping.
      """)

  func run() throws {
    try reportingFailures { try Console.write(line: JSONSchema.text) }
  }
}
