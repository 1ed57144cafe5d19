import ArgumentParser
import CDConsole
import CDModel
import CDSchema

/// `cdgen compile`
struct Compile: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write a model as one file of canonical JSON.",
    discussion: """
      The file contains every version. A program without generated classes can load it at run time. Equal \
      models give equal files.

        cdgen compile Schemas/ToDo.cdmodel --output ToDo.json
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Option(name: .shortAndLong, help: ArgumentHelp("The file to write.", valueName: "path"))
  var output: String

  func run() throws {
    try reportingFailures {
      let (loaded, model) = try ModelFolder.load(model)
      try OutputFile(path: output, contents: model.canonicalJSON + "\n")
        .write(from: loaded.files.map(\.path))
    }
  }
}
