import ArgumentParser
import CDConsole
import CDSchema

/// `cdgen json-schema`
struct PrintJSONSchema: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "json-schema",
    abstract: "Print the JSON Schema of a model's files.",
    discussion: """
      With this schema, an editor completes keys and marks mistakes while you write a file.

        cdgen json-schema > cdmodel.schema.json

      If your editor uses the YAML language server, add this line at the top of a version's file:

        # yaml-language-server: $schema=../../cdmodel.schema.json

      For a mapping file, write $schema=../../cdmodel.schema.json#/$defs/mapping.
      """)

  func run() throws {
    try reportingFailures { try Console.write(line: JSONSchema.text) }
  }
}
