public import ArgumentParser
import CDConsole
import CDGenerator
import CDModel
public import CDSchema
import CDTooling

/// `cdgen check`
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Report every mistake in models.",
    discussion: """
      The command checks all models, even if the first ones have errors. Warnings do not make it fail.

        cdgen check Schemas/ToDo.cdmodel
        cdgen check Schemas/*.cdmodel --format sarif > cdgen.sarif
        cdgen check Schemas/ToDo.cdmodel --target postgresql

      On a terminal, each mistake is followed by its line, with a caret under the place.
      """)

  @Argument(help: "The folders of the models.", completion: .directory)
  var model: [String]

  @Option(
    help: ArgumentHelp(
      "The format of the report.",
      discussion:
        "'text' prints one line for each mistake on standard error. 'json' prints a list on standard output, and "
        + "'sarif' a SARIF log for code review.")
  )
  var format: ReportFormat = .text

  @Option(
    help: ArgumentHelp(
      "A server that will have stores of the models.",
      discussion:
        "Also reports what the current version of each model needs and the server lacks. A note says how much of this was "
        + "tried on the server. You can repeat the option.")
  )
  var target: [StoreTarget] = []

  func run() throws {
    try reportingFailures {
      var all: [(found: [Diagnostic], missing: [Diagnostic])] = []
      for path in model {
        let loaded = ModelLoader.load(folder: path)
        let found = loaded.diagnostics + Self.generationProblems(of: loaded)
        let missing = target.flatMap { loaded.problems(for: $0) }
        all.append((found, missing))
        if format == .text {
          ModelFolder.report(found + missing)
          try Console.write(line: Self.summary(of: found + missing, at: path))
        }
      }
      switch format {
      case .text: break
      case .json: try Console.write(line: Diagnostic.json(all.flatMap { $0.found + $0.missing }))
      case .sarif:
        var log = SARIFLog.ofModel()
        for (found, missing) in all {
          for diagnostic in found { log.add(diagnostic) }
          for diagnostic in missing { log.add(diagnostic, rule: "target") }
        }
        try Console.write(line: log.json.indentedText)
      }
      if all.contains(where: { ($0.found + $0.missing).containsErrors }) { throw ExitCode.failure }
    }
  }

  /// Mistakes that only concern Swift, such as two declarations with the same Swift name.
  private static func generationProblems(of loaded: LoadedModel) -> [Diagnostic] {
    guard let model = loaded.model else { return [] }
    do {
      _ = try Generator(options: loaded.generatorOptions()).generate(model)
      return []
    } catch {
      return error.problems.map { $0.diagnostic(in: loaded, model.currentVersionNumber) }
    }
  }

  /// The result on one line of standard output. It shows that the check has run even if there are no messages.
  private static func summary(of diagnostics: [Diagnostic], at path: String) -> String {
    func count(_ severity: Diagnostic.Severity) -> String {
      let number = diagnostics.count { $0.severity == severity }
      let noun = number == 1 ? severity.rawValue : severity.rawValue + "s"
      return number == 0 ? "no \(noun)" : "\(number) \(noun)"
    }
    return "\(ModelFolder.trimmed(path)): \(count(.error)), \(count(.warning))"
  }
}

extension StoreTarget: ExpressibleByArgument {}
