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
      A model is a folder NAME.cdmodel with a model.yaml and a file for each version, 1.yaml, 2.yaml, …

        cdgen init ToDo                                         make a model
        cdgen check ToDo.cdmodel                                look for mistakes
        cdgen generate ToDo.cdmodel --output ToDo+Generated.swift

      Mistakes are reported as 'path:line:column: error: message' on standard error. The exit status is 0 if \
      all went well, warnings included, 1 if there were errors, and 64 if the arguments make no sense.
      """,
    subcommands: [
      Init.self, Check.self, Generate.self, Compile.self, AddVersion.self, Diff.self, Stub.self, Lock.self,
      Graph.self, Import.self, Export.self,
      PrintJSONSchema.self,
      MissingModel.self,
    ])

  static func main() {
    Console.begin()
    main(nil)
  }
}
