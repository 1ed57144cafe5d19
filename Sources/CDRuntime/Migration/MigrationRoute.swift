import CDMapping

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The steps that lead a store to the current version of a model.
struct MigrationRoute {
  /// A step with the versions that it is between.
  struct RouteStep {
    let step: MigrationStep
    let source: ModelVersion
    let destination: ModelVersion
    /// The merged model that moves, in a store of several; nil where the store's model does.
    var part: ManagedObjectModel?

    var name: MigrationError.Step {
      MigrationError.Step(source: step.source, destination: step.destination, model: part?.name)
    }

    /// By what the app's own code for an entity mapping is known.
    func policy(of mapping: String) -> MigrationPolicies.Key {
      var key = MigrationPolicies.Key(mapping, from: step.source, to: step.destination)
      key.model = part?.id
      return key
    }
  }

  /// The steps, as far as they are sure.
  private(set) var routeSteps: [RouteStep] = []
  /// The step that is not sure, behind those that are, and why; nil where the store may go all the way.
  private(set) var refusal: (routeStep: RouteStep, error: MigrationError)?

  /// Whether no row has to be touched: only what the store says of itself is not up to date.
  var changesNoData: Bool {
    routeSteps.allSatisfy { $0.step.changesNoData && $0.source.number != $0.destination.number }
  }

  let found: StoreMetadata
  let url: URL
  /// The model whose versions are gone through; in a store of several merged ones, the line of the one that moves.
  private(set) var model: ManagedObjectModel
  /// That one.
  private var part: ManagedObjectModel?

  /// Finds the way.
  ///
  /// - Parameters:
  ///   - carried: The version that the store was written with, as it says itself.
  ///   - hash: The data hash that a version gives for the store.
  ///   - holds: The entities of a version whose objects the store holds.
  /// - Throws: ``MigrationError`` where there is no way.
  init(
    _ found: StoreMetadata, carrying carried: ModelVersion, model: ManagedObjectModel, infers: Bool, url: URL,
    hash: (ModelVersion) -> String?, holds: (ModelVersion) -> Set<String>
  ) throws(MigrationError) {
    self.found = found
    self.model = model
    self.url = url
    if !model.parts.isEmpty {
      try addParts(of: model, carrying: carried, infers: infers, hash: hash, holds: holds)
      return
    }
    let line = VersionLine(model)
    let current = model.currentVersionNumber
    // A version's number says most: two versions may store the same.
    let known =
      ([model.version(found.versionNumber)].compactMap(\.self) + model.versions.reversed())
      .first { hash($0) == found.dataHash }
    if let known {
      try addWay(from: known, infers: infers)
      return
    }
    // A draft of a version becomes that version first, so that no mapping is left out.
    let own = model.version(found.versionNumber).flatMap { version in
      line.path(from: version.number, to: current) == nil ? nil : version
    }
    guard let target = own ?? model.currentVersion else { return }
    if own == nil, found.versionNumber > (model.versions.map(\.number).max() ?? 0) {
      throw MigrationError(url, .newerStore(current: current))
    }
    addDraft(carried, to: target)
    if refusal != nil { return }
    try add(line.steps(from: target.number, to: current) ?? [], infers: infers)
  }

  /// Adds the steps of the line that a part of a merged model goes.
  mutating func addWay(
    of part: ManagedObjectModel, along line: ManagedObjectModel, from number: Int, infers: Bool
  ) throws(MigrationError) {
    guard let start = line.version(number) else { throw MigrationError(url, .noPath) }
    (self.part, model) = (part, line)
    try addWay(from: start, infers: infers)
  }

  private mutating func addWay(from known: ModelVersion, infers: Bool) throws(MigrationError) {
    let line = VersionLine(model)
    guard let steps = line.steps(from: known.number, to: model.currentVersionNumber) else {
      return try addReturn(from: known, to: model.currentVersionNumber, line)
    }
    try add(steps, infers: infers)
  }

  /// Adds the step from a draft of a version to that version.
  mutating func addDraft(_ carried: ModelVersion, to target: ModelVersion) {
    let draft = MigrationStep(fromDraft: carried, to: target)
    let routeStep = RouteStep(step: draft, source: carried, destination: target)
    guard draft.isLossless else {
      let lost = draft.changes.filter { $0.isOpen || draft.losses.contains($0) }.map { "\($0)" }
      refusal = (
        routeStep,
        MigrationError(
          url, .losesData(lost, isLocked: found.isLocked(target.number, in: model)), step: routeStep.name)
      )
      return
    }
    routeSteps.append(routeStep)
  }

  private mutating func add(_ steps: [MigrationStep], infers: Bool) throws(MigrationError) {
    for step in steps {
      try add(step, infers: infers)
      if refusal != nil { return }
    }
  }

  private mutating func add(_ step: MigrationStep, infers: Bool) throws(MigrationError) {
    guard let source = model.version(step.source), let destination = model.version(step.destination) else {
      throw MigrationError(url, .noPath)
    }
    let routeStep = RouteStep(step: step, source: source, destination: destination, part: part)
    guard step.isProven else {
      let open =
        step.openChanges.map { "\($0)" }
        + step.problems.filter { $0.severity == .error }.map(\.description)
      refusal = (routeStep, MigrationError(url, .notProven(open), step: routeStep.name))
      return
    }
    guard infers || step.rules != nil || step.changesNoData else {
      refusal = (routeStep, MigrationError(url, .noMappingModel, step: routeStep.name))
      return
    }
    routeSteps.append(routeStep)
  }

  /// The way back to a version that the store's is based on, where nothing is lost on it.
  private mutating func addReturn(
    from known: ModelVersion, to current: Int, _ line: VersionLine
  ) throws(MigrationError) {
    guard line.path(from: current, to: known.number) != nil else { throw MigrationError(url, .noPath) }
    guard let destination = model.version(current), let step = line.step(from: known.number, to: current)
    else { throw MigrationError(url, .newerStore(current: current)) }
    let routeStep = RouteStep(step: step, source: known, destination: destination, part: part)
    if step.isLossless {
      routeSteps.append(routeStep)
    } else {
      refusal = (routeStep, MigrationError(url, .newerStore(current: current), step: routeStep.name))
    }
  }
}
