import ArgumentParser
import CDConsole
import CDSchema

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `cdgen init`
struct Init: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create a new model.",
    discussion: """
      Creates the folder NAME.cdmodel. It contains model.yaml with the identity of the model, and a first version \
      that you can change. No existing file is overwritten. If the directory belongs to an executable target without \
      source files, the command also creates main.swift: a program that stores an object and fetches it.

      If the target has another model, the names of the new entities start with NAME. The classes of all models \
      of a target are in one module.

        cdgen init ToDo
        cdgen init ToDo --directory Sources/App
      """)

  @Argument(help: "The name of the model: a Swift identifier, such as ToDo.")
  var name: String

  @Option(
    name: .shortAndLong, help: "The folder in which to create the model's folder.", completion: .directory)
  var directory = "."

  func run() throws {
    try reportingFailures {
      let name = self.name.hasSuffix(".cdmodel") ? String(self.name.dropLast(8)) : self.name
      if let problem = ModelTemplate.problem(withName: name) { throw Failure(problem) }
      let folder = FileSystem.join(directory, name + ".cdmodel")
      try FileSystem.makeFolder(directory)
      let isFurther = ModelFolder.hasModel(in: ModelFolder.targetFolder(of: directory))
      try FileSystem.makeNewFolder(folder) {
        for (file, contents) in ModelTemplate.files(name: name, id: UUID(), isFurther: isFurther) {
          try OutputFile(path: FileSystem.join(folder, file), contents: contents).create()
        }
      }
      try Console.write(line: folder)
      if let program = NewProgram(in: directory) {
        try Console.write(line: try program.write(model: name, isFurther: isFurther))
        try Console.write(
          """
          Next:
            swift build
            swift run \(SuggestedCommand.word(program.target))
            swift package cdgen-read check \(SuggestedCommand.word(folder))

          """)
      }
    }
  }
}
