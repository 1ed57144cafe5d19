import ArgumentParser
import CDConsole
import CDGenerator
import CDModel
import CDSchema

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// `cdgen graph`
struct Graph: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Draw the entities and relationships of a version.",
    discussion: """
      Each entity is a box. An arrow leads to its parent. A line with crow's feet is a relationship and its inverse. \
      A dashed line is a relationship without an inverse. The program cdgen-graph draws SVG; 'swift run cdgen-graph' \
      builds it.

        cdgen graph Schemas/ToDo.cdmodel --format svg --output ToDo.svg
        cdgen graph Schemas/ToDo.cdmodel --format mermaid --version 1
        cdgen graph Schemas/ToDo.cdmodel --format dot | dot -Tpdf > ToDo.pdf
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Option(help: "The format of the diagram.")
  var format: Format

  /// The forms of a diagram: those that cdgen writes itself, and the picture.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case mermaid, dot, svg
  }

  @Option(help: ArgumentHelp("The version to draw. The default is the current version.", valueName: "number"))
  var version: Int?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write. The default is standard output.", valueName: "path"))
  var output: String?

  func run() throws {
    try reportingFailures {
      guard let format = GraphFormat(rawValue: format.rawValue) else { try drawSVG() }
      let (loaded, model) = try ModelFolder.load(model, showsWarnings: false)
      let number = version ?? model.currentVersionNumber
      guard let version = model.version(number) else {
        throw Failure(self.model, unknownVersion: number, of: model)
      }
      let text = format.text(of: version, named: model.name)
      if let output {
        try OutputFile(path: output, contents: text).write(from: loaded.files.map(\.path))
      } else {
        try Console.write(text)
      }
    }
  }

  /// Replaces this process with `cdgen-graph`, which is beside this program, or is found as this one was.
  private func drawSVG() throws -> Never {
    let name = "cdgen-graph"
    let program = CommandLine.arguments[0]
    // Without a slash, the program was found in a folder of PATH, and the system looks there for the other one too.
    let path = program.contains("/") ? FileSystem.join(FileSystem.folder(of: program), name) : name
    var arguments = [path, "--"]
    if let version { arguments.insert("--version=\(version)", at: 1) }
    if let output { arguments.insert("--output=\(output)", at: 1) }
    arguments.append(model)
    let strings = arguments.map { strdup($0) }
    execvp(path, strings + [nil])
    let code = errno
    for string in strings { free(string) }
    guard code == ENOENT else {
      throw Failure(path, "cannot be run: \(String(cString: strerror(code)))")
    }
    throw Failure(
      "SVG is drawn by the program \(name), which was not built: run 'swift run \(name) \(model)' with the same "
        + "options, or have Graphviz draw it: 'cdgen graph \(model) --format dot | dot -Tsvg'")
  }
}
