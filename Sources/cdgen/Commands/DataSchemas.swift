public import ArgumentParser
import CDConsole
public import CDGenerator
import CDModel
import CDSchema

/// The options of the commands that print the schema of a model's data.
struct DataSchemaOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The version to describe. The default is the current version.", valueName: "number"))
  var version: Int?

  @Option(
    help: ArgumentHelp(
      "The form of dates.",
      discussion: "'reference' is the default of JSONEncoder. 'iso8601' is its strategy of that name."))
  var dates: DataSchema.Dates = .reference

  /// Loads a model, and returns the schema of its data.
  func schema(of path: String) throws -> DataSchema {
    let (loaded, model) = try ModelFolder.load(path, showsWarnings: false)
    let number = version ?? model.currentVersionNumber
    guard let version = model.version(number) else { throw Failure(path, unknownVersion: number, of: model) }
    return DataSchema(version, named: model.name, dates: dates, isNested: loaded.nestsSnapshots)
  }
}

extension DataSchema.Dates: ExpressibleByArgument {}

/// `cdgen openapi`
struct PrintOpenAPI: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "openapi",
    abstract: "Print OpenAPI components that describe a model's data.",
    discussion: """
      Prints an OpenAPI 3.1 document in JSON. It has no paths. Its components describe the JSON of snapshots: see \
      'cdgen json-schema --data'.

        cdgen openapi Schemas/Library.cdmodel > library.openapi.json
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @OptionGroup var options: DataSchemaOptions

  func run() throws {
    try reportingFailures { try Console.write(line: try options.schema(of: model).openAPI) }
  }
}
