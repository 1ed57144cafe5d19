import ArgumentParser
import CDConsole
import CDGenerator
import CDMapping
import CDModel
import CDSchema

/// `cdgen stub`
struct Stub: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write the beginning of your code for custom migration steps.",
    discussion: """
      Writes a type that implements the protocol of the generated code. It has a function for each entity mapping with \
      'policy: custom' between the two versions. The values that rules and inference determine are filled in. For every \
      other value there is an #error with a question. The file compiles when you have answered all of them. If earlier \
      steps have custom mappings too, the file extends the type that their stub declares.

        cdgen stub Contacts.cdmodel 3 4 --output Sources/App/ContactsMigrations.swift

      With --tests, writes tests for Swift Testing. For each released version from FROM on, a test creates a store with \
      sample objects, migrates it to TO, and compares the objects. The tests need the library CDMigrationTesting of this \
      package.

        cdgen stub Contacts.cdmodel 1 4 --tests --module App --output Tests/AppTests/ContactsMigrationTests.swift

      An existing file is never overwritten.
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Argument(help: ArgumentHelp("The version of the stores.", valueName: "from"))
  var source: Int

  @Argument(help: ArgumentHelp("The version to which they are migrated.", valueName: "to"))
  var destination: Int

  @Option(name: .shortAndLong, help: ArgumentHelp("The file to create.", valueName: "file"))
  var output: String

  @Flag(help: "Write tests for the migrations.")
  var tests = false

  @Option(
    help: ArgumentHelp(
      "The type that implements the migrations.",
      discussion: "The default for a model Contacts is ContactsMigrations.",
      valueName: "name"))
  var type: String?

  @Option(help: ArgumentHelp("With --tests, the module with the generated code.", valueName: "name"))
  var module: String?

  func validate() throws {
    if module != nil, !tests { throw ValidationError("--module is for --tests.") }
    if let type, type == "_" || !NameRules.isIdentifier(type) {
      throw ValidationError("--type is the name of a Swift type, not '\(type)'.")
    }
  }

  func run() throws {
    try reportingFailures {
      let loaded = ModelLoader.load(folder: model)
      guard let unproven = loaded.unprovenModel else {
        ModelFolder.report(loaded.diagnostics)
        throw ExitCode.failure
      }
      let path = try path(in: unproven)
      let file = OutputFile(path: output, contents: "")
      guard try file.isStream || file.currentContents() == nil else {
        throw Failure(
          output, "the file already exists and was not changed: name another with --output")
      }
      do {
        guard let text = try text(of: unproven, loaded, path) else {
          try Console.write(
            line:
              "\(ModelFolder.trimmed(model)): nothing is custom from version \(source) to version \(destination), "
              + "so that there is nothing to write; 'cdgen diff' shows what is done")
          return
        }
        try FileSystem.makeFolder(FileSystem.folder(of: output))
        try OutputFile(path: output, contents: text).create()
        if tests, module == nil {
          Console.error(
            "note: \(output) imports no module with the generated code: name it with --module, unless the test "
              + "target itself has the model")
        }
      } catch let error as GenerationError {
        ModelFolder.report(error.problems.map { $0.diagnostic(in: loaded, unproven.currentVersionNumber) })
        throw ExitCode.failure
      }
    }
  }

  private func text(
    of model: ManagedObjectModel, _ loaded: LoadedModel, _ path: [Int]
  ) throws -> String? {
    guard tests else { return try MigrationStub(model, from: source, to: destination, typeName: type)?.text }
    let paths = VersionPaths(model)
    let released = loaded.lockedVersions.map(\.number).filter { number in
      number >= source && number != destination && paths.path(from: number, to: destination) != nil
    }
    if released.isEmpty {
      throw Failure(
        self.model,
        "no version from \(source) on that leads to version \(destination) is released: 'cdgen lock' says which are"
      )
    }
    return try MigrationTestStub(model, from: released, to: destination, typeName: type, module: module).text
  }

  private func path(in model: ManagedObjectModel) throws -> [Int] {
    for number in [source, destination] where model.version(number) == nil {
      throw Failure(self.model, unknownVersion: number, of: model)
    }
    guard source != destination, let path = VersionPaths(model).path(from: source, to: destination) else {
      throw Failure(self.model, "no migration steps lead from version \(source) to version \(destination)")
    }
    return path
  }
}
