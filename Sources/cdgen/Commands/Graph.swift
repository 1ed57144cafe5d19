public import ArgumentParser
import CDConsole
public import CDGenerator
import CDModel

/// `cdgen graph`
struct Graph: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Draw a version's entities and relationships.",
    discussion: """
      A box an entity, an arrow to a parent, a line with crow's feet for a relationship and its inverse, and a \
      dashed one where there is no inverse. Nothing needs to be installed for SVG.

        cdgen graph Schemas/ToDo.cdmodel --format svg --output ToDo.svg
        cdgen graph Schemas/ToDo.cdmodel --format mermaid --version 1
        cdgen graph Schemas/ToDo.cdmodel --format dot | dot -Tpdf > ToDo.pdf
      """)

  @Argument(help: "The model's folder.", completion: .directory)
  var model: String

  @Option(help: "The form of the diagram.")
  var format: GraphFormat

  @Option(help: ArgumentHelp("The version to draw; the current one if left out.", valueName: "number"))
  var version: Int?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write; standard output if left out.", valueName: "path"))
  var output: String?

  func run() throws {
    try reportingFailures {
      let (_, model) = try ModelFolder.load(model, showsWarnings: false)
      let number = version ?? model.currentVersionNumber
      guard let version = model.version(number) else {
        let known = model.versions.map { String($0.number) }.joined(separator: ", ")
        throw Failure(self.model, "the model has no version \(number); it has \(known)")
      }
      let text = format.text(of: version, named: model.name)
      if let output {
        try OutputFile(path: output, contents: text).write()
      } else {
        try Console.write(text)
      }
    }
  }
}

extension GraphFormat: ExpressibleByArgument {}
