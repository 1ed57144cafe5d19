#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The steps that lead a store to the current version of a model.
struct MigrationRoute {
  /// A step with the versions that it is between.
  struct Leg {
    let step: MigrationStep
    let source: ModelVersion
    let destination: ModelVersion

    var name: MigrationError.Step {
      MigrationError.Step(source: step.source, destination: step.destination)
    }
  }

  /// The steps, as far as they are sure.
  private(set) var legs: [Leg] = []
  /// The step that is not sure, behind those that are, and why; nil where the store may go all the way.
  private(set) var refusal: (leg: Leg, error: MigrationError)?

  /// Whether no row has to be touched: only what the store says of itself is not up to date.
  var changesNoData: Bool {
    legs.allSatisfy { $0.step.changesNoData && $0.source.number != $0.destination.number }
  }

  private let found: StoreMetadata
  private let model: ManagedObjectModel
  private let url: URL

  /// Finds the way.
  ///
  /// - Parameters:
  ///   - carried: The version that the store was written with, as it says itself.
  ///   - hash: The data hash that a version gives for the store.
  /// - Throws: ``MigrationError`` where there is no way.
  init(
    _ found: StoreMetadata, carrying carried: ModelVersion, model: ManagedObjectModel, infers: Bool, url: URL,
    hash: (ModelVersion) -> String?
  ) throws(MigrationError) {
    self.found = found
    self.model = model
    self.url = url
    let line = VersionLine(model)
    let current = model.currentVersionNumber
    // A version's number says most: two versions may store the same.
    let known =
      ([model.version(found.versionNumber)].compactMap(\.self) + model.versions.reversed())
      .first { hash($0) == found.dataHash }
    if let known {
      guard let steps = line.steps(from: known.number, to: current) else {
        try addReturn(from: known, to: current, line)
        return
      }
      try add(steps, infers: infers)
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
    let draft = MigrationStep(fromDraft: carried, to: target)
    let leg = Leg(step: draft, source: carried, destination: target)
    guard draft.isLossless else {
      let lost = draft.changes.filter { $0.isOpen || draft.losses.contains($0) }.map { "\($0)" }
      refusal = (leg, MigrationError(url, .losesData(lost), step: leg.name))
      return
    }
    legs.append(leg)
    try add(line.steps(from: target.number, to: current) ?? [], infers: infers)
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
    let leg = Leg(step: step, source: source, destination: destination)
    guard step.isProven else {
      let open =
        step.openChanges.map { "\($0)" }
        + step.problems.filter { $0.severity == .error }.map(\.description)
      refusal = (leg, MigrationError(url, .notProven(open), step: leg.name))
      return
    }
    guard infers || step.rules != nil || step.changesNoData else {
      refusal = (leg, MigrationError(url, .noMappingModel, step: leg.name))
      return
    }
    legs.append(leg)
  }

  /// The way back to a version that the store's is based on, where nothing is lost on it.
  private mutating func addReturn(
    from known: ModelVersion, to current: Int, _ line: VersionLine
  ) throws(MigrationError) {
    guard line.path(from: current, to: known.number) != nil else { throw MigrationError(url, .noPath) }
    guard let destination = model.version(current), let step = line.step(from: known.number, to: current)
    else { throw MigrationError(url, .newerStore(current: current)) }
    let leg = Leg(step: step, source: known, destination: destination)
    if step.isLossless {
      legs.append(leg)
    } else {
      refusal = (leg, MigrationError(url, .newerStore(current: current), step: leg.name))
    }
  }
}
