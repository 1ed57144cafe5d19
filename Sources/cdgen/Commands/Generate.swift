public import ArgumentParser
import CDConsole
public import CDGenerator
import CDModel
import CDSchema

/// `cdgen generate`
struct Generate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Generate Swift from a model.",
    discussion: """
      The current version's entities become classes; the other versions are part of the model that the code \
      carries. A file is written only if its bytes change, so that what depends on it need not be built again.

        cdgen generate ToDo.cdmodel --output Sources/App/ToDo+Generated.swift
        cdgen generate ToDo.cdmodel --output Sources/App/Model --per-entity
        cdgen generate ToDo.cdmodel --output Sources/App/ToDo+Generated.swift --check

      Where the build-tool plugin runs, there is no need for this command.
      """)

  @Argument(help: "The model's folder.", completion: .directory)
  var model: String

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The file to write, or the folder.",
      discussion: "A folder is one that exists, one whose path ends in '/', or any with --per-entity.",
      valueName: "path"))
  var output: String

  @Option(
    help: ArgumentHelp(
      "How far the generated declarations can be seen.",
      discussion: "Without it, what 'access:' in model.yaml says, else internal.", valueName: "level"))
  var access: AccessLevel?

  @Flag(help: "Write a file for each entity. Files that an entity left behind are removed.")
  var perEntity = false

  @Flag(help: "Write nothing; fail if a file is not what it would be now, and name it.")
  var check = false

  func validate() throws {
    if perEntity, output.hasSuffix(".swift") {
      throw ValidationError("With --per-entity, --output is a folder.")
    }
  }

  func run() throws {
    try reportingFailures {
      let (loaded, model) = try ModelFolder.load(model)
      let options = Generator.Options(
        access: access ?? loaded.access.flatMap(AccessLevel.init) ?? .internal, perEntity: perEntity,
        warnsOfUnlockedVersion: !loaded.locksCurrentVersion, keyPaths: loaded.listsKeyPaths,
        observable: loaded.isObservable)
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
