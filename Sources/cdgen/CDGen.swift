import ArgumentParser
import CDConsole

/// The command line for schemas. Each subcommand reads a model's folder and reports its mistakes, or writes files. No
/// subcommand opens a store.
@main
struct CDGen: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cdgen",
    abstract: "Check data models written in YAML and generate Swift from them.",
    discussion: """
      A model is a folder NAME.cdmodel. It contains model.yaml and one file for each version: 1.yaml, 2.yaml, …

        cdgen init ToDo                                         create a model
        cdgen check ToDo.cdmodel                                report mistakes
        cdgen generate ToDo.cdmodel --output ToDo+Generated.swift

      Mistakes are reported as 'path:line:column: error: message' on standard error. The exit status is 0 if \
      there were no errors, 1 if there were errors, and 64 if the arguments are invalid. Warnings do not change it. \
      'cdgen --version' prints the version.
      """,
    subcommands: [
      Init.self, Check.self, Generate.self, Compile.self, AddVersion.self, Diff.self, Stub.self, Lock.self,
      Graph.self, Import.self, Export.self,
      Format.self, Watch.self, PrintJSONSchema.self, PrintOpenAPI.self, InstallCompletions<CDGen>.self,
      MissingModel.self,
    ])

  static func main() {
    runProgram()
  }
}
