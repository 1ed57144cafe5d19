import ArgumentParser
import CDConsole
import CDGenerator
import CDSchema

/// `cdgen json-schema`
struct PrintJSONSchema: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "json-schema",
    abstract: "Print the JSON Schema of a model's files or of its data.",
    discussion: """
      With the schema of the files, an editor completes keys and marks mistakes while you write a file.

        cdgen json-schema > cdmodel.schema.json

      If your editor uses the YAML language server, add this line at the top of a version's file:

        # yaml-language-server: $schema=../../cdmodel.schema.json

      For a mapping file, write $schema=../../cdmodel.schema.json#/$defs/mapping.

      With --data, the command prints the schema of the JSON that snapshots have. 'snapshots: true' in model.yaml \
      gives generated classes snapshots.

        cdgen json-schema --data Schemas/Library.cdmodel > library.schema.json
      """)

  @Option(help: ArgumentHelp("Describe the data of a model instead of its files.", valueName: "model"))
  var data: String?

  @OptionGroup var options: DataSchemaOptions

  func validate() throws {
    if data == nil, options.version != nil || options.dates != .reference {
      throw ValidationError("--version and --dates are for --data")
    }
  }

  func run() throws {
    try reportingFailures {
      guard let data else { return try Console.write(line: JSONSchema.text) }
      try Console.write(line: try options.schema(of: data).jsonSchema)
    }
  }
}
