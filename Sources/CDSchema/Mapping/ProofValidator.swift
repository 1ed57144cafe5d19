import CDMapping
import CDModel

/// Proves that every released version has a path to the current one, and that every change on the path has a rule.
struct ProofValidator {
  let model: ManagedObjectModel
  let locked: Set<Int>
  /// Locked versions that have changed. Mistakes that follow from the change are not reported.
  let changed: Set<Int>
  /// Mappings whose files have mistakes, such as `3-4`. Their steps cannot be checked.
  let broken: Set<String>
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  /// How serious an unresolved change of a step is.
  private struct StepSeverity {
    /// Whether stores of a released version take the step.
    var isReleased = false
    /// Whether there are released versions both before and after the step. A loss would then affect users' data.
    var isBetweenReleases = false
  }

  func validate() {
    let paths = VersionPaths(model)
    let severities = severities(of: paths)
    for (key, severity) in severities.sorted(by: { $0.key < $1.key }) {
      guard isKnown(key), let step = paths.step(from: key.source, to: key.destination) else {
        continue
      }
      report(step.problems, of: key)
      for change in step.openChanges { report(change, severity, step.rules) }
      reportMovedRelationships(of: step)
    }
    for rules in model.mappings {
      let key = StepKey(source: rules.source, destination: rules.destination)
      guard severities[key] == nil, isKnown(key) else { continue }
      report(paths.step(from: key.source, to: key.destination)?.problems ?? [], of: key)
    }
  }

  private func isKnown(_ key: StepKey) -> Bool {
    !broken.contains(key.name) && !changed.contains(key.source) && !changed.contains(key.destination)
  }

  private struct StepKey: Hashable, Comparable {
    var source: Int
    var destination: Int
    var name: String { "\(source)-\(destination)" }

    static func < (left: StepKey, right: StepKey) -> Bool {
      (left.source, left.destination) < (right.source, right.destination)
    }
  }

  /// The steps that stores take to the current version. Versions after the current one are not finished yet.
  private func severities(of paths: VersionPaths) -> [StepKey: StepSeverity] {
    let current = model.currentVersionNumber
    var result: [StepKey: StepSeverity] = [:]
    for version in model.versions where version.number < current {
      let isLocked = locked.contains(version.number)
      guard let path = paths.path(from: version.number, to: current) else {
        if isLocked { reportNoWay(from: version.number) }
        continue
      }
      let lastRelease = path.lastIndex(where: locked.contains) ?? 0
      for (place, (source, destination)) in zip(path, path.dropFirst()).enumerated() {
        var severity = result[StepKey(source: source, destination: destination)] ?? StepSeverity()
        if isLocked { severity.isReleased = true }
        if isLocked, place < lastRelease { severity.isBetweenReleases = true }
        result[StepKey(source: source, destination: destination)] = severity
      }
    }
    return result
  }

  // MARK: Reporting

  private func reportNoWay(from number: Int) {
    let current = model.currentVersionNumber
    guard let place = positions.nearest(to: .version(current), key: "key:basedOn") else { return }
    let file = MappingFile.name(from: number, to: current)
    if broken.contains(where: { $0.hasPrefix("\(number)-") }) { return }
    diagnostics.error(
      place,
      "version \(number) is locked, but no migration steps lead from it to version \(current): name it in 'basedOn' of "
        + "version \(current), or write a mapping \(file)")
  }

  /// Warns of relationships between the stores of two configurations that no store can migrate.
  private func reportMovedRelationships(of step: MigrationStep) {
    guard let old = model.version(step.source), let new = model.version(step.destination),
      !old.configurations.isEmpty, !new.configurations.isEmpty
    else { return }
    let (source, destination) = (EntityGraph(old), EntityGraph(new))
    var seen: Set<PropertyName> = []
    for moved in step.mapping.movedRelationships(from: source, to: destination) {
      let former = ConfigurationsOfSides(moved.before, in: source)
      let later = ConfigurationsOfSides(moved.after, in: destination)
      guard former.areInDifferentStores, later.areInDifferentStores, seen.insert(moved.name).inserted,
        let place = positions.location(
          of: .relationship(entity: moved.name.entity, name: moved.name.name), version: new.number)
      else { continue }
      // One warning is enough for both sides.
      if case .relationship(let relationship)? = destination.property(moved.name.name, of: moved.name.entity),
        let inverse = destination.inverse(of: relationship, in: moved.name.entity)
      {
        seen.insert(destination.declaredName(of: inverse.name, in: relationship.destination))
      }
      let consequence =
        later.both.isEmpty ? "" : "; then the store of \(Self.text(later.both)) loses them too"
      diagnostics.warning(
        place,
        "the references of \(moved.name) move from the store of \(Self.text(former.holder)) to the store "
          + "of \(Self.text(later.holder)), and both stores refuse that: keep the names and the kinds of the "
          + "relationship, of its inverse and of their entities, or confirm the loss by the rule '\(moved.name.name): nil' in "
          + MappingFile.name(from: step.source, to: step.destination)
          + consequence)
    }
  }

  /// The configurations whose stores have the two sides of a relationship. Configurations may share entities.
  private struct ConfigurationsOfSides {
    /// Those of the side that has the references or pairs, without the other side.
    let holder: [String]
    /// Those of the other side alone.
    let other: [String]
    /// Those of both sides. A store of them keeps the references.
    let both: [String]

    init(_ sides: (holder: String, other: String), in graph: EntityGraph) {
      let holders = graph.configurations(of: sides.holder)
      let others = graph.configurations(of: sides.other)
      holder = holders.filter { !others.contains($0) }
      other = others.filter { !holders.contains($0) }
      both = holders.filter { others.contains($0) }
    }

    /// Whether there can be one store with the references or pairs, and another one with the other side. A side without
    /// a configuration of its own is in the store without a configuration.
    var areInDifferentStores: Bool { !holder.isEmpty || !other.isEmpty }
  }

  private static func text(_ configurations: [String]) -> String {
    configurations.first.map { "configuration '\($0)'" } ?? "no configuration"
  }

  private func report(_ problems: [MappingProblem], of key: StepKey) {
    for problem in problems {
      guard let place = positions.location(of: problem, from: key.source, to: key.destination) else {
        continue
      }
      switch problem.severity {
      case .error: diagnostics.error(place, problem.message, suggestion: problem.suggestion)
      case .warning: diagnostics.warning(place, problem.message, suggestion: problem.suggestion)
      }
    }
  }

  private func report(_ change: ModelChange, _ severity: StepSeverity, _ rules: MappingRules?) {
    guard
      let place = positions.location(of: change, in: model.version(change.destination), rules: rules)
    else { return }
    let remedies = change.remedies.text(
      mapping: MappingFile.name(from: change.source, to: change.destination))
    let message = change.description + (remedies.isEmpty ? "" : "; " + remedies)
    let isError = change.verdict == .losesData ? severity.isBetweenReleases : severity.isReleased
    if isError { diagnostics.error(place, message) } else { diagnostics.warning(place, message) }
  }
}
