import ArgumentParser
import CDConsole
import CDMapping
import CDModel
import CDSchema
import CDTooling

/// `cdgen diff`
struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what a migration does, and which rules are missing.",
    discussion: """
      Shows each step from one version to another: what happens to the objects of each entity, the changes and \
      how they are resolved, the data that is lost, and the rules that are missing. Without --from, it shows the \
      step from the previous version to the current one, and above it each other step that stores take to \
      the current version, with its losses.

        cdgen diff Schemas/ToDo.cdmodel
        cdgen diff Schemas/ToDo.cdmodel --from 1 --to 4 --format json

      'cdstore plan' shows the SQL.

      With --accept, the command confirms the losses. It adds each of them to a 'drop' in the mapping file of the \
      step, and creates the file if there is none. The rest of the file stays as it is. Read the plan first, and \
      give the reason for each loss in a comment.

      The exit status is 1 if a step is not proven.
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Option(help: ArgumentHelp("The first version of the migration.", valueName: "number"))
  var from: Int?

  @Option(
    help: ArgumentHelp(
      "The last version of the migration. The default is the current version.", valueName: "number"))
  var to: Int?

  @Flag(help: "Confirm the losses in the mapping files.")
  var accept = false

  @Option(
    help: ArgumentHelp(
      "The format of the output.",
      discussion:
        "'text' is for people. 'json' is a list of the steps; without --from, those of all earlier versions, and at the end "
        + "those that 'text' shows in full. 'sarif' is a SARIF log for code review, with the changes "
        + "that lack a rule and the losses."))
  var format: ReportFormat = .text

  func run() throws {
    try reportingFailures {
      let loaded = ModelLoader.load(folder: model)
      guard let unproven = loaded.unprovenModel else {
        if format == .sarif {
          var log = SARIFLog.ofModel()
          for diagnostic in loaded.diagnostics { log.add(diagnostic) }
          try Console.write(line: log.json.indentedText)
        } else {
          ModelFolder.report(loaded.diagnostics)
        }
        throw ExitCode.failure
      }
      var (steps, positions) = (try self.steps(of: unproven), loaded.positions)
      if accept {
        try ModelFolder.whileLocked(model) {
          // Another command may have changed the mappings meanwhile.
          let current = ModelLoader.load(folder: model)
          guard let unproven = current.unprovenModel else { throw ExitCode.failure }
          try Acceptance(folder: ModelFolder.trimmed(model), loaded: current)
            .write(try self.steps(of: unproven))
        }
        let reloaded = ModelLoader.load(folder: model)
        guard let accepted = reloaded.unprovenModel else { throw ExitCode.failure }
        (steps, positions) = (try self.steps(of: accepted), reloaded.positions)
      }
      let others = from == nil ? otherSteps(of: unproven, than: steps) : []
      if format == .text {
        for step in others { try Console.write(PlanColors.text(Self.summary(of: step))) }
      }
      try print(others, steps, unproven, positions)
      if !(others + steps).allSatisfy(\.isProven) { throw ExitCode.failure }
    }
  }

  private func steps(of model: ManagedObjectModel) throws -> [MigrationStep] {
    let paths = VersionPaths(model)
    let end = to ?? model.currentVersionNumber
    for number in [from, end].compactMap({ $0 }) where model.version(number) == nil {
      throw Failure(self.model, unknownVersion: number, of: model)
    }
    let befores = model.version(end)?.basedOn ?? []
    guard let start = from ?? befores.max() else {
      throw Failure(self.model, "version \(end) is based on no other: name one with --from")
    }
    if let steps = paths.steps(from: start, to: end) { return steps }
    // No store takes this step, but the user asked for it.
    return [paths.step(from: start, to: end)].compactMap { $0 }
  }

  /// The steps that stores of all earlier versions take to the last version, without those shown in full.
  private func otherSteps(of model: ManagedObjectModel, than shown: [MigrationStep]) -> [MigrationStep] {
    let end = to ?? model.currentVersionNumber
    let versions = VersionPaths(model)
    let paths = model.versions.map(\.number).filter { $0 < end }
      .compactMap { versions.path(from: $0, to: end) }
    let pairs = Set(paths.flatMap { zip($0, $0.dropFirst()).map { [$0, $1] } })
      .subtracting(shown.map { [$0.source, $0.destination] })
    return pairs.sorted { $0.lexicographicallyPrecedes($1) }.compactMap {
      versions.step(from: $0[0], to: $0[1])
    }
  }

  /// A line for a step, followed by a line for each loss.
  private static func summary(of step: MigrationStep) -> String {
    let lines = (step.losses.filter { !$0.isOpen } + step.openChanges).map { change in
      "  \(change.isOpen ? "open" : change.resolution == .mapped ? "mapped" : "confirmed"): \(change)"
    }
    return (["version \(step.source) to version \(step.destination): \(step.conclusion)"] + lines)
      .joined(separator: "\n") + "\n"
  }

  private func print(
    _ others: [MigrationStep], _ steps: [MigrationStep], _ model: ManagedObjectModel,
    _ positions: ElementPositions
  ) throws {
    func name(_ step: MigrationStep) -> String {
      MappingFile.name(from: step.source, to: step.destination)
    }
    switch format {
    case .text:
      try Console.write(
        PlanColors.text(steps.map { $0.planText(mapping: name($0)) }.joined(separator: "\n")))
    case .json:
      let plans = (others + steps).map { $0.planJSON(mapping: name($0)) }
      try Console.write(line: JSONValue.array(plans).indentedText)
    case .sarif:
      var log = SARIFLog.ofModel()
      for step in others + steps { add(step, mapping: name(step), model, positions, to: &log) }
      try Console.write(line: log.json.indentedText)
    }
  }

  /// Adds the mistakes, the changes without a rule, and the confirmed losses of a step.
  private func add(
    _ step: MigrationStep, mapping: String, _ model: ManagedObjectModel, _ positions: ElementPositions,
    to log: inout SARIFLog
  ) {
    let start = SourceLocation(
      path: FileSystem.join(ModelFolder.trimmed(self.model), VersionFile.name(of: step.destination)), line: 1,
      column: 1)
    for problem in step.problems {
      let place = positions.location(of: problem, from: step.source, to: step.destination) ?? start
      log.add(
        Diagnostic(
          problem.severity == .error ? .error : .warning, at: place, problem.message,
          suggestion: problem.suggestion), rule: "migration")
    }
    func add(_ changes: [ModelChange], _ severity: Diagnostic.Severity, _ text: (ModelChange) -> String) {
      for change in changes {
        let place =
          positions.location(of: change, in: model.version(change.destination), rules: step.rules) ?? start
        log.add(Diagnostic(severity, at: place, text(change)), rule: "migration")
      }
    }
    add(step.openChanges, .error) { change in
      let remedies = change.remedies.text(mapping: mapping)
      return change.description + (remedies.isEmpty ? "" : "; " + remedies)
    }
    add(step.losses.filter { !$0.isOpen }, .note) { "\($0); the loss is confirmed" }
  }
}
