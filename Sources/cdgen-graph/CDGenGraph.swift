import ArgumentParser
import CDConsole
import CDGenerator
import CDModel
import CDSchema

/// Draws a version of a model as SVG. `cdgen graph --format svg` runs this program.
///
/// It is separate from cdgen because every app that uses the plugins compiles cdgen, and the layout is a fifth of the
/// generator.
@main
struct CDGenGraph: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cdgen-graph",
    abstract: "Draw the entities and relationships of a version as SVG.",
    discussion: """
      Each entity is a box. An arrow leads to its parent. A line with crow's feet is a relationship and its inverse. \
      A dashed line is a relationship without an inverse. No other program is needed.

        cdgen-graph Schemas/ToDo.cdmodel --output ToDo.svg
        cdgen-graph Schemas/ToDo.cdmodel --version 1 > ToDo-1.svg

      '--version' without a number and a model prints the version of the program. The exit status is 0 if there were \
      no errors, 1 if there were errors, and 64 if the arguments are invalid.
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Option(help: ArgumentHelp("The version to draw. The default is the current version.", valueName: "number"))
  var version: Int?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write. The default is standard output.", valueName: "path"))
  var output: String?

  static func main() {
    runProgram()
  }

  func run() throws {
    try reportingFailures {
      let loaded = ModelLoader.load(folder: model)
      guard let model = loaded.model, !loaded.hasErrors else {
        for diagnostic in loaded.diagnostics { Console.error(diagnostic.description) }
        throw ExitCode.failure
      }
      let number = version ?? model.currentVersionNumber
      guard let version = model.version(number) else {
        throw Failure(self.model, unknownVersion: number, of: model)
      }
      let text = SVGWriter.text(of: Diagram(version, named: model.name))
      if let output {
        try OutputFile(path: output, contents: text).write(from: loaded.files.map(\.path))
      } else {
        try Console.write(text)
      }
    }
  }
}
