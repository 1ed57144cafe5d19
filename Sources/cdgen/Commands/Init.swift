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
    abstract: "Make a new model.",
    discussion: """
      Makes the folder NAME.cdmodel with a model.yaml, which holds the model's identity, and a first version to \
      start from. Nothing that exists is overwritten. If the directory is that of an executable target without source \
      files, a first program is written too: a main.swift that stores an object and fetches it.

        cdgen init ToDo
        cdgen init ToDo --directory Sources/App
      """)

  @Argument(help: "The model's name: a Swift identifier, such as ToDo.")
  var name: String

  @Option(
    name: .shortAndLong, help: "Where to make the model's folder.", completion: .directory)
  var directory = "."

  func run() throws {
    try reportingFailures {
      let name = self.name.hasSuffix(".cdmodel") ? String(self.name.dropLast(8)) : self.name
      if let problem = ModelTemplate.problem(withName: name) { throw Failure(problem) }
      let folder = FileSystem.join(directory, name + ".cdmodel")
      try FileSystem.makeFolder(directory)
      try FileSystem.makeNewFolder(folder)
      for (file, contents) in ModelTemplate.files(name: name, id: UUID()) {
        try OutputFile(path: FileSystem.join(folder, file), contents: contents).create()
      }
      try Console.write(line: folder)
      if let program = NewProgram(in: directory) {
        try Console.write(line: try program.write(model: name))
        try Console.write(
          """
          Next:
            swift build
            swift run \(program.target)
            swift package cdgen check \(folder)

          """)
      }
    }
  }
}
