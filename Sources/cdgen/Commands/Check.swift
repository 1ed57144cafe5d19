import ArgumentParser
import CDSchema

/// `cdgen check`
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Report every mistake in models.",
    discussion: """
      All models are read before the command ends, whatever the first ones have. Warnings do not fail.

        cdgen check Schemas/ToDo.cdmodel
        cdgen check Schemas/*.cdmodel --format json
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument {
    case text, json
  }

  @Argument(help: "The models' folders.", completion: .directory)
  var model: [String]

  @Option(
    help: ArgumentHelp(
      "How to report.",
      discussion: "'text' is a line each on standard error, 'json' a list on standard output."))
  var format: Format = .text

  func run() throws {
    var diagnostics: [Diagnostic] = []
    for path in model {
      let loaded = ModelLoader.load(folder: path)
      diagnostics += loaded.diagnostics
      if format == .text {
        ModelFolder.report(loaded.diagnostics)
        print(Self.summary(of: loaded, at: path))
      }
    }
    if format == .json { print(Diagnostic.json(diagnostics)) }
    if diagnostics.containsErrors { throw ExitCode.failure }
  }

  /// One line on standard output, so that success can be told from not having run.
  private static func summary(of loaded: LoadedModel, at path: String) -> String {
    func count(_ severity: Diagnostic.Severity) -> String {
      let number = loaded.diagnostics.count { $0.severity == severity }
      let noun = number == 1 ? severity.rawValue : severity.rawValue + "s"
      return number == 0 ? "no \(noun)" : "\(number) \(noun)"
    }
    return "\(ModelFolder.trimmed(path)): \(count(.error)), \(count(.warning))"
  }
}
