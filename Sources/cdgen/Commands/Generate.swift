public import ArgumentParser
import CDConsole
public import CDGenerator
import CDModel
import CDSchema

/// `cdgen generate`
struct Generate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Generate Swift code from a model.",
    discussion: """
      The entities of the current version become classes. The code also contains all other versions, as a part of \
      its model. A file is written only if its content changes, so that files that depend on an unchanged file need \
      not be built again.

        cdgen generate ToDo.cdmodel --output Sources/App/ToDo+Generated.swift
        cdgen generate ToDo.cdmodel --output Sources/App/Model --per-entity
        cdgen generate ToDo.cdmodel --output Sources/App/ToDo+Generated.swift --check

      You do not need this command for a target that uses the build-tool plugin.
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file or the folder to write.",
      discussion: "The path is a folder if a folder exists there, if it ends in '/', or with --per-entity.",
      valueName: "path"))
  var output: String

  @Option(
    help: ArgumentHelp(
      "The access level of the generated declarations.",
      discussion: "The default is the value of 'access:' in model.yaml, or internal if there is none.",
      valueName: "level"))
  var access: AccessLevel?

  @Flag(help: "Write a file for each entity. Remove the files of entities that no longer exist.")
  var perEntity = false

  @Flag(help: "Write nothing. Fail if a file is out of date, and name the file.")
  var check = false

  func validate() throws {
    if perEntity, output.hasSuffix(".swift") {
      throw ValidationError("With --per-entity, --output is a folder.")
    }
  }

  func run() throws {
    try reportingFailures {
      let (loaded, model) = try ModelFolder.load(model)
      let options = loaded.generatorOptions(access: access, perEntity: perEntity)
      let isFolder = perEntity || output.hasSuffix("/") || FileSystem.isFolder(output)
      let result = GeneratedOutput(
        try Self.files(of: model, loaded, options), to: output, isFolder: isFolder)
      guard check else { return try result.write() }
      let problems = try result.staleness()
      for problem in problems { Console.error(problem.diagnostic) }
      if !problems.isEmpty { throw ExitCode.failure }
    }
  }

  /// Generates the files. Problems that only concern Swift are reported at their position in the schema.
  private static func files(
    of model: ManagedObjectModel, _ loaded: LoadedModel, _ options: Generator.Options
  ) throws -> [GeneratedFile] {
    do {
      return try Generator(options: options).generate(model)
    } catch {
      ModelFolder.report(error.problems.map { $0.diagnostic(in: loaded, model.currentVersionNumber) })
      throw ExitCode.failure
    }
  }
}

extension AccessLevel: ExpressibleByArgument {}
